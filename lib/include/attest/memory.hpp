// Where every byte of the library comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <attest/error.hpp>

namespace attest {

/// Memory hands out aligned bytes and never throws. The library allocates through it alone, so a caller can
/// place caches in an arena, count allocations, or let the n-th one fail. It must outlive what was made with
/// it; an object calls it only from the thread that makes, copies or destroys the object.
class Memory {
  public:
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    virtual ~Memory() = default;

    /// allocate returns `bytes` bytes aligned to `alignment` (a power of two), or nullptr. bytes is never 0.
    [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
    /// deallocate takes back what allocate returned, with the same sizes.
    virtual void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept = 0;
};

/// default_memory is the process's heap.
[[nodiscard]] Memory& default_memory() noexcept;

/// The alignment of every buffer: one 512-bit vector, one cache line.
inline constexpr std::size_t kBufferAlignment = 64;

/// Buffer owns `size` elements of a trivial type, zeroed when made unless it is said otherwise.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~Buffer() {
        if (data_ != nullptr) {
            memory_->deallocate(data_, size_ * sizeof(T), kBufferAlignment);
        }
    }

    /// make allocates and zeroes. It refuses with ElementCountOverflow when `shape` has too many elements or
    /// bytes, and with AllocationFailed when memory says no; both name `stage`. No elements need no memory.
    [[nodiscard]] static Result<Buffer> make(Memory& memory, const Shape& shape, Stage stage);
    /// make_unset is make without the zeroes, for scratch that is written before it is read.
    [[nodiscard]] static Result<Buffer> make_unset(Memory& memory, const Shape& shape, Stage stage);

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<T> span() const { return {data_, size_}; }

    void swap(Buffer& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

  private:
    Memory* memory_ = nullptr;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

extern template class Buffer<float>;
extern template class Buffer<double>;
extern template class Buffer<std::uint16_t>;

}  // namespace attest
