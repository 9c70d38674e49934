// A Memory that counts, and lets one allocation fail.
#pragma once

#include <attest/memory.hpp>
#include <cstddef>

namespace attest::test {

class CountingMemory final : public Memory {
  public:
    /// The n-th allocation from now on (1 is the next) fails; 0 lets every one succeed.
    void fail_at(std::size_t n) {
        calls = 0;
        failing_ = n;
    }

    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        ++calls;
        if (calls == failing_) return nullptr;
        void* const pointer = default_memory().allocate(bytes, alignment);
        if (pointer != nullptr) {
            ++live;
            live_bytes += bytes;
        }
        return pointer;
    }
    void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept override {
        --live;
        live_bytes -= bytes;
        default_memory().deallocate(pointer, bytes, alignment);
    }

    std::size_t calls = 0;
    std::size_t live = 0;
    std::size_t live_bytes = 0;

  private:
    std::size_t failing_ = 0;
};

}  // namespace attest::test
