// Rows for the tests of kernels, and how two of them differ.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <attest/random.hpp>

namespace attest::detail {
namespace {

template <class T>
using Row = std::vector<T>;

// Around every edge of vector, tile and block.
constexpr std::size_t kWidths[] = {1,  2,  5,  7,  8,  9,  15,  16,  17,  31, 33,
                                   40, 48, 64, 65, 80, 96, 127, 128, 130, 256};
constexpr std::size_t kRows[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,   15, 16,
                                 17, 31, 33, 63, 64, 65, 100, 128, 129, 200};

// Values of all sizes: most near one, some huge, some whose products underflow, zeros of both signs.
template <class T>
Row<T> draw(std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    Row<T> values(count);
    for (T& value : values) {
        const double unit = next_symmetric(random, 1.0);
        const std::uint64_t kind = random.next() % 16;
        const double tiny = std::sqrt(static_cast<double>(std::numeric_limits<T>::min()));
        value = static_cast<T>(kind == 0   ? 0.0
                               : kind == 1 ? -0.0
                               : kind == 2 ? unit * tiny
                               : kind == 3 ? unit * tiny * 1e-3
                               : kind == 4 ? unit * 1e6
                                           : unit);
    }
    return values;
}

/// Scores so close to each other that every weight counts: of draw's, the largest takes all.
template <class T>
Row<T> draw_scores(std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    Row<T> scores(count);
    for (T& score : scores)
        score = static_cast<T>(next_symmetric(random, 1.0));
    return scores;
}

template <class T>
std::string difference(const Row<T>& got, const Row<T>& want) {
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0) {
            return "at " + std::to_string(i) + ": " + std::to_string(got[i]) + " for " +
                   std::to_string(want[i]);
        }
    }
    return "";
}

}  // namespace
}  // namespace attest::detail
