// The key/value cache of one attention layer: fixed capacity, bound to the layer, transactional.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <attest/error.hpp>
#include <attest/incremental.hpp>
#include <attest/memory.hpp>
#include <attest/parameter.hpp>
#include <attest/rotary.hpp>
#include <attest/storage.hpp>
#include <attest/tensor.hpp>

namespace attest {

struct AttentionGeometry;
namespace detail {
template <class T>
struct CacheState;
template <class T>
struct CacheAccess;
}  // namespace detail

/// PendingCommit names one prepared row for commit_all.
template <class T>
struct PendingCommit {
    LayerKvCache<T>* cache;
    Ticket ticket;
};

/// LayerKvCache keeps the rotated keys and the values of every position a layer has seen, in two fixed
/// buffers [B, Hkv, C, d]; queries are never kept. `length` slots are live; what lies beyond is never read.
///
/// A cache is bound to the layer it was made from: to the identity and revision of its four parameters and to
/// its exact rotary configuration. A rebuilt layer, or one that was updated, is refused, and reset cures
/// neither: make a new cache. There is no raw append; rows enter through MultiHeadAttention alone.
///
/// It moves and does not copy implicitly; `copy` can fail and says so. A moved-from cache may only be
/// destroyed or assigned. One thread at a time.
template <class T>
class LayerKvCache {
  public:
    /// make allocates both buffers and the workspace of one row. The row in slot s stands at first_position +
    /// s. Errors, in order: ZeroBatchSize, ZeroCapacity, CapacityExceedsPositions; then for key storage,
    /// value storage and each part of the workspace ElementCountOverflow, AllocationFailed.
    [[nodiscard]] static Result<LayerKvCache> make(const MultiHeadAttention<T>& layer, std::size_t batch_size,
                                                   std::size_t capacity, std::size_t first_position = 0,
                                                   Memory& memory = default_memory());

    LayerKvCache(LayerKvCache&& other) noexcept;
    LayerKvCache& operator=(LayerKvCache&& other) noexcept;
    ~LayerKvCache();

    /// copy makes an independent cache with the same binding, length and bytes, dead ones included. Tickets
    /// stay with the original.
    [[nodiscard]] Result<LayerKvCache> copy(Memory& memory = default_memory()) const;

    [[nodiscard]] std::size_t batch_size() const;
    [[nodiscard]] const AttentionGeometry& geometry() const;
    [[nodiscard]] std::size_t capacity() const;
    [[nodiscard]] std::size_t length() const;
    [[nodiscard]] std::size_t first_position() const;
    [[nodiscard]] bool is_empty() const { return length() == 0; }
    [[nodiscard]] bool is_full() const { return length() == capacity(); }
    [[nodiscard]] const RotaryConfig& rotary_config() const;
    /// How keys and values are stored: as the layer the cache was made from says.
    [[nodiscard]] KvStorage storage() const;
    /// The revisions of wq, wk, wv, wo when the cache was made.
    [[nodiscard]] std::array<std::uint64_t, 4> revisions() const;

    /// Live rows without copying, [B, Hkv, length, d]. The views hold until the cache is appended to, moved
    /// or gone. They are the empty view where storage is narrow, as there are no elements of T to look at.
    [[nodiscard]] TensorView<const T> keys_view() const;
    [[nodiscard]] TensorView<const T> values_view() const;
    /// Snapshots [B, Hkv, length, d], widened exactly where storage is narrow. Errors: ElementCountOverflow,
    /// AllocationFailed.
    [[nodiscard]] Result<Tensor<T>> keys(Memory& memory = default_memory()) const;
    [[nodiscard]] Result<Tensor<T>> values(Memory& memory = default_memory()) const;
    /// Every byte, dead slots included, [B, Hkv, C, d], for audits: of T where storage is `computing`, the
    /// bits of bf16 or f16 (see widen) where it is narrow. The other pair of spans is empty.
    [[nodiscard]] std::span<const T> key_storage() const;
    [[nodiscard]] std::span<const T> value_storage() const;
    [[nodiscard]] std::span<const std::uint16_t> narrow_key_storage() const;
    [[nodiscard]] std::span<const std::uint16_t> narrow_value_storage() const;

    /// reset makes the length 0. It neither allocates, clears, nor rebinds; outstanding tickets become stale.
    void reset();

    /// commit appends the prepared row, or refuses with StaleTicket and changes nothing.
    [[nodiscard]] Result<void> commit(const Ticket& ticket);
    /// commit_all checks every ticket first and then commits every one. One stale ticket, or one cache named
    /// twice, and nothing is committed.
    [[nodiscard]] static Result<void> commit_all(std::span<const PendingCommit<T>> pending);
    /// discard forgets the prepared row, if there is one.
    void discard();

    /// Equality of what the cache means: binding, geometry, first position, storage, length and live rows, by
    /// bits.
    [[nodiscard]] bool operator==(const LayerKvCache& other) const;
    /// Equality of every byte of storage, and of the length; for audits.
    [[nodiscard]] bool same_bytes(const LayerKvCache& other) const;

  private:
    friend struct detail::CacheAccess<T>;
    explicit LayerKvCache(detail::CacheState<T>* state) : state_(state) {}
    detail::CacheState<T>* state_;
};

extern template class LayerKvCache<float>;
extern template class LayerKvCache<double>;

}  // namespace attest
