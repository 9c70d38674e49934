// What a LayerKvCache holds, for the cache and for the attention that fills it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <attest/attention.hpp>

#include "attention_rows.hpp"
#include "identity.hpp"
#include "shared_node.hpp"

namespace attest::detail {

/// CacheBinding is what a cache was made for and never changes.
template <class T>
struct CacheBinding {
    CacheBinding(std::span<const Parameter<T>, 4> bound, const Rotary<T>& table,
                 const AttentionGeometry& shape, std::size_t batch, std::size_t slots, std::size_t first,
                 KvStorage stored);

    // The handles keep the nodes alive, so a ticket can be checked against them without the layer.
    std::array<Parameter<T>, 4> parameters;
    std::array<std::uint64_t, 4> revisions;
    Rotary<T> rotary;
    AttentionGeometry geometry;
    std::size_t batch_size;
    std::size_t capacity;
    std::size_t first_position;
    KvStorage storage;

    [[nodiscard]] bool same_as(const CacheBinding& other) const;
};

/// CacheRows is what a cache allocates: keys and values in one pair of buffers, the other pair is empty.
template <class T>
struct CacheRows {
    Buffer<T> keys;           ///< [B, Hkv, C, d]
    Buffer<T> values;         ///< [B, Hkv, C, d]
    RowBuffers<T> workspace;  ///< of one row; not part of the cache's meaning
    Buffer<std::uint16_t> narrow_keys{};
    Buffer<std::uint16_t> narrow_values{};
};

template <class T>
struct CacheState : SharedCount {
    CacheState(CacheBinding<T>&& bound, CacheRows<T>&& allocated)
        : binding(std::move(bound)), rows(std::move(allocated)) {}

    CacheBinding<T> binding;
    CacheRows<T> rows;
    std::size_t length = 0;

    // Tickets. `advances` counts commits and resets; `preparations` counts every use of the workspace.
    std::uint64_t identity = next_identity();
    std::uint64_t advances = 0;
    std::uint64_t preparations = 0;
    bool claimed = false;  ///< set while commit_all looks for a cache named twice

    /// The offset of a row: the one place that knows the layout.
    [[nodiscard]] std::size_t row_offset(std::size_t lane, std::size_t slot) const {
        return (lane * binding.capacity + slot) * binding.geometry.head_width;
    }

    [[nodiscard]] PrefixRows<T> prefix() const {
        if (binding.storage != KvStorage::computing) {
            return {rows.narrow_keys.data(), rows.narrow_values.data(), binding.capacity, length,
                    binding.storage};
        }
        return {rows.keys.data(), rows.values.data(), binding.capacity, length};
    }

    /// append stores `count` rows [B, Hkv, count, d] after the live ones, and then moves the length.
    /// Precondition: there is room. Cannot fail.
    void append(const T* new_keys, const T* new_values, std::size_t count);
};

/// CacheAccess lets attention reach a cache's state, and the other way round nothing.
template <class T>
struct CacheAccess {
    static CacheState<T>& state(LayerKvCache<T>& cache) { return *cache.state_; }
    static const CacheState<T>& state(const LayerKvCache<T>& cache) { return *cache.state_; }
};

}  // namespace attest::detail
