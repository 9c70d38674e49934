// The bytes that everyone reads: the library, its peers and the probes are given the same ones.
#pragma once

#include <attest/memory.hpp>
#include <attest/random.hpp>
#include <cstddef>

#include "shapes.hpp"

namespace attest::bench {

template <class T>
void fill(T* values, std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<T>(next_symmetric(random, 1.0));
}

struct Arena {
    Buffer<float> keys;
    Buffer<float> values;
    Buffer<float> queries =
        *Buffer<float>::make(default_memory(), Shape{std::size_t{32} * 128}, Stage::tensor);

    explicit Arena(std::size_t elements)
        : keys(*Buffer<float>::make(default_memory(), Shape{elements}, Stage::tensor)),
          values(*Buffer<float>::make(default_memory(), Shape{elements}, Stage::tensor)) {
        fill(keys.data(), keys.size(), 1);
        fill(values.data(), values.size(), 2);
        fill(queries.data(), queries.size(), 3);
    }

    /// The one arena, made by the first call and as large as it says.
    static Arena& get(std::size_t elements = kArenaElements) {
        static Arena arena(elements);
        return arena;
    }
};

}  // namespace attest::bench
