// What the subject gives the library to work with: the heap, counted, which lets laws fail the n-th
// allocation and limit the largest; and whoever does the work.
#pragma once

#include <attest/executor.hpp>
#include <attest/memory.hpp>

#include <atomic>
#include <cstdint>

namespace attest::properties::detail {

// The counters are atomic because sessions in several threads may share a subject.
class CountedMemory final : public Memory {
  public:
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        ++count_;
        if (to_fail_ != 0 && --to_fail_ == 0) return nullptr;
        if (limit_ != 0 && bytes > limit_) return nullptr;
        return default_memory().allocate(bytes, alignment);
    }
    void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept override {
        default_memory().deallocate(pointer, bytes, alignment);
    }

    std::uint64_t count() const { return count_; }
    void fail(std::uint64_t nth) { to_fail_ = nth; }
    void limit(std::uint64_t bytes) { limit_ = bytes; }

    Executor& executor() const { return *executor_; }
    void work_with(Executor& executor) { executor_ = &executor; }

  private:
    std::atomic<std::uint64_t> count_ = 0;
    std::atomic<std::uint64_t> to_fail_ = 0;  // allocations until the one that fails; 0: none
    std::atomic<std::uint64_t> limit_ = 0;
    Executor* executor_ = &serial_executor();
};

}  // namespace attest::properties::detail
