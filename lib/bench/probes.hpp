// What the machine can do at best, measured in the same run as what the library does.
#pragma once

#include <cstddef>

namespace attest::bench {

/// A way to read memory once, as fast as it goes: several, since no one is the fastest on every size.
struct ReadProbe {
    const char* name;
    /// Reads two ranges of `bytes` bytes each (a multiple of 4096) and returns something that depends on all.
    float (*read)(const float* first, const float* second, std::size_t bytes);
};

inline constexpr std::size_t kReadProbes = 5;
[[nodiscard]] const ReadProbe (&read_probes())[kReadProbes];

/// multiply_adds does `count` · 16 · kProbeChains multiply-adds on registers (floats) and returns their sum.
inline constexpr std::size_t kProbeChains = 16;
[[nodiscard]] float multiply_adds(std::size_t count);

}  // namespace attest::bench
