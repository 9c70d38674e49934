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

/// Sums of queries and of their weights, a row for each number of the binary counter of sums.hpp, or one in
/// all for what comes out: row h of `sums` is row_stride further on, row h of `totals` kMixedQueries.
template <class T>
struct MixedSums {
    T* sums;
    std::size_t row_stride;
    std::size_t query_stride;
    T* totals;

    [[nodiscard]] HWY_INLINE T* at(std::size_t row, std::size_t query, std::size_t feature) const {
        return sums + row * row_stride + query * query_stride + feature;
    }
    [[nodiscard]] HWY_INLINE T& total(std::size_t row, std::size_t query) const {
        return totals[row * kMixedQueries + query];
    }
    /// The same of the queries from number q on.
    [[nodiscard]] HWY_INLINE MixedSums from(std::size_t q) const {
        return {sums + q * query_stride, row_stride, query_stride, totals + q};
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

/// Where the sums of blocks are kept, and where the last block's go with all before.
template <class T>
struct MixPlaces {
    MixedSums<T> partial;
    MixedSums<T> out;
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
HWY_INLINE void block_tile(const MixPlaces<T>& places, const BlockRows<T, S>& block, std::size_t feature) {
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
    const MixedSums<T>& partial = places.partial;
    const std::size_t row = merge_block(block.number, block.last, [&](std::size_t held) HWY_ATTR {
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q) {
            if constexpr (Totals) total[q] = hn::Add(hn::Set(d, partial.total(held, q)), total[q]);
            const T* const left = partial.at(held, q, feature);
#pragma GCC unroll 8
            for (std::size_t v = 0; v < Vectors; ++v)
                acc[q][v] = hn::Add(load(left + v * kNative<T>), acc[q][v]);
        }
    });
    const MixedSums<T>& to = block.last ? places.out : partial;
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
        if constexpr (Totals) to.total(row, q) = hn::GetLane(total[q]);
        T* const sums = to.at(row, q, feature);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[q][v], d, sums + v * kNative<T>);
    }
}

/// One sum that no vector holds: of a feature, or of the weights where there is no vector at all. place(to,
/// row) is where it is kept, value(j) what row j adds to it.
template <class T, class S, class Place, class Value>
HWY_INLINE void block_sum(const MixPlaces<T>& places, const BlockRows<T, S>& block, const T* w,
                          const Place& place, const Value& value) {
    T sum = T(0);
    for (std::size_t j = 0; j < block.cached.count + block.candidates.count; ++j)
        sum = std::fma(w[j], value(j), sum);
    const std::size_t row = merge_block(block.number, block.last, [&](std::size_t held) HWY_ATTR {
        sum = *place(places.partial, held) + sum;
    });
    *place(block.last ? places.out : places.partial, row) = sum;
}

/// All features of Queries queries. Vectors: the width in vectors if the compiler shall know it, else 0.
template <class T, std::size_t Queries, std::size_t Vectors, class S>
HWY_INLINE void block_rows(const MixPlaces<T>& places, const BlockRows<T, S>& block, std::size_t width) {
    constexpr std::size_t most = kMixVectors<Queries>;
    if constexpr (Vectors != 0) {
        constexpr std::size_t piece = std::min(Vectors, most);
        block_tile<T, Queries, piece, true>(places, block, 0);
        for (std::size_t v = piece; v < Vectors; v += piece)
            block_tile<T, Queries, piece, false>(places, block, v * kNative<T>);
        return;
    }
    std::size_t f = 0;
    mix_pieces<T, most>(f, width, [&]<std::size_t Some>(std::integral_constant<std::size_t, Some>) HWY_ATTR {
        if (f == 0) {
            block_tile<T, Queries, Some, true>(places, block, f);
        } else {
            block_tile<T, Queries, Some, false>(places, block, f);
        }
    });
    const auto& [cached, candidates, number, last] = block;
    for (std::size_t q = 0; q < Queries; ++q) {
        const T* const w = cached.w + q * cached.w_stride;
        if (width < kNative<T>) {
            block_sum(
                places, block, w,
                [&](const MixedSums<T>& to, std::size_t row) HWY_ATTR { return &to.total(row, q); },
                [](std::size_t) HWY_ATTR { return T(1); });
        }
        for (std::size_t feature = f; feature < width; ++feature) {
            const S* const first = cached.rows + feature;
            const T* const second = candidates.rows + feature;
            block_sum(
                places, block, w,
                [&](const MixedSums<T>& to, std::size_t row) HWY_ATTR { return to.at(row, q, feature); },
                [&](std::size_t j) HWY_ATTR {
                    return j < cached.count ? T(widen(first[j * cached.stride]))
                                            : second[(j - cached.count) * candidates.stride];
                });
        }
    }
}

/// All queries of one block.
template <class T, std::size_t Vectors, class S>
HWY_INLINE void block_queries(const MixPlaces<T>& places, const BlockRows<T, S>& block, std::size_t queries,
                              std::size_t width) {
    // The first to read a block asks for what comes after it.
    Reach reach = block.cached.reach;
    for (std::size_t q = 0; q < queries;) {
        const MixPlaces<T> own = {places.partial.from(q), places.out.from(q)};
        BlockRows<T, S> rows = block;
        rows.cached.w += q * block.cached.w_stride;
        rows.cached.reach = reach;
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
        reach = Reach::near;
    }
}

/// Σ w · row and Σ w over all rows, cached ones and then candidates, for up to kMixedQueries queries. At
/// least one row. `sums` and `totals` are for partial sums. Told word by word: a structure that was written
/// in words and is read as a vector waits until all before it is done.
template <class T, std::size_t Vectors, class S>
HWY_NOINLINE void mix_blocks(T* sums, T* totals, T* out, std::size_t out_stride, T* out_totals, const T* w,
                             std::size_t w_stride, std::size_t queries, const S* rows, std::size_t stride,
                             std::size_t cached, const T* candidates, std::size_t candidate_stride,
                             std::size_t positions, std::size_t width, Reach reach) {
    const MixPlaces<T> places = {{sums, queries * width, width, totals}, {out, 0, out_stride, out_totals}};
    for (std::size_t begin = 0; begin < positions; begin += kBlock) {
        const std::size_t end = positions - begin < kBlock ? positions : begin + kBlock;
        const std::size_t first = std::min(begin, cached);
        const std::size_t split = std::clamp(cached, begin, end);
        const BlockRows<T, S> block = {
            {w + begin, w_stride, rows + first * stride, stride, split - begin, reach},
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
                block_queries<T, Vectors>(places,
                                          BlockRows<T, T>{{w + begin, w_stride, wide, width, split - begin},
                                                          block.candidates,
                                                          block.number,
                                                          block.last},
                                          queries, width);
                continue;
            }
        }
        block_queries<T, Vectors>(places, block, queries, width);
    }
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
