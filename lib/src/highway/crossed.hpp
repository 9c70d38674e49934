// Products of short rows, a head's keys: their sums would take as long to fold as to compute. Rows are packed
// so that the first half of the fold, and more than half of its work, exchanges no lanes.
//
// Of four rows, each chunk becomes four vectors: vector k holds the rows' k-th blocks of 16 bytes side by
// side, and meets the k-th block of a query's chunk, four times over, as a load gives it. So vectors 0 and 2,
// 1 and 3 are what the fold adds first, and then their sums. Vectors of 512 bits only: shorter ones would
// load a block of the query for every product.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../kernels.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Whether there are such vectors, and the longest rows that are worth it.
template <class T>
inline constexpr bool kCrosses = kNative<T> * sizeof(T) == 64;
template <class T>
inline constexpr std::size_t kCrossedWidth = 1024 / sizeof(T);

/// Eight rows by three vectors: 24 sums in 32 registers.
template <class T>
struct CrossedTile {
    using V = Vec<T>;
    static constexpr std::size_t kChunk = kLanes<T>;
    static constexpr std::size_t kBlocks = 4;
    static constexpr std::size_t kBlockLanes = kChunk / kBlocks;
    static constexpr std::size_t kGroups = 2;
    static constexpr std::size_t kRows = kGroups * kBlocks;
    static constexpr std::size_t kQueries = 3;
    using Sums = V[kQueries][kGroups][kBlocks];
    using QueryPointers = const T* [kQueries];

    // Rows [row, row + count), whole chunks; where there are fewer, the last stands in for those beyond.
    template <class S>
    static HWY_INLINE void pack(T* panel, const RowRun<S>& run, std::size_t row, std::size_t count,
                                std::size_t width) {
        const hn::Half<Tag<T>> half;
        const hn::Half<hn::Half<Tag<T>>> block;
        for (std::size_t r = 0; r < kRows; ++r) {
            const S* const from = run.rows + (row + std::min(r, count - 1)) * run.stride;
            T* to = panel + r / kBlocks * kBlocks * kChunk + r % kBlocks * kBlockLanes;
            for (std::size_t i = 0; i < width; i += kChunk) {
                const V chunk = load<T>(from + i);
                const auto low = hn::LowerHalf(half, chunk);
                const auto high = hn::UpperHalf(half, chunk);
                hn::Store(hn::LowerHalf(block, low), block, to);
                hn::Store(hn::UpperHalf(block, low), block, to + kChunk);
                hn::Store(hn::LowerHalf(block, high), block, to + 2 * kChunk);
                hn::Store(hn::UpperHalf(block, high), block, to + 3 * kChunk);
                to += kGroups * kBlocks * kChunk;
            }
        }
    }

    static HWY_INLINE void add_chunk(Sums& acc, const T* panel, const QueryPointers& x, std::size_t i) {
        const Tag<T> d;
#pragma GCC unroll 4
        for (std::size_t k = 0; k < kBlocks; ++k) {
            V vectors[kQueries];
#pragma GCC unroll 4
            for (std::size_t q = 0; q < kQueries; ++q)
                vectors[q] = hn::LoadDup128(d, x[q] + i + k * kBlockLanes);
#pragma GCC unroll 2
            for (std::size_t g = 0; g < kGroups; ++g) {
                V rows = hn::Load(d, panel + (g * kBlocks + k) * kChunk);
                hold(rows);
#pragma GCC unroll 4
                for (std::size_t q = 0; q < kQueries; ++q)
                    acc[q][g][k] = hn::MulAdd(rows, vectors[q], acc[q][g][k]);
            }
        }
    }

