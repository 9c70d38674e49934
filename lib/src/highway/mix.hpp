// The weighted sum of value rows, for one query or several that see the same rows.
#pragma once

#include <type_traits>

#include "dots.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Rows of one block and the weights that several queries give them.
template <class T, class S>
struct WeightedRows {
    const T* w;
    std::size_t w_stride;
    const S* rows;
    std::size_t stride;
    std::size_t count;
    Reach reach = Reach::near;
};

/// The sums of Queries by Vectors of features, which stay in registers while rows go by.
template <class T, std::size_t Queries, std::size_t Vectors>
using MixSums = Vec<T>[Queries][Vectors];

/// As many sums as leave registers for a row and the weights: 32 registers with 512 bits and on Arm, else 16.
inline constexpr std::size_t kMixSums = HWY_CAP_GE512 || HWY_TARGET == HWY_NEON ? 16 : 8;
/// Vectors of features that `Queries` queries take at a time.
template <std::size_t Queries>
inline constexpr std::size_t kMixVectors = std::min<std::size_t>(kMixSums / Queries, 8);

/// acc += w · row of one row, whose weights are w_stride apart. `each` is called with these.
template <class T, std::size_t Queries, std::size_t Vectors, class S, class Each>
HWY_INLINE void mix_row(MixSums<T, Queries, Vectors>& acc, const T* w, std::size_t w_stride, const S* row,
                        bool streamed, const Each& each) {
    fetch_ahead<(1 < Queries)>(row, Vectors * kNative<T>, streamed);
    Vec<T> weight[Queries];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q)
        weight[q] = hn::Set(Tag<T>(), w[q * w_stride]);
    each(weight);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
        Vec<T> value = load<T>(row + v * kNative<T>);
        if constexpr (Queries > 1) hold(value);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q)
            acc[q][v] = hn::MulAdd(weight[q], value, acc[q][v]);
    }
    keep_order();
}

/// mix_row of all rows, in their order.
template <class T, std::size_t Queries, std::size_t Vectors, class S, class Each>
HWY_INLINE void mix_add(MixSums<T, Queries, Vectors>& acc, const WeightedRows<T, S>& block,
                        std::size_t feature, const Each& each) {
    // keep_order has what lies in memory read again, row by row; these don't.
    const auto [weights, w_stride, rows, stride, count, reach] = block;
    const bool streamed = reach == Reach::memory;
    const T* w = weights;
    const S* row = rows + feature;
    for (std::size_t j = 0; j < count; ++j, ++w, row += stride)
        mix_row<T, Queries, Vectors>(acc, w, w_stride, row, streamed, each);
}

/// sums += w · row over the rows of one block, or from +0 if fresh.
template <class T, std::size_t Queries, std::size_t Vectors, class S>
HWY_INLINE void mix_tile(T* sums, std::size_t sum_stride, const WeightedRows<T, S>& block,
                         std::size_t feature, bool fresh) {
    const Tag<T> d;
    MixSums<T, Queries, Vectors> acc;
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            acc[q][v] = fresh ? hn::Zero(d) : load(sums + q * sum_stride + feature + v * kNative<T>);
    }
    mix_add<T, Queries, Vectors>(acc, block, feature, [](const Vec<T>(&)[Queries]) HWY_ATTR {});
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[q][v], d, sums + q * sum_stride + feature + v * kNative<T>);
    }
}

/// A row should be read in one piece: `feature` goes on by as many tiles of Vectors as are left, then by
/// narrower ones. with(number of vectors) does one.
template <class T, std::size_t Vectors, class With>
HWY_INLINE void mix_pieces(std::size_t& feature, std::size_t width, const With& with) {
    for (; width - feature >= Vectors * kNative<T>; feature += Vectors * kNative<T>)
        with(std::integral_constant<std::size_t, Vectors>{});
    if constexpr (Vectors > 1) mix_pieces<T, (Vectors > 2 ? Vectors / 2 : 1)>(feature, width, with);
}

/// sums[q] += Σ w[q] · row over the rows of one block, all features; from +0 if fresh. A function of its own
/// for every kind, told everything word by word: a structure that was written in words and is read as a
/// vector waits until all before it is done, and the values of the block before are among that.
template <class T, std::size_t Queries, class S>
HWY_NOINLINE void mix_rows(T* sums, std::size_t sum_stride, const T* weights, std::size_t weight_stride,
                           const S* block_rows, std::size_t row_stride, std::size_t row_count,
                           std::size_t width, bool fresh) {
    const WeightedRows<T, S> block = {weights, weight_stride, block_rows, row_stride, row_count};
    std::size_t f = 0;
    mix_pieces<T, kMixVectors<Queries>>(
        f, width, [&]<std::size_t Vectors>(std::integral_constant<std::size_t, Vectors>) HWY_ATTR {
            mix_tile<T, Queries, Vectors>(sums, sum_stride, block, f, fresh);
        });
    const auto [w, w_stride, rows, stride, count, reach] = block;
    for (; f < width; ++f) {
        for (std::size_t q = 0; q < Queries; ++q) {
            T acc = fresh ? T(0) : sums[q * sum_stride + f];
            for (std::size_t j = 0; j < count; ++j)
                acc = std::fma(w[q * w_stride + j], widen(rows[j * stride + f]), acc);
            sums[q * sum_stride + f] = acc;
        }
    }
}

/// How many of `queries` queries go over a block's rows together. With 4 only half of a long row's sums fit
/// the registers, and every row would be read in two pieces: whole rows by 2 keep the order of addresses.
template <class T>
HWY_INLINE std::size_t mixed_together(std::size_t queries, std::size_t width) {
    const bool fours = width <= 4 * HWY_LANES(T);
    return fours && queries >= 4 ? 4 : queries >= 2 ? 2 : 1;
}

template <class T, class S>
HWY_INLINE void mix_queries(T* sums, std::size_t sum_stride, std::size_t queries,
                            const WeightedRows<T, S>& block, std::size_t width, bool fresh) {
    for (std::size_t q = 0; q < queries;) {
        const std::size_t some = mixed_together<T>(queries - q, width);
        const auto rows = some == 4 ? mix_rows<T, 4, S> : some == 2 ? mix_rows<T, 2, S> : mix_rows<T, 1, S>;
        rows(sums + q * sum_stride, sum_stride, block.w + q * block.w_stride, block.w_stride, block.rows,
             block.stride, block.count, width, fresh);
        q += some;
    }
}

template <class T, class S>
HWY_INLINE WeightedRows<T, S> weighted(const T* w, std::size_t w_stride, const RowRun<S>& rows) {
    return {w, w_stride, rows.rows, rows.stride, rows.count};
}

/// mix_queries of what a cache stores.
template <class T>
HWY_INLINE void mix_stored(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride,
                           std::size_t queries, const StoredRun<T>& run, std::size_t width, bool fresh) {
    with_stored(run, [&](const auto& rows) HWY_ATTR {
        mix_queries(sums, sum_stride, queries, weighted(w, w_stride, rows), width, fresh);
    });
}

/// left += right, `count` sums.
template <class T>
HWY_INLINE void add_sums(T* left, const T* right, std::size_t count) {
    std::size_t i = 0;
    for (; count - i >= kNative<T>; i += kNative<T>) {
        hn::StoreU(hn::Add(load(left + i), load(right + i)), Tag<T>(), left + i);
    }
    for (; i < count; ++i)
        left[i] += right[i];
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
