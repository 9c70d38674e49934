#include <attest/memory.hpp>

#include <cstdint>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace attest {
namespace {

// Memory of this size and more is aligned to huge pages and advised to use them: beyond the caches, rows are
// read a fifth to a third faster where one translation covers 2 MiB.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t effective_alignment(std::size_t bytes, std::size_t alignment) {
    return bytes >= kHugePageBytes && alignment < kHugePageBytes ? kHugePageBytes : alignment;
}

class Heap final : public Memory {
  public:
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        // No object is larger than this; and libstdc++ 12 rounds a size near SIZE_MAX up to the alignment,
        // past zero, and then hands out next to nothing.
        if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - kHugePageBytes) return nullptr;
        const std::size_t aligned = effective_alignment(bytes, alignment);
        const std::align_val_t place{aligned};
        // clang-format off
        void* const pointer = ::operator new(bytes, place, std::nothrow);
        // clang-format on
#if defined(__linux__)
        // Advice: where it is not taken, pages are small and nothing else changes. Whole pages only, so that
        // nobody else's bytes are meant.
        if (pointer != nullptr && aligned >= kHugePageBytes) {
            static_cast<void>(madvise(pointer, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE));
        }
#endif
        return pointer;
    }
    void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept override {
        const std::align_val_t place{effective_alignment(bytes, alignment)};
        // clang-format off
        ::operator delete(pointer, place);
        // clang-format on
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
    Result<Buffer> buffer = make_unset(memory, shape, stage);
    if (buffer && buffer->size() != 0) {
        std::memset(buffer->data(), 0, buffer->size() * sizeof(T));
    }
    return buffer;
}

template <class T>
Result<Buffer<T>> Buffer<T>::make_unset(Memory& memory, const Shape& shape, Stage stage) {
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
    buffer.memory_ = &memory;
    buffer.data_ = static_cast<T*>(storage);
    buffer.size_ = *count;
    return buffer;
}

template class Buffer<float>;
template class Buffer<double>;
template class Buffer<std::uint16_t>;

}  // namespace attest
