// A small layer in which no two lengths agree: D = 10, H = 6, Hkv = 3, d = 5, RoPE over 4 of 5 features.
#pragma once

#include <gtest/gtest.h>

#include <attest/attest.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace attest::test {

inline constexpr AttentionGeometry kGeometry{10, 6, 3, 5};
inline constexpr std::size_t kPositions = 40;

template <class T>
Rotary<T> rotary(const RotaryConfig& config = {4, kPositions, 10000.0, RotaryPairs::interleaved}) {
    return *Rotary<T>::make(config);
}

template <class T>
MultiHeadAttention<T> layer(std::uint64_t seed = 37) {
    return *MultiHeadAttention<T>::from_seed(seed, kGeometry, rotary<T>());
}

/// Values in [−1, 1), from our own generator.
template <class T>
std::vector<T> values(std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    std::vector<T> drawn(count);
    for (T& value : drawn)
        value = static_cast<T>(next_symmetric(random, 1.0));
    return drawn;
}

/// The name of the refusal, or "" where there is none.
template <class R>
std::string_view refusal(const R& result) {
    return result ? std::string_view() : name(result.error());
}

}  // namespace attest::test
