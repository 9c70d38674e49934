#include <attest/memory.hpp>

#include <cstdint>
#include <cstring>
#include <new>

namespace attest {
namespace {

class Heap final : public Memory {
  public:
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        // No object is larger than this; and libstdc++ 12 rounds a size near SIZE_MAX up to the alignment,
        // past zero, and then hands out next to nothing.
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX)) return nullptr;
        return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    }
    void deallocate(void* pointer, std::size_t /*bytes*/, std::size_t alignment) noexcept override {
        ::operator delete(pointer, std::align_val_t{alignment});
    }
};

// The heap has no state: constant-initialised, never destroyed before its users.
constinit Heap heap;

}  // namespace

Memory& default_memory() noexcept {
    return heap;
}

template <class T>
Result<Buffer<T>> Buffer<T>::make(Memory& memory, const Shape& shape, Stage stage) {
    const std::optional<std::size_t> count = shape.count();
    std::size_t bytes = 0;
    if (!count || __builtin_mul_overflow(*count, sizeof(T), &bytes)) {
        return std::unexpected(ElementCountOverflow{stage, shape});
    }
    Buffer buffer;
    if (bytes == 0) {
        return buffer;
    }
    void* const storage = memory.allocate(bytes, kBufferAlignment);
    if (storage == nullptr) {
        return std::unexpected(AllocationFailed{stage, *count, bytes});
    }
    std::memset(storage, 0, bytes);
    buffer.memory_ = &memory;
    buffer.data_ = static_cast<T*>(storage);
    buffer.size_ = *count;
    return buffer;
}

template class Buffer<float>;
template class Buffer<double>;

}  // namespace attest
