// The mix of all values, block by block: what a decode step spends half of its time with. The partial sums of
// a block are added to those of the blocks before while they are still in registers.
#pragma once

#include <bit>
#include <type_traits>

#include "mix.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Queries that go together over all values, so many as keep the rows of a block worth their while.
inline constexpr std::size_t kMixedQueries = 16;

/// Rows of narrow values no longer than this are widened a block at a time where many queries want them.
inline constexpr std::size_t kWidenedWidth = 128;

/// Partial sums, as the binary counter of sums.hpp holds them: row h of `sums` has queries · width of them,
/// row h of `totals` kMixedQueries, the sums of the weights.
template <class T>
struct PartialSums {
    T* sums;
    std::size_t stride;
    T* totals;

    [[nodiscard]] HWY_INLINE T& total(std::size_t row, std::size_t query) const {
        return totals[row * kMixedQueries + query];
    }
    /// The same of the queries from number q on.
    [[nodiscard]] HWY_INLINE PartialSums from(std::size_t q, std::size_t width) const {
        return {sums + q * width, stride, totals + q};
    }
};

/// The rows of one block: cached ones, then candidates.
template <class T, class S>
struct BlockRows {
    WeightedRows<T, S> cached;
    WeightedRows<T, T> candidates;
    std::size_t number;
    bool last;
};

/// Calls merge(h) for every row h of partial sums that is added to those of block number `block`, and returns
/// the row where they belong then.
template <class Merge>
HWY_INLINE std::size_t merge_block(std::size_t block, bool last, const Merge& merge) {
    auto held = static_cast<std::size_t>(std::popcount(block));
    for (std::size_t done = block + 1; held > 0 && (done % 2 == 0 || last); done /= 2)
        merge(--held);
    return held;
}

/// Queries by Vectors of features of one block. If Totals, the weights are summed along, as a feature that is
/// 1 everywhere would be: fma(w, 1, total) is total + w.
template <class T, std::size_t Queries, std::size_t Vectors, bool Totals, class S>
HWY_INLINE void block_tile(const PartialSums<T>& partial, const BlockRows<T, S>& block, std::size_t feature,
                           std::size_t width) {
    const Tag<T> d;
    MixSums<T, Queries, Vectors> acc;
    Vec<T> total[Queries];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
        total[q] = hn::Zero(d);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            acc[q][v] = hn::Zero(d);
    }
    const auto add_weights = [&](const Vec<T>(&weight)[Queries]) HWY_ATTR {
        if constexpr (Totals) {
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q)
                total[q] = hn::Add(total[q], weight[q]);
        }
    };
    mix_add<T, Queries, Vectors>(acc, block.cached, feature, add_weights);
    if (block.candidates.count != 0)
        mix_add<T, Queries, Vectors>(acc, block.candidates, feature, add_weights);
    const std::size_t row = merge_block(block.number, block.last, [&](std::size_t held) HWY_ATTR {
        const T* const left = partial.sums + held * partial.stride + feature;
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q) {
            if constexpr (Totals) total[q] = hn::Add(hn::Set(d, partial.total(held, q)), total[q]);
#pragma GCC unroll 8
            for (std::size_t v = 0; v < Vectors; ++v)
                acc[q][v] = hn::Add(load(left + q * width + v * kNative<T>), acc[q][v]);
        }
    });
    T* const sums = partial.sums + row * partial.stride + feature;
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
        if constexpr (Totals) partial.total(row, q) = hn::GetLane(total[q]);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[q][v], d, sums + q * width + v * kNative<T>);
    }
}

/// A feature that no vector holds, or the sums of the weights where there is none that does: value(j) is
/// row j's.
template <class T, class Value>
HWY_INLINE void block_sum(T* sums, std::size_t stride, std::size_t number, bool last, const T* w,
                          std::size_t count, const Value& value) {
    T sum = T(0);
    for (std::size_t j = 0; j < count; ++j)
        sum = std::fma(w[j], value(j), sum);
    const std::size_t row =
        merge_block(number, last, [&](std::size_t held) HWY_ATTR { sum = sums[held * stride] + sum; });
    sums[row * stride] = sum;
}

