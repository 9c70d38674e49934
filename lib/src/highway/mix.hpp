// The weighted sum of value rows, for one query or several that see the same rows.
#pragma once

#include "dots.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Queries by Vectors of features whose sums stay in registers while the rows of a block go by.
template <class T, std::size_t Queries, std::size_t Vectors, class S>
HWY_INLINE void mix_tile(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride, const S* rows,
                         std::size_t stride, std::size_t count, bool fresh) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    Vec<T> acc[Queries][Vectors];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
            acc[q][v] = fresh ? hn::Zero(d) : load(sums + q * sum_stride + v * lanes);
        }
    }
    for (std::size_t j = 0; j < count; ++j) {
        const S* const row = rows + j * stride;
        fetch_ahead(row, Vectors * lanes);
        Vec<T> weight[Queries];
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q)
            weight[q] = hn::Set(d, w[q * w_stride + j]);
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
            const Vec<T> value = load<T>(row + v * lanes);
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q)
                acc[q][v] = hn::MulAdd(weight[q], value, acc[q][v]);
        }
        keep_order();
    }
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v)
            hn::StoreU(acc[q][v], d, sums + q * sum_stride + v * lanes);
    }
}

/// sums[q] += Σ w[q] · row over `count` rows of one block, all features; from +0 if fresh.
template <class T, std::size_t Queries, class S>
HWY_INLINE void mix_rows(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride, const S* rows,
                         std::size_t stride, std::size_t count, std::size_t width, bool fresh) {
    constexpr std::size_t lanes = kNative<T>;
    // As many sums as leave registers for a row and the weights: 32 registers with 512 bits, else 16.
    constexpr std::size_t budget = HWY_CAP_GE512 || HWY_TARGET == HWY_NEON ? 16 : 8;
    constexpr std::size_t most = std::min<std::size_t>(budget / Queries, 8);
    std::size_t f = 0;
    for (; width - f >= most * lanes; f += most * lanes) {
        mix_tile<T, Queries, most>(sums + f, sum_stride, w, w_stride, rows + f, stride, count, fresh);
    }
    if constexpr (most > 2) {
        for (; width - f >= 2 * lanes; f += 2 * lanes) {
            mix_tile<T, Queries, 2>(sums + f, sum_stride, w, w_stride, rows + f, stride, count, fresh);
        }
    }
    for (; width - f >= lanes; f += lanes) {
        mix_tile<T, Queries, 1>(sums + f, sum_stride, w, w_stride, rows + f, stride, count, fresh);
    }
    for (; f < width; ++f) {
        for (std::size_t q = 0; q < Queries; ++q) {
            T acc = fresh ? T(0) : sums[q * sum_stride + f];
            for (std::size_t j = 0; j < count; ++j)
                acc = std::fma(w[q * w_stride + j], widen(rows[j * stride + f]), acc);
            sums[q * sum_stride + f] = acc;
        }
    }
}

template <class T>
HWY_INLINE void mix_queries(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride,
                            std::size_t queries, const T* rows, std::size_t stride, std::size_t count,
                            std::size_t width, bool fresh) {
    // With 4 queries only half of a long row's sums fit the registers, and every row would be read in two
    // pieces: whole rows by 2 queries keep the order of addresses.
    const bool fours = width * sizeof(T) <= 4 * HWY_LANES(T) * sizeof(T);
    std::size_t q = 0;
    for (; fours && queries - q >= 4; q += 4) {
        mix_rows<T, 4>(sums + q * sum_stride, sum_stride, w + q * w_stride, w_stride, rows, stride, count,
                       width, fresh);
    }
    for (; queries - q >= 2; q += 2) {
        mix_rows<T, 2>(sums + q * sum_stride, sum_stride, w + q * w_stride, w_stride, rows, stride, count,
                       width, fresh);
    }
    for (; q < queries; ++q) {
        mix_rows<T, 1>(sums + q * sum_stride, sum_stride, w + q * w_stride, w_stride, rows, stride, count,
                       width, fresh);
    }
}

/// mix_queries of narrow rows: as score_narrow.
template <class T, class S>
void mix_narrow(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride, std::size_t queries,
                const RowRun<S>& run, std::size_t width, bool fresh) {
    if (queries == 1 || width > kWidened) {
        for (std::size_t q = 0; q < queries; ++q) {
            mix_rows<T, 1>(sums + q * sum_stride, sum_stride, w + q * w_stride, w_stride, run.rows,
                           run.stride, run.count, width, fresh);
        }
        return;
    }
    alignas(64) T wide[kWidened];
    const std::size_t step = kWidened / width;
    for (std::size_t r = 0; r < run.count; r += step) {
        const std::size_t some = run.count - r < step ? run.count - r : step;
        widen_rows(wide, run, r, some, width);
        mix_queries(sums, sum_stride, w + r, w_stride, queries, wide, width, some, width, fresh);
        fresh = false;
    }
}

/// mix_queries of what a cache stores.
template <class T>
HWY_INLINE void mix_stored(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride,
                           std::size_t queries, const StoredRun<T>& run, std::size_t width, bool fresh) {
    if constexpr (sizeof(T) == sizeof(float)) {
        if (run.storage == KvStorage::bf16) {
            return mix_narrow(sums, sum_stride, w, w_stride, queries, run.template as<BFloat16>(), width,
                              fresh);
        }
        if (run.storage == KvStorage::f16) {
            return mix_narrow(sums, sum_stride, w, w_stride, queries, run.template as<Float16>(), width,
                              fresh);
        }
    }
    const RowRun<T> rows = run.template as<T>();
    mix_queries(sums, sum_stride, w, w_stride, queries, rows.rows, rows.stride, rows.count, width, fresh);
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
