// How far a long judgement has come, for whoever watches it from another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace attest::reference {

// Progress counts keys attended, over all rows and both evaluations. `total` is set before the first is done
// and may grow when an evaluation has to be made again.
struct Progress {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> total{0};
};

}  // namespace attest::reference
