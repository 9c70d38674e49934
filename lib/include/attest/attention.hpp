// Multi-head attention with grouped key/value heads and rotary positions: whole prefixes, or one row against
// a cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <attest/cache.hpp>
#include <attest/error.hpp>
#include <attest/executor.hpp>
#include <attest/incremental.hpp>
#include <attest/memory.hpp>
#include <attest/parameter.hpp>
#include <attest/rotary.hpp>
#include <attest/storage.hpp>
#include <attest/tensor.hpp>

namespace attest {

namespace detail {
template <class T>
struct Kernels;
template <class T>
struct RowBuffers;
}  // namespace detail

/// D, H, Hkv and d of a layer. H · d need not equal D.
struct AttentionGeometry {
    std::size_t model_width = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_width = 0;

    friend bool operator==(const AttentionGeometry& left, const AttentionGeometry& right) {
        return left.model_width == right.model_width && left.heads == right.heads &&
               left.kv_heads == right.kv_heads && left.head_width == right.head_width;
    }
};

/// MultiHeadAttention computes, for every row of x,
///     q = Wq x, k = Wk x, v = Wv x; q and k turned to their absolute position;
///     y = Wo · concat over heads h of Σ_j softmax_j(q_h · k_{g,j} / √d) v_{g,j},   g = h ÷ (H / Hkv), j ≤
///     own position
/// (Vaswani et al. 2017, section 3.2; Ainslie et al. 2023 for groups; Su et al. 2021 for the rotation).
///
/// Same bits: a row's output depends on the weights, the row and its prefix alone. Whole prefix or cached, in
/// any chunks, in any batch, at any capacity: the bits are the same, because the order of every sum is fixed
/// by logical index (src/sums.hpp). Threads: a layer is immutable but for its parameters' values, and any
/// number of threads may share it. A call's own work is done by the executor it is given, with the same bits
/// under every one. Copies share the parameter nodes and the rotary table.
template <class T>
class MultiHeadAttention {
  public:
    /// from_parameters takes wq [H·d, D], wk and wv [Hkv·d, D], wo [D, H·d], rows being outputs. It refuses
    /// with ZeroHeads, ZeroKvHeads, KvHeadsDoNotDivideHeads, WeightRank (wq first), ZeroModelWidth,
    /// HeadsDoNotDivideRows, ZeroHeadWidth, WeightShapeMismatch (wk, wv, wo), RopeWidthExceedsHead,
    /// KernelsUnavailable, in this order.
    [[nodiscard]] static Result<MultiHeadAttention> from_parameters(Parameter<T> wq, Parameter<T> wk,
                                                                    Parameter<T> wv, Parameter<T> wo,
                                                                    std::size_t heads, std::size_t kv_heads,
                                                                    Rotary<T> rotary);

    /// from_seed draws wq, wk, wv, wo in this order, row-major, from SplitMix64, Xavier uniform (Glorot and
    /// Bengio 2010, equation 16). Refusals: those of from_parameters, ElementCountOverflow and
    /// AllocationFailed.
    [[nodiscard]] static Result<MultiHeadAttention> from_seed(std::uint64_t seed,
                                                              const AttentionGeometry& geometry,
                                                              Rotary<T> rotary,
                                                              Memory& memory = default_memory());

    /// stored_as is this layer, sharing its parameters and table, with keys and values stored otherwise. A
    /// narrow storage rounds each turned key and each value before any query meets it, in forward as in every
    /// call with a cache, so that a cached row has the bits of the full prefix under the same storage. What
    /// would round to infinity is refused with StorageOverflow when its row is computed; nothing is clamped.
    /// Only float has narrow storage; a double layer refuses with StorageUnsupported.
    [[nodiscard]] Result<MultiHeadAttention> stored_as(KvStorage storage) const;

    [[nodiscard]] const AttentionGeometry& geometry() const { return geometry_; }
    [[nodiscard]] KvStorage storage() const { return storage_; }
    [[nodiscard]] const Rotary<T>& rotary() const { return rotary_; }
    /// wq, wk, wv, wo.
    [[nodiscard]] std::span<const Parameter<T>, 4> parameters() const { return parameters_; }

