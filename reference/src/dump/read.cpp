#include <attest/dump/file.hpp>
#include <attest/dump/safetensors.hpp>

namespace attest::dump {

std::expected<File, Error> read(const std::string& path) {
    return read_safetensors(path);
}

}  // namespace attest::dump
