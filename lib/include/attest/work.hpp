// Counting what a cache saves: projection rows, exactly, never seconds.
#pragma once

#include <cstddef>
#include <span>

#include <attest/error.hpp>

namespace attest {

/// Work of one decode step, in rows a projection (query, key and value alike). The newest query still reads
/// every key: full = incremental + reused says nothing about attention's own cost.
struct Work {
    std::size_t position = 0;               ///< absolute position of the new row
    std::size_t full_prefix_rows = 0;       ///< rows a full-prefix call projects: the new length
    std::size_t incremental_rows = 0;       ///< rows this step projected: 1
    std::size_t reused_key_value_rows = 0;  ///< retained rows it did not project: the old length

    friend bool operator==(const Work& left, const Work& right) {
        return left.position == right.position && left.full_prefix_rows == right.full_prefix_rows &&
               left.incremental_rows == right.incremental_rows &&
               left.reused_key_value_rows == right.reused_key_value_rows;
    }
};

/// What one step showed, for the contrast below.
struct StepRecord {
    Work work;
    std::size_t key_rows = 0;      ///< keys the newest query was scored against, in every head
    std::size_t cache_length = 0;  ///< length after the step
};

/// Sums over steps; reused rows count keys and values alike.
struct HistoryContrast {
    std::size_t complete_prefix_rows_per_projection = 0;
    std::size_t incremental_rows_per_projection = 0;
    std::size_t reused_key_rows = 0;
    std::size_t reused_value_rows = 0;

    friend bool operator==(const HistoryContrast& left, const HistoryContrast& right) {
        return left.complete_prefix_rows_per_projection == right.complete_prefix_rows_per_projection &&
               left.incremental_rows_per_projection == right.incremental_rows_per_projection &&
               left.reused_key_rows == right.reused_key_rows &&
               left.reused_value_rows == right.reused_value_rows;
    }
};

/// history_contrast adds up steps and checks that each agrees with itself: key_rows = cache_length =
/// full_prefix_rows = incremental_rows + reused rows. It refuses with HistoryEmpty, then HistoryInconsistent
/// (which a sum that does not fit std::size_t is, too).
[[nodiscard]] Result<HistoryContrast> history_contrast(std::span<const StepRecord> steps);

}  // namespace attest
