// The weighted sum of value rows, for one query or several that see the same rows.
#pragma once

#include "dots.hpp"
#include "softmax.hpp"
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
};

/// What else is done for each query while the rows of a block go by. The weights are summed into totals, and
/// the scores of the next block, a whole one, become weights: the next rows are already on their way then.
/// Either pointer may be null.
template <class T>
struct Along {
    T* totals = nullptr;
    T* next = nullptr;  ///< scores of the first query, w_stride to the second's
    const T* peaks = nullptr;

    /// What goes along for the queries from number q on.
    [[nodiscard]] HWY_INLINE Along from(std::size_t q, std::size_t w_stride) const {
        return {totals == nullptr ? nullptr : totals + q, next == nullptr ? nullptr : next + q * w_stride,
                peaks == nullptr ? nullptr : peaks + q};
    }
    HWY_INLINE void soften(std::size_t queries, std::size_t w_stride) {
        for (std::size_t q = 0; next != nullptr && q < queries; ++q)
            soften_block(next + q * w_stride, kBlock, peaks[q]);
        next = nullptr;
    }
};

/// Whether the next scores become weights between the rows of a tile. Narrow tiles have room for nothing else
/// there, and vectors of fewer lanes than there are queries would have to go several at a time.
template <class T, bool Totals, std::size_t Queries, std::size_t Vectors>
inline constexpr bool kPaced = Totals && (Vectors >= 4) && (Queries <= kNative<T>);

/// Queries by Vectors of features whose sums stay in registers while the rows of a block go by. If Totals,
/// the weights are summed along, as a feature that is 1 everywhere would be: fma(w, 1, total) is total + w.
template <class T, std::size_t Queries, std::size_t Vectors, bool Totals, class S>
HWY_INLINE void mix_tile(T* sums, std::size_t sum_stride, Along<T>& along, const WeightedRows<T, S>& block,
                         std::size_t feature, bool fresh) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    const auto [w, w_stride, rows, stride, count] = block;
    Vec<T> acc[Queries][Vectors];
    Vec<T> total[Queries];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
            acc[q][v] = fresh ? hn::Zero(d) : load(sums + q * sum_stride + feature + v * lanes);
        }
        total[q] = hn::Zero(d);
        if constexpr (Totals) {
            if (!fresh && along.totals != nullptr) total[q] = hn::Set(d, along.totals[q]);
        }
    }
    if constexpr (Totals && !kPaced<T, Totals, Queries, Vectors>) along.soften(Queries, w_stride);
    for (std::size_t j = 0; j < count;) {
        std::size_t stop = count;
        if constexpr (kPaced<T, Totals, Queries, Vectors>) {
            if (along.next != nullptr) {
                // A vector at a time, query after query: more in a row would keep the products waiting.
                constexpr std::size_t pace = lanes / Queries;
                const std::size_t q = j / pace % Queries;
                soften_vector(along.next + q * w_stride + j / lanes * lanes, along.peaks[q]);
                stop = j + pace;
            }
        }
        for (; j < stop; ++j) {
            const S* const row = rows + j * stride + feature;
            fetch_ahead(row, Vectors * lanes);
            Vec<T> weight[Queries];
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q) {
                weight[q] = hn::Set(d, w[q * w_stride + j]);
                if constexpr (Totals) total[q] = hn::Add(total[q], weight[q]);
            }
#pragma GCC unroll 8
            for (std::size_t v = 0; v < Vectors; ++v) {
                Vec<T> value = load<T>(row + v * lanes);
                if constexpr (Queries > 1) hold(value);
#pragma GCC unroll 4
                for (std::size_t q = 0; q < Queries; ++q)
                    acc[q][v] = hn::MulAdd(weight[q], value, acc[q][v]);
            }
            keep_order();
        }
    }
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[q][v], d, sums + q * sum_stride + feature + v * lanes);
        if constexpr (Totals) {
            if (along.totals != nullptr) along.totals[q] = hn::GetLane(total[q]);
        }
    }
}

/// As many tiles of Vectors as there are features left from `feature` on. What goes along goes with the
/// first.
template <class T, std::size_t Queries, std::size_t Vectors, bool Totals, class S>
HWY_INLINE void mix_tiles(T* sums, std::size_t sum_stride, Along<T>& along, const WeightedRows<T, S>& block,
                          std::size_t& feature, std::size_t width, bool fresh) {
    for (; width - feature >= Vectors * kNative<T>; feature += Vectors * kNative<T>) {
        mix_tile<T, Queries, Vectors, Totals>(sums, sum_stride, along, block, feature, fresh);
        along = {};
    }
}

