// The one attention computation: rows of input against a prefix. Whole prefixes, prefill, prepared and
// incremental rows are this function with other arguments, so they cannot disagree.
#pragma once

#include <array>
#include <cstddef>

#include <attest/attention.hpp>
#include <attest/executor.hpp>

#include "kernels.hpp"

namespace attest::detail {

/// RowBuffers hold everything computed for one call, dense. n rows; t the most positions a row can see.
template <class T>
struct RowBuffers {
    Buffer<T> input;    ///< [B, n, D], where x is not dense
    Buffer<T> queries;  ///< [B, H, n, d], projected, then rotated in place
    Buffer<T> keys;     ///< [B, Hkv, n, d], likewise
    Buffer<T> values;   ///< [B, Hkv, n, d]
    Buffer<T> scores;   ///< of every head for one row, or of one piece a worker; weights take their place
    Buffer<T> folds;    ///< partial sums of the value mix
    Buffer<T> denominators;
    Buffer<T> merged;  ///< [B, n, H·d], the head outputs side by side
    Buffer<T> output;  ///< [B, n, D]

    /// make refuses with ElementCountOverflow or AllocationFailed naming the stage, in the order above.
    /// Buffers of one row serve any executor, those of more rows one of `workers` workers at most.
    static Result<RowBuffers> make(Memory& memory, const AttentionGeometry& geometry, std::size_t batch,
                                   std::size_t rows, std::size_t positions, std::size_t workers);
};

/// PrefixRows are rows already cached: `length` live slots of buffers [B, Hkv, capacity, d] of T, or of what
/// `storage` says.
template <class T>
struct PrefixRows {
    const void* keys = nullptr;
    const void* values = nullptr;
    std::size_t capacity = 0;
    std::size_t length = 0;
    KvStorage storage = KvStorage::computing;
};

/// RowsCall is what one computation reads. Row i of `rows` stands at first_position + prefix.length + i and
/// sees the prefix, the rows before it and itself.
template <class T>
struct RowsCall {
    const Kernels<T>& kernels;
    Executor& executor;
    const AttentionGeometry& geometry;
    const Rotary<T>& rotary;
    std::array<const T*, 4> weights;  ///< wq, wk, wv, wo, dense
    std::size_t batch;
    std::size_t rows;
    std::size_t first_position;
    PrefixRows<T> prefix;  ///< its storage holds for the new rows even where nothing is cached
};

/// attend computes `buffers.output`, `keys` (rotated) and `values` from x [B, n, D], whose shape the caller
/// has checked. Under narrow storage `keys` and `values` are rounded to it. It refuses with NonFiniteInput,
/// NonFiniteProjection (query, key, value), NonFiniteRotation (query, key), StorageOverflow (keys, values),
/// NonFiniteScore and NonFiniteHeadOutput head by head, NonFiniteOutput. With `evidence` (n = 1, tensors
/// already of their shapes) it keeps what it would otherwise overwrite.
template <class T>
Result<void> attend(const RowsCall<T>& call, const TensorView<const T>& x, RowBuffers<T>& buffers,
                    StepEvidence<T>* evidence);

}  // namespace attest::detail
