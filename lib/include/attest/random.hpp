// Random numbers with the same bits under every compiler and standard library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attest {

/// SplitMix64 is Steele, Lea and Flood's generator (OOPSLA 2014, figure 17): 64 bits of state, period 2^64,
/// every seed good. Not for secrets.
class SplitMix64 {
  public:
    [[nodiscard]] static constexpr SplitMix64 from_seed(std::uint64_t seed) { return SplitMix64(seed); }

    /// next returns the next 64 bits.
    constexpr std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    /// next_unit returns a multiple of 2^−53 in [0, 1), each equally likely: the upper 53 bits of next().
    constexpr double next_unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
    std::uint64_t state_;
};

/// xavier_bound is sqrt(6 / (inputs + outputs)): weights drawn uniformly between −bound and bound keep the
/// variance of activations and gradients (Glorot and Bengio 2010, equation 16).
/// Domain: inputs + outputs ≥ 1, computed in double.
[[nodiscard]] inline double xavier_bound(std::size_t inputs, std::size_t outputs) {
    return std::sqrt(6.0 / (static_cast<double>(inputs) + static_cast<double>(outputs)));
}

/// next_symmetric draws uniformly from [−bound, bound): bound · (2 · next_unit() − 1), of which the bracket
/// is exact, rounded to double once.
constexpr double next_symmetric(SplitMix64& random, double bound) {
    return bound * (2.0 * random.next_unit() - 1.0);
}

}  // namespace attest