    // The sums of the last two levels, group by group: a block each now holds one row's, of each vector in
    // turn.
    static HWY_INLINE V in_row_order(V sums) {
        using Index = hwy::MakeSigned<T>;
        alignas(64) Index lanes[kChunk];
#pragma GCC unroll 16
        for (std::size_t lane = 0; lane < kChunk; ++lane)
            lanes[lane] = static_cast<Index>(lane % kBlocks * kBlockLanes + lane / kBlocks);
        return hn::TableLookupLanes(sums, hn::SetTableIndices(Tag<T>(), lanes));
    }

    // sums[q] = the sums of query q with every row. The last two levels, or the last one of doubles, are
    // those of fold_tree.
    static HWY_INLINE void fold(T (&sums)[kQueries + 1][kRows], const Sums& acc, V factor) {
        const Tag<T> d;
        V folded[kQueries];
#pragma GCC unroll 4
        for (std::size_t q = 0; q < kQueries; ++q) {
            V halves[kGroups];
#pragma GCC unroll 2
            for (std::size_t g = 0; g < kGroups; ++g) {
                const V(&parts)[kBlocks] = acc[q][g];
                halves[g] = hn::Add(hn::Add(parts[0], parts[2]), hn::Add(parts[1], parts[3]));
            }
            folded[q] = fold_pair<T, kBlockLanes / 2>(halves[0], halves[1]);
        }
        if constexpr (kBlockLanes == 2) {
#pragma GCC unroll 4
            for (std::size_t q = 0; q < kQueries; ++q)
                hn::Store(hn::Mul(in_row_order(folded[q]), factor), d, sums[q]);
        } else {
            const V first = fold_pair<T, 1>(folded[0], folded[1]);
            const V last = fold_pair<T, 1>(folded[2], folded[2]);
            hn::Store(hn::Mul(in_row_order(first), factor), d, sums[0]);
            hn::Store(hn::Mul(in_row_order(last), factor), d, sums[2]);
        }
    }

    // A packed panel of `rows` rows against every vector.
    static HWY_NOINLINE void run(T* y, std::size_t stride, T scale, const T* panel, std::size_t rows,
                                 const RowRun<T>& vectors, std::size_t width) {
        const V factor = hn::Set(Tag<T>(), scale);
        for (std::size_t q = 0; q < vectors.count; q += kQueries) {
            QueryPointers x;
#pragma GCC unroll 4
            for (std::size_t k = 0; k < kQueries; ++k)
                x[k] = vectors.rows + std::min(q + k, vectors.count - 1) * vectors.stride;
            Sums acc;
#pragma GCC unroll 32
            for (std::size_t i = 0; i < kQueries * kRows; ++i)
                acc[i / kRows][i / kBlocks % kGroups][i % kBlocks] = hn::Zero(Tag<T>());
            for (std::size_t i = 0; i < width; i += kChunk)
                add_chunk(acc, panel + i * kRows, x, i);
            alignas(64) T sums[kQueries + 1][kRows];
            fold(sums, acc, factor);
            if (rows == kRows && vectors.count - q >= kQueries) {
#pragma GCC unroll 4
                for (std::size_t k = 0; k < kQueries; ++k)
                    std::copy_n(sums[k], kRows, y + (q + k) * stride);
            } else {
                for (std::size_t k = 0; k < std::min(kQueries, vectors.count - q); ++k)
                    std::copy_n(sums[k], rows, y + (q + k) * stride);
            }
        }
    }
};

/// y[q · stride + r] = dot(row r, vector q) · scale. Whole chunks, kCrossedWidth at most.
template <class T, class S>
void crossed_products(T* y, std::size_t stride, T scale, const RowRun<S>& run, const RowRun<T>& vectors,
                      std::size_t width) {
    using Tile = CrossedTile<T>;
    alignas(64) T panel[Tile::kRows * kCrossedWidth<T>];
    for (std::size_t row = 0; row < run.count; row += Tile::kRows) {
        const std::size_t count = std::min(Tile::kRows, run.count - row);
        Tile::pack(panel, run, row, count, width);
        Tile::run(y + row, stride, scale, panel, count, vectors, width);
    }
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
