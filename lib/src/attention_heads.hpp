// The middle of attention: scores, softmax and mix of every head, cut into pieces for an executor.
#pragma once

#include <cstddef>

#include "attention_rows.hpp"

namespace attest::detail {

/// HeadRoom is how much scratch the pieces need. One row: scores for every head, and `slots` partial mixes,
/// so that few key/value heads can be cut by position. More rows: room for one piece a worker.
struct HeadRoom {
    Shape scores;
    Shape folds;
    Shape denominators;

    static HeadRoom of(const AttentionGeometry& geometry, std::size_t batch, std::size_t rows,
                       std::size_t positions, std::size_t workers);
};

/// attend_heads computes `merged` from the rotated queries and keys and the values in `buffers`. It refuses
/// with NonFiniteScore and NonFiniteHeadOutput, the first by head and row. `weights`, where not null (one row
/// only), receives the softmax.
template <class T>
Result<void> attend_heads(const RowsCall<T>& call, RowBuffers<T>& buffers, Tensor<T>* weights);

}  // namespace attest::detail
