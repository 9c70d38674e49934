#include "box.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace attest::fuzzing {
namespace {

constexpr int kBoxesMax = 64;

std::uint64_t length_of(const std::byte* bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes + sizeof(kBoxMagic) - 1, sizeof length);
    return length;
}

void set_length(std::byte* bytes, std::uint64_t length) {
    std::memcpy(bytes + sizeof(kBoxMagic) - 1, &length, sizeof length);
}

}  // namespace

Box::~Box() {
    if (bytes_ != nullptr) {
        ::munmap(bytes_, size_);
    }
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

bool Box::take(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    struct stat status = {};
    const bool usable = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &status) == 0 &&
                        status.st_size > static_cast<off_t>(kBoxHeaderBytes);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const mapped =
        usable ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        ::close(descriptor);
        return false;
    }
    auto* const bytes = static_cast<std::byte*>(mapped);
    if (std::memcmp(bytes, kBoxMagic, sizeof(kBoxMagic) - 1) != 0 || length_of(bytes) != 0) {
        ::munmap(mapped, size);
        ::close(descriptor);
        return false;
    }
    descriptor_ = descriptor;
    bytes_ = bytes;
    size_ = size;
    return true;
}

void Box::open(const std::string& folder) {
    for (int number = 0; number < kBoxesMax; ++number) {
        const std::string path = folder + "/box." + std::to_string(number);
        if (::access(path.c_str(), F_OK) != 0 || take(path)) {
            return;
        }
    }
}

void Box::begin(std::span<const std::uint8_t> input) {
    if (bytes_ == nullptr || input.size() > size_ - kBoxHeaderBytes) {
        return;
    }
    std::memcpy(bytes_ + kBoxHeaderBytes, input.data(), input.size());
    // The length stands last: a box that dies half written is a clean one.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    set_length(bytes_, input.size());
}

void Box::end() {
    if (bytes_ != nullptr) {
        set_length(bytes_, 0);
    }
}

}  // namespace attest::fuzzing
