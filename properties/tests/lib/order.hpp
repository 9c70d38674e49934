// The order of sums, restated as plainly as src/sums.hpp says it: what the kernels are compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include <attest/random.hpp>

namespace attest::tests {

template <class T>
std::uint64_t bits(T x) {
    if constexpr (sizeof(T) == 4) {
        return std::bit_cast<std::uint32_t>(x);
    } else {
        return std::bit_cast<std::uint64_t>(x);
    }
}

template <class T>
T naive_dot(const T* a, const T* b, std::size_t n) {
    const std::size_t lanes = sizeof(T) == 4 ? 16 : 8;
    std::vector<T> acc(lanes, T(0));
    for (std::size_t i = 0; i < n; ++i) {
        acc[i % lanes] = std::fma(a[i], b[i], acc[i % lanes]);
    }
    for (std::size_t s = lanes / 2; s >= 1; s /= 2) {
        for (std::size_t l = 0; l < s; ++l) {
            acc[l] = acc[l] + acc[l + s];
        }
    }
    return acc[0];
}

// Level by level, on a list of all blocks: not the binary counter that the kernels use.
template <class T>
T naive_fold(std::vector<T> blocks) {
    while (blocks.size() > 1) {
        std::vector<T> next;
        for (std::size_t k = 0; k + 1 < blocks.size(); k += 2) {
            next.push_back(blocks[k] + blocks[k + 1]);
        }
        if (blocks.size() % 2 == 1) {
            next.push_back(blocks.back());
        }
        blocks = next;
    }
    return blocks.empty() ? T(0) : blocks[0];
}

template <class T>
T naive_sum(const T* w, std::size_t n) {
    std::vector<T> blocks;
    for (std::size_t j = 0; j < n; ++j) {
        if (j % 64 == 0) {
            blocks.push_back(T(0));
        }
        blocks.back() = blocks.back() + w[j];
    }
    return naive_fold(blocks);
}

// Σ w_j v_j of one feature; value(j) is v_j.
template <class T, class Value>
T naive_mix(const T* w, std::size_t n, Value value) {
    std::vector<T> blocks;
    for (std::size_t j = 0; j < n; ++j) {
        if (j % 64 == 0) {
            blocks.push_back(T(0));
        }
        blocks.back() = std::fma(w[j], value(j), blocks.back());
    }
    return naive_fold(blocks);
}

/// Numbers of many sizes and both signs, with zeros, subnormals and negative zeros among them, so that any
/// other order of a sum shows in its bits.
template <class T>
std::vector<T> drawn(std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    std::vector<T> values(count);
    for (T& value : values) {
        value = static_cast<T>(next_symmetric(random, 1.0));
        switch (random.next() % 16) {
            case 0:
                value *= T(1024);
                break;
            case 1:
                value *= T(0x1p-20);
                break;
            case 2:
                value = random.next() % 2 == 0 ? T(0) : -T(0);
                break;
            case 3:
                value *= std::numeric_limits<T>::min();
                break;
            default:
                break;
        }
    }
    return values;
}

using Sizes = std::initializer_list<std::size_t>;

inline std::vector<std::size_t> edge_lengths() {
    std::vector<std::size_t> lengths;
    for (std::size_t n = 0; n <= 70; ++n) {
        lengths.push_back(n);
    }
    for (const std::size_t n :
         Sizes{127, 128, 129, 130, 191, 192, 193, 255, 256, 257,  320,  384,  447,  448,  449,  511,
               512, 513, 575, 576, 577, 639, 703, 704, 705, 1023, 1024, 1025, 2047, 2048, 2049, 4161}) {
        lengths.push_back(n);
    }
    return lengths;
}

}  // namespace attest::tests
