#include "planted.hpp"

#include <stdexcept>

#include <dlfcn.h>

namespace attest::properties {

SubjectMaker planted_subject(const std::string& path) {
    // RTLD_LOCAL: the module's library is its own and must not answer for ours, nor ours for it.
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) throw std::runtime_error(path + ": " + dlerror());
    void* const symbol = dlsym(module, "attest_planted_subject");
    if (symbol == nullptr) throw std::runtime_error(path + " holds no planted bug");
    const auto make = reinterpret_cast<Subject* (*)()>(symbol);
    return [make] { return std::unique_ptr<Subject>(make()); };
}

}  // namespace attest::properties
