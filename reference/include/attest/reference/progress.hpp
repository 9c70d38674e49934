// How far a long judgement has come, for whoever watches it from another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace attest::reference {

// Progress counts features: of every key that is scored, and of every value that is mixed and whose error is
// bounded, over all rows and both evaluations. So it moves inside a row, however many keys that has. `total`
// is set before the first is done and grows when an evaluation has to be made again.
struct Progress {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> total{0};
};

inline void advance(Progress* progress, std::uint64_t features) noexcept {
    if (progress != nullptr) progress->done.fetch_add(features, std::memory_order_relaxed);
}

}  // namespace attest::reference