/// sums[q] += Σ w[q] · row over the rows of one block, all features; from +0 if fresh. A function of its own
/// for every kind, told everything word by word: a structure that was written in words and is read as a
/// vector waits until all before it is done, and the values of the block before are among that.
template <class T, std::size_t Queries, bool Totals, class S>
HWY_NOINLINE void mix_rows(T* sums, std::size_t sum_stride, T* along_totals, T* along_next,
                           const T* along_peaks, const T* weights, std::size_t weight_stride,
                           const S* block_rows, std::size_t row_stride, std::size_t row_count,
                           std::size_t width, bool fresh) {
    Along<T> along = {along_totals, along_next, along_peaks};
    const WeightedRows<T, S> block = {weights, weight_stride, block_rows, row_stride, row_count};
    // As many sums as leave registers for a row and the weights: 32 registers with 512 bits, else 16.
    constexpr std::size_t budget = HWY_CAP_GE512 || HWY_TARGET == HWY_NEON ? 16 : 8;
    constexpr std::size_t most = std::min<std::size_t>(budget / Queries, 8);
    std::size_t f = 0;
    // A row should be read in one piece: what is left of it in the fewest tiles.
    mix_tiles<T, Queries, most, Totals>(sums, sum_stride, along, block, f, width, fresh);
    if constexpr (most > 4) mix_tiles<T, Queries, 4, Totals>(sums, sum_stride, along, block, f, width, fresh);
    if constexpr (most > 2) mix_tiles<T, Queries, 2, Totals>(sums, sum_stride, along, block, f, width, fresh);
    mix_tiles<T, Queries, 1, Totals>(sums, sum_stride, along, block, f, width, fresh);
    const auto [w, w_stride, rows, stride, count] = block;
    for (; f < width; ++f) {
        for (std::size_t q = 0; q < Queries; ++q) {
            T acc = fresh ? T(0) : sums[q * sum_stride + f];
            for (std::size_t j = 0; j < count; ++j)
                acc = std::fma(w[q * w_stride + j], widen(rows[j * stride + f]), acc);
            sums[q * sum_stride + f] = acc;
        }
    }
    // The narrowest heads have no tile that it could go along with.
    if constexpr (Totals) {
        for (std::size_t q = 0; along.totals != nullptr && q < Queries; ++q) {
            T total = fresh ? T(0) : along.totals[q];
            for (std::size_t j = 0; j < count; ++j)
                total += w[q * w_stride + j];
            along.totals[q] = total;
        }
        along.soften(Queries, w_stride);
    }
}

template <class T, bool Totals, class S>
HWY_INLINE void mix_queries(T* sums, std::size_t sum_stride, const Along<T>& along, std::size_t queries,
                            const WeightedRows<T, S>& block, std::size_t width, bool fresh) {
    // With 4 queries only half of a long row's sums fit the registers, and every row would be read in two
    // pieces: whole rows by 2 queries keep the order of addresses.
    const bool fours = width * sizeof(T) <= 4 * HWY_LANES(T) * sizeof(T);
    for (std::size_t q = 0; q < queries;) {
        const std::size_t some = fours && queries - q >= 4 ? 4 : queries - q >= 2 ? 2 : 1;
        const auto rows = some == 4   ? mix_rows<T, 4, Totals, S>
                          : some == 2 ? mix_rows<T, 2, Totals, S>
                                      : mix_rows<T, 1, Totals, S>;
        const Along<T> part = along.from(q, block.w_stride);
        rows(sums + q * sum_stride, sum_stride, part.totals, part.next, part.peaks,
             block.w + q * block.w_stride, block.w_stride, block.rows, block.stride, block.count, width,
             fresh);
        q += some;
    }
}

/// mix_queries of narrow rows. A few queries widen them as they go by; more read what was widened once for
/// all, unless a row is too long for that.
template <class T, bool Totals, class S>
HWY_INLINE void mix_narrow(T* sums, std::size_t sum_stride, Along<T> along, std::size_t queries,
                           const WeightedRows<T, S>& block, std::size_t width, bool fresh) {
    if (queries <= kWidenedByEach || width > kWidened) {
        return mix_queries<T, Totals>(sums, sum_stride, along, queries, block, width, fresh);
    }
    along.soften(queries, block.w_stride);
    alignas(64) T wide[kWidened];
    const std::size_t step = kWidened / width;
    for (std::size_t r = 0; r < block.count; r += step) {
        const std::size_t some = block.count - r < step ? block.count - r : step;
        widen_rows(wide, RowRun<S>{block.rows, block.stride, block.count}, r, some, width);
        mix_queries<T, Totals>(sums, sum_stride, along, queries,
                               WeightedRows<T, T>{block.w + r, block.w_stride, wide, width, some}, width,
                               fresh);
        fresh = false;
    }
}

template <class T, class S>
HWY_INLINE WeightedRows<T, S> weighted(const T* w, std::size_t w_stride, const RowRun<S>& rows) {
    return {w, w_stride, rows.rows, rows.stride, rows.count};
}

/// mix_queries of what a cache stores.
template <class T, bool Totals>
HWY_INLINE void mix_stored(T* sums, std::size_t sum_stride, const Along<T>& along, const T* w,
                           std::size_t w_stride, std::size_t queries, const StoredRun<T>& run,
                           std::size_t width, bool fresh) {
    if constexpr (sizeof(T) == sizeof(float)) {
        if (run.storage == KvStorage::bf16) {
            return mix_narrow<T, Totals>(sums, sum_stride, along, queries,
                                         weighted(w, w_stride, run.template as<BFloat16>()), width, fresh);
        }
        if (run.storage == KvStorage::f16) {
            return mix_narrow<T, Totals>(sums, sum_stride, along, queries,
                                         weighted(w, w_stride, run.template as<Float16>()), width, fresh);
        }
    }
    mix_queries<T, Totals>(sums, sum_stride, along, queries, weighted(w, w_stride, run.template as<T>()),
                           width, fresh);
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
