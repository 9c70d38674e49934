#include "mapping.hpp"

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attest::dump {

namespace {

std::unexpected<Error> failure(ErrorCode code, const std::string& path, int number) {
    return std::unexpected(Error{code, path, {}, std::generic_category().message(number)});
}

// Closes on every way out.
struct Descriptor {
    int number = -1;
    explicit Descriptor(int opened) : number(opened) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

}  // namespace

std::expected<std::shared_ptr<const Mapping>, Error> Mapping::open(const std::string& path) {
    // A name with a NUL in it would open another file than it says.
    if (path.find('\0') != std::string::npos) return failure(ErrorCode::CannotOpen, path, EINVAL);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number < 0) return failure(ErrorCode::CannotOpen, path, errno);
    struct stat status = {};
    if (::fstat(file.number, &status) != 0) return failure(ErrorCode::CannotRead, path, errno);
    if (!S_ISREG(status.st_mode))
        return std::unexpected(Error{ErrorCode::NotRegularFile, path, {}, "only regular files are read"});
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size == 0) return std::make_shared<const Mapping>(nullptr, std::size_t{0});
    void* const start =
        ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (start == MAP_FAILED) return failure(ErrorCode::CannotRead, path, errno);
    return std::make_shared<const Mapping>(start, static_cast<std::size_t>(size));
}

Mapping::~Mapping() {
    if (start_ != nullptr) ::munmap(const_cast<void*>(start_), size_);
}

}  // namespace attest::dump
