// The mix of one query's values whose sums registers hold, which a decode step without groups spends half of
// its time with: as the rows lie, or at two places at a time. Beyond the caches next to a core a processor
// reads two runs of rows faster than one, and the order of sums leaves the choice: blocks are folded as a
// binary tree, so that the halves of a subtree may grow side by side.
#pragma once

#include <bit>

#include "mix_blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Whether registers hold the sums of two blocks of rows of `Vectors` vectors.
template <std::size_t Vectors>
inline constexpr bool kPairs = 2 * Vectors <= kMixSums;

/// Blocks of the largest subtree whose halves are mixed side by side: its partial sums need little room.
inline constexpr std::size_t kPairedBlocks = 64;
/// Fewer blocks than this are mixed one by one: there the second place costs more than it brings.
inline constexpr std::size_t kFewestPaired = 8;

/// One query's sums while a block goes by, and of its weights.
template <class T, std::size_t Vectors>
struct BlockSums {
    MixSums<T, 1, Vectors> acc;
    Vec<T> total;

    // Written out: one of the compiler's own would not have this target's instructions.
    HWY_INLINE BlockSums() { clear(); }

    HWY_INLINE void clear() {
        total = hn::Zero(Tag<T>());
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            acc[0][v] = hn::Zero(Tag<T>());
    }
    template <class S>
    HWY_INLINE void add_row(const T* w, const S* row) {
        mix_row<T, 1, Vectors>(acc, w, 0, row, false,
                               [&](const Vec<T>(&weight)[1]) HWY_ATTR { total = hn::Add(total, weight[0]); });
    }
    template <class S>
    HWY_INLINE void add_rows(const T* w, const S* row, std::size_t stride, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j, ++w, row += stride)
            add_row(w, row);
    }
    /// What lies left of these sums in the tree is added from the left.
    HWY_INLINE void add_left(const T* sums, T weights) {
        total = hn::Add(hn::Set(Tag<T>(), weights), total);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            acc[0][v] = hn::Add(load(sums + v * kNative<T>), acc[0][v]);
    }
    HWY_INLINE void store(T* sums, T& weights) const {
        weights = hn::GetLane(total);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[0][v], Tag<T>(), sums + v * kNative<T>);
    }
};

/// Partial sums of a counter, a row for each of its numbers.
template <class T, std::size_t Rows, std::size_t Width>
struct CounterRows {
    alignas(64) T sums[Rows][Width];
    T totals[Rows];
};

/// The rows of one query's values and their weights; all but those of the last block are cached.
template <class T, class S>
struct HeldRows {
    const T* w;
    const S* rows;
    std::size_t stride;
    std::size_t cached;
    const T* candidates;
    std::size_t candidate_stride;
    std::size_t positions;
};

/// The last block's sums: cached rows from position `at` on, then candidates.
template <class T, std::size_t Vectors, class S>
HWY_INLINE void add_last(BlockSums<T, Vectors>& sum, const HeldRows<T, S>& all, std::size_t at) {
    sum.add_rows(all.w + at, all.rows + at * all.stride, all.stride, all.cached - at);
    sum.add_rows(all.w + all.cached, all.candidates, all.candidate_stride, all.positions - all.cached);
}

/// mix_blocks for one query and rows of just `Vectors` vectors, as they lie. `sums` and `totals` hold the
/// partial sums.
template <class T, std::size_t Vectors, class S>
HWY_NOINLINE void mix_in_turn(T* sums, T* totals, T* out, T* out_total, const T* w, const S* rows,
                              std::size_t stride, std::size_t cached, const T* candidates,
                              std::size_t candidate_stride, std::size_t positions) {
    constexpr std::size_t width = Vectors * kNative<T>;
    const HeldRows<T, S> all = {w, rows, stride, cached, candidates, candidate_stride, positions};
    const std::size_t last = block_count(positions) - 1;
    const auto add_left = [&](BlockSums<T, Vectors>& sum, std::size_t held)
                              HWY_ATTR { sum.add_left(sums + held * width, totals[held]); };
    for (std::size_t b = 0; b < last; ++b) {
        BlockSums<T, Vectors> sum;
        sum.add_rows(w + b * kBlock, rows + b * kBlock * stride, stride, kBlock);
        const std::size_t row =
            merge_block(b, false, [&](std::size_t held) HWY_ATTR { add_left(sum, held); });
        sum.store(sums + row * width, totals[row]);
    }
    BlockSums<T, Vectors> sum;
    add_last(sum, all, last * kBlock);
    merge_block(last, true, [&](std::size_t held) HWY_ATTR { add_left(sum, held); });
    sum.store(out, *out_total);
}

