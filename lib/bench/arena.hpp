// The bytes that everyone reads: the library, its peers and the probes are given the same ones.
#pragma once

#include <attest/memory.hpp>
#include <attest/random.hpp>
#include <attest/storage.hpp>
#include <cstddef>
#include <cstdint>

#include "shapes.hpp"

namespace attest::bench {

template <class T>
void fill(T* values, std::size_t count, std::uint64_t seed) {
    SplitMix64 random = SplitMix64::from_seed(seed);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<T>(next_symmetric(random, 1.0));
}

template <class T>
struct Arena {
    Buffer<T> keys;
    Buffer<T> values;
    Buffer<T> queries = *Buffer<T>::make(default_memory(), Shape{std::size_t{32} * 128}, Stage::tensor);

    explicit Arena(std::size_t elements)
        : keys(*Buffer<T>::make(default_memory(), Shape{elements}, Stage::tensor)),
          values(*Buffer<T>::make(default_memory(), Shape{elements}, Stage::tensor)) {
        fill(keys.data(), keys.size(), 1);
        fill(values.data(), values.size(), 2);
        fill(queries.data(), queries.size(), 3);
    }

    /// The one arena of T, made by the first call and as large as it says.
    static Arena& get(std::size_t elements = sizeof(T) == 4 ? kArenaElements : kDoubleArenaElements) {
        static Arena arena(elements);
        return arena;
    }
};

/// The float arena's numbers as a narrow cache holds them.
struct NarrowArena {
    Buffer<std::uint16_t> keys;
    Buffer<std::uint16_t> values;

    NarrowArena(const Arena<float>& wide, KvStorage storage)
        : keys(narrowed(wide.keys, storage)), values(narrowed(wide.values, storage)) {}

    static NarrowArena& get(KvStorage storage) {
        static NarrowArena bf16(Arena<float>::get(), KvStorage::bf16);
        static NarrowArena f16(Arena<float>::get(), KvStorage::f16);
        return storage == KvStorage::bf16 ? bf16 : f16;
    }

  private:
    static Buffer<std::uint16_t> narrowed(const Buffer<float>& wide, KvStorage storage) {
        auto bits = *Buffer<std::uint16_t>::make(default_memory(), Shape{wide.size()}, Stage::tensor);
        for (std::size_t i = 0; i < wide.size(); ++i)
            bits.data()[i] = narrow(wide.data()[i], storage);
        return bits;
    }
};

}  // namespace attest::bench