    /// forward attends causally over a whole prefix x [B, T, D] whose first row stands at `first_position`;
    /// the result is [B, T, D]. Errors, in order: InputRank, ZeroBatchSize, ZeroRows, InputWidthMismatch,
    /// PositionsExceeded, ElementCountOverflow, AllocationFailed, then the non-finite ones in the order of
    /// the stages.
    [[nodiscard]] Result<Tensor<T>> forward(const TensorView<const T>& x, std::size_t first_position = 0,
                                            Memory& memory = default_memory(),
                                            Executor& executor = serial_executor()) const;

    /// forward_incremental computes one row x [B, 1, D] against `cache`, writes it to y [B, 1, D], and then
    /// appends its key and value. On refusal the cache and y are untouched. Errors, in order: InputRank,
    /// SingleTokenRequired, InputBatchMismatch, InputWidthMismatch, CacheModelWidthMismatch,
    /// CacheHeadCountMismatch, CacheKvHeadCountMismatch, CacheHeadWidthMismatch, CacheLayerMismatch,
    /// CacheLayerRevisionMismatch, CacheRopeMismatch, CacheStorageMismatch, CacheFull, ShapeMismatch and
    /// ViewNotWritable for y; then NonFiniteInput, NonFiniteProjection (query, key, value), NonFiniteRotation
    /// (query, key), StorageOverflow (key, value), NonFiniteScore and NonFiniteHeadOutput head by head,
    /// NonFiniteOutput. Aliasing: y may be x. Cost: allocates nothing.
    [[nodiscard]] Result<void> forward_incremental(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                                   const TensorView<T>& y,
                                                   Executor& executor = serial_executor()) const;

    /// forward_incremental, keeping every intermediate tensor. It may also refuse with AllocationFailed for
    /// evidence, before anything is committed.
    [[nodiscard]] Result<StepEvidence<T>> forward_incremental_with_evidence(
        const TensorView<const T>& x, LayerKvCache<T>& cache, Memory& memory = default_memory(),
        Executor& executor = serial_executor()) const;

    /// prefill appends T ≥ 1 rows x [B, T, D] and writes y [B, T, D], all or nothing; the rows see each other
    /// causally. Errors as forward_incremental, with ZeroRows for SingleTokenRequired, and
    /// ElementCountOverflow and AllocationFailed (workspace) before the non-finite ones.
    [[nodiscard]] Result<void> prefill(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                       const TensorView<T>& y, Memory& memory = default_memory(),
                                       Executor& executor = serial_executor()) const;

    /// prepare does all of forward_incremental but the append, which the ticket can make later:
    /// cache.commit(ticket), or LayerKvCache::commit_all for the layers of a model together. The same
    /// refusals; a cache has room for one prepared row, and any later computation with the cache takes that
    /// room.
    [[nodiscard]] Result<Ticket> prepare(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                         const TensorView<T>& y,
                                         Executor& executor = serial_executor()) const;

    /// check_binding says whether `cache` was made for this layer as it now is: the eight refusals from
    /// CacheModelWidthMismatch to CacheStorageMismatch.
    [[nodiscard]] Result<void> check_binding(const LayerKvCache<T>& cache) const;

  private:
    MultiHeadAttention(std::array<Parameter<T>, 4> parameters, Rotary<T> rotary,
                       const AttentionGeometry& geometry, const detail::Kernels<T>& kernels)
        : parameters_(std::move(parameters)),
          rotary_(std::move(rotary)),
          geometry_(geometry),
          kernels_(&kernels) {}

    // Every check on a call against a cache, in the documented order. prefill takes more than a single row.
    Result<void> check_call(const TensorView<const T>& x, const LayerKvCache<T>& cache,
                            bool single_row) const;
    // The computation behind every checked entry: rows at the cache's length, into `buffers`.
    Result<void> compute(const TensorView<const T>& x, const LayerKvCache<T>& cache,
                         detail::RowBuffers<T>& buffers, StepEvidence<T>* evidence, Executor& executor) const;
    // prepare for a caller that has made every check.
    Result<Ticket> prepare_checked(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                   StepEvidence<T>* evidence, Executor& executor) const;
    std::array<const T*, 4> weights() const;

    std::array<Parameter<T>, 4> parameters_;
    Rotary<T> rotary_;
    AttentionGeometry geometry_;
    const detail::Kernels<T>* kernels_;
    KvStorage storage_ = KvStorage::computing;
};

extern template class MultiHeadAttention<float>;
extern template class MultiHeadAttention<double>;

}  // namespace attest