/// mix_in_turn at two places.
template <class T, std::size_t Vectors, class S>
HWY_NOINLINE void mix_in_pairs(T* sums, T* totals, T* out, T* out_total, const T* w, const S* rows,
                               std::size_t stride, std::size_t cached, const T* candidates,
                               std::size_t candidate_stride, std::size_t positions) {
    constexpr std::size_t width = Vectors * kNative<T>;
    const HeldRows<T, S> all = {w, rows, stride, cached, candidates, candidate_stride, positions};
    constexpr std::size_t levels = std::bit_width(kPairedBlocks / 2);
    CounterRows<T, levels, width> left;
    CounterRows<T, levels, width> right;
    const std::size_t blocks = block_count(positions);
    std::size_t done = 0;
    for (std::size_t start = 0, size = 0; start < blocks; start += size) {
        size = std::min(std::bit_floor(blocks - start), kPairedBlocks);
        const std::size_t half = size / 2;
        BlockSums<T, Vectors> sum;
        if (half == 0) {
            // A single block is the last.
            add_last(sum, all, start * kBlock);
        }
        for (std::size_t b = 0; b < half; ++b) {
            const std::size_t near_at = (start + b) * kBlock;
            const std::size_t far_at = near_at + half * kBlock;
            const T* near_w = w + near_at;
            const T* far_w = w + far_at;
            const S* near = rows + near_at * stride;
            const S* far = rows + far_at * stride;
            const std::size_t count = std::min(kBlock, cached - far_at);
            BlockSums<T, Vectors> other;
            sum.clear();
            for (std::size_t j = 0; j < count; ++j, ++near_w, ++far_w, near += stride, far += stride) {
                other.add_row(near_w, near);
                sum.add_row(far_w, far);
            }
            other.add_rows(near_w, near, stride, kBlock - count);
            if (far_at + kBlock >= positions)
                sum.add_rows(w + cached, candidates, candidate_stride, positions - cached);
            const std::size_t row = merge_block(b, false, [&](std::size_t held) HWY_ATTR {
                other.add_left(left.sums[held], left.totals[held]);
                sum.add_left(right.sums[held], right.totals[held]);
            });
            other.store(left.sums[row], left.totals[row]);
            if (b + 1 < half) {
                sum.store(right.sums[row], right.totals[row]);
            } else {
                sum.add_left(left.sums[row], left.totals[row]);
            }
        }
        // The subtree joins those before it that are as large, and all of them once it is the last.
        const bool last = start + size == blocks;
        for (std::size_t trees = (start + size) / size; done > 0 && (trees % 2 == 0 || last); trees /= 2) {
            --done;
            sum.add_left(sums + done * width, totals[done]);
        }
        if (last) {
            sum.store(out, *out_total);
        } else {
            sum.store(sums + done * width, totals[done]);
            ++done;
        }
    }
}

/// Returns whether it was one query's rows of `Vectors` vectors, and is done: else nothing is done.
template <class T, std::size_t Vectors, class S>
HWY_INLINE bool mix_held(T* sums, T* partial_totals, T* out, T* total, const T* w, const RowRun<S>& cached,
                         const RowRun<T>& candidates, std::size_t width) {
    const std::size_t positions = cached.count + candidates.count;
    const std::size_t blocks = block_count(positions);
    if (width != Vectors * kNative<T> || cached.count < (blocks - 1) * kBlock) return false;
    auto mix = mix_in_turn<T, Vectors, S>;
    if constexpr (kPairs<Vectors>) {
        if (cached.reach != Reach::near && blocks >= kFewestPaired) mix = mix_in_pairs<T, Vectors, S>;
    }
    mix(sums, partial_totals, out, total, w, cached.rows, cached.stride, cached.count, candidates.rows,
        candidates.stride, positions);
    return true;
}

/// The mix of what a cache stores and of candidates behind it, at least one row in all, for up to
/// kMixedQueries queries, and the sums of their weights. `sums` and `partial_totals` are for partial sums.
template <class T>
HWY_INLINE void mix_all(T* sums, T* partial_totals, T* out, std::size_t out_stride, T* totals, const T* w,
                        std::size_t w_stride, std::size_t queries, const PositionRows<T>& values,
                        std::size_t width) {
    with_stored(values.retained, [&]<class S>(const RowRun<S>& cached) HWY_ATTR {
        const RowRun<T>& late = values.candidates;
        if (queries == 1 && (mix_held<T, 8>(sums, partial_totals, out, totals, w, cached, late, width) ||
                             mix_held<T, 4>(sums, partial_totals, out, totals, w, cached, late, width))) {
            return;
        }
        const auto mix = width == 8 * kNative<T>   ? mix_blocks<T, 8, S>
                         : width == 4 * kNative<T> ? mix_blocks<T, 4, S>
                                                   : mix_blocks<T, 0, S>;
        mix(sums, partial_totals, out, out_stride, totals, w, w_stride, queries, cached.rows, cached.stride,
            cached.count, late.rows, late.stride, values.size(), width, cached.reach);
    });
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