/// All features of Queries queries. Vectors: the width in vectors if the compiler shall know it, else 0.
template <class T, std::size_t Queries, std::size_t Vectors, class S>
HWY_INLINE void block_rows(const PartialSums<T>& partial, const BlockRows<T, S>& block, std::size_t width) {
    constexpr std::size_t most = kMixVectors<Queries>;
    if constexpr (Vectors != 0) {
        constexpr std::size_t piece = std::min(Vectors, most);
        block_tile<T, Queries, piece, true>(partial, block, 0, Vectors * kNative<T>);
        for (std::size_t v = piece; v < Vectors; v += piece) {
            block_tile<T, Queries, piece, false>(partial, block, v * kNative<T>, Vectors * kNative<T>);
        }
        return;
    }
    std::size_t f = 0;
    mix_pieces<T, most>(f, width, [&]<std::size_t Some>(std::integral_constant<std::size_t, Some>) HWY_ATTR {
        if (f == 0) {
            block_tile<T, Queries, Some, true>(partial, block, f, width);
        } else {
            block_tile<T, Queries, Some, false>(partial, block, f, width);
        }
    });
    const std::size_t cached = block.cached.count;
    const std::size_t count = cached + block.candidates.count;
    for (std::size_t q = 0; q < Queries; ++q) {
        const T* const w = block.cached.w + q * block.cached.w_stride;
        if (width < kNative<T>) {
            block_sum(&partial.total(0, q), kMixedQueries, block.number, block.last, w, count,
                      [](std::size_t) { return T(1); });
        }
        for (std::size_t feature = f; feature < width; ++feature) {
            block_sum(
                partial.sums + q * width + feature, partial.stride, block.number, block.last, w, count,
                [&](std::size_t j) {
                    return j < cached
                               ? T(widen(block.cached.rows[j * block.cached.stride + feature]))
                               : block.candidates.rows[(j - cached) * block.candidates.stride + feature];
                });
        }
    }
}

/// All queries of one block.
template <class T, std::size_t Vectors, class S>
HWY_INLINE void block_queries(const PartialSums<T>& partial, const BlockRows<T, S>& block,
                              std::size_t queries, std::size_t width) {
    // The first to read a block asks for what comes after it.
    bool streamed = block.cached.streamed;
    for (std::size_t q = 0; q < queries;) {
        const PartialSums<T> own = partial.from(q, width);
        BlockRows<T, S> rows = block;
        rows.cached.w += q * block.cached.w_stride;
        rows.cached.streamed = streamed;
        rows.candidates.w += q * block.candidates.w_stride;
        const std::size_t some = mixed_together<T>(queries - q, width);
        if (some == 4) {
            block_rows<T, 4, Vectors>(own, rows, width);
        } else if (some == 2) {
            block_rows<T, 2, Vectors>(own, rows, width);
        } else {
            block_rows<T, 1, Vectors>(own, rows, width);
        }
        q += some;
        streamed = false;
    }
}

/// Σ w · row and Σ w over all rows, cached ones and then candidates, for up to kMixedQueries queries: they
/// end in the first row of `sums` and of `totals`. At least one row. Told word by word: a structure that was
/// written in words and is read as a vector waits until all before it is done.
template <class T, std::size_t Vectors, class S>
HWY_NOINLINE void mix_blocks(T* sums, T* totals, const T* w, std::size_t w_stride, std::size_t queries,
                             const S* rows, std::size_t stride, std::size_t cached, const T* candidates,
                             std::size_t candidate_stride, std::size_t positions, std::size_t width,
                             bool streamed) {
    const PartialSums<T> partial = {sums, queries * width, totals};
    for (std::size_t begin = 0; begin < positions; begin += kBlock) {
        const std::size_t end = positions - begin < kBlock ? positions : begin + kBlock;
        const std::size_t first = std::min(begin, cached);
        const std::size_t split = std::clamp(cached, begin, end);
        const BlockRows<T, S> block = {
            {w + begin, w_stride, rows + first * stride, stride, split - begin, streamed},
            {w + split, w_stride, candidates + (begin - first) * candidate_stride, candidate_stride,
             end - split},
            begin / kBlock,
            end == positions};
        if constexpr (sizeof(S) < sizeof(T)) {
            // A few queries widen narrow rows as they go by; more read what was widened once for all, unless
            // a row is too long for that.
            if (queries > kWidenedByEach && width <= kWidenedWidth) {
                alignas(64) T wide[kBlock * kWidenedWidth];
                widen_rows(wide, RowRun<S>{block.cached.rows, stride, split - begin}, 0, split - begin,
                           width);
                block_queries<T, Vectors>(partial,
                                          BlockRows<T, T>{{w + begin, w_stride, wide, width, split - begin},
                                                          block.candidates,
                                                          block.number,
                                                          block.last},
                                          queries, width);
                continue;
            }
        }
        block_queries<T, Vectors>(partial, block, queries, width);
    }
}

/// mix_blocks of what a cache stores.
template <class T>
HWY_INLINE void mix_all(T* sums, T* totals, const T* w, std::size_t w_stride, std::size_t queries,
                        const PositionRows<T>& values, std::size_t width) {
    with_stored(values.retained, [&]<class S>(const RowRun<S>& cached) HWY_ATTR {
        const auto mix = width == 8 * kNative<T>   ? mix_blocks<T, 8, S>
                         : width == 4 * kNative<T> ? mix_blocks<T, 4, S>
                                                   : mix_blocks<T, 0, S>;
        mix(sums, totals, w, w_stride, queries, cached.rows, cached.stride, cached.count,
            values.candidates.rows, values.candidates.stride, values.size(), width, cached.streamed);
    });
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
