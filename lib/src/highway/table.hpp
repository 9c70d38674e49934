// The kernels of one instruction set. A source defines the target before it includes this, and this is all it
// includes: Highway's headers alone are used, never its library, so the target is known when compiling, and
// which table runs is the choice of kernels.cpp.
#pragma once

#include <algorithm>

#include "dots.hpp"
#include "held_mix.hpp"
#include "held_query.hpp"
#include "products.hpp"
#include "projection.hpp"
#include "softmax.hpp"

#include "../kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

template <class T>
struct HighwayKernels {
    static T dot(const T* a, const T* b, std::size_t n) {
        T result;
        tile_rows<T, 1, 1, 0>(&result, 1, RowRun<T>{a, 0, 1}, b, 0, n, T(1));
        return result;
    }

    static void project(T* y, const T* weights, std::size_t stride, std::size_t rows, const T* x,
                        std::size_t width) {
        project_vector(y, weights, stride, rows, x, width);
    }

    // Rows of x that stay in the second cache while the weights go by, and rows of weights that stay in the
    // first while those rows of x do.
    static constexpr std::size_t kSecondCacheBytes = std::size_t{256} << 10;

    static void project_rows(T* y, std::size_t y_stride, const T* x, std::size_t x_stride, std::size_t x_rows,
                             const T* weights, std::size_t stride, std::size_t rows, std::size_t width) {
        if (x_rows == 1) {
            project(y, weights, stride, rows, x, width);
            return;
        }
        if (x_rows >= kFewestVectors) {
            many_products<T, T>({y, y_stride, T(1)}, {weights, stride, rows}, {x, x_stride, x_rows}, width);
            return;
        }
        constexpr std::size_t panel = kNative<T> / kMaxQueries<T>;
        std::size_t block = kSecondCacheBytes / ((width + 1) * sizeof(T)) / kMaxQueries<T> * kMaxQueries<T>;
        block = block == 0 ? kMaxQueries<T> : block;
        for (std::size_t first = 0; first < x_rows; first += block) {
            const std::size_t some = x_rows - first < block ? x_rows - first : block;
            for (std::size_t row = 0; row < rows; row += panel) {
                const std::size_t wide = rows - row < panel ? rows - row : panel;
                tile_queries<T, panel, 0>(y + first * y_stride + row, y_stride,
                                          RowRun<T>{weights + row * stride, stride, wide},
                                          x + first * x_stride, x_stride, some, width, T(1));
            }
        }
    }

    static void scores(T* s, const T* q, const PositionRows<T>& keys, std::size_t width, T scale) {
        score_group(s, 0, q, 0, 1, keys, width, scale);
    }

    static void score_group(T* s, std::size_t s_stride, const T* q, std::size_t q_stride, std::size_t queries,
                            const PositionRows<T>& keys, std::size_t width, T scale) {
        if (queries >= kFewestVectors) {
            const RowRun<T> vectors = {q, q_stride, queries};
            many_stored_products<T>({s, s_stride, scale}, keys.retained, vectors, width);
            many_products<T, T>({s + keys.retained.count, s_stride, scale}, keys.candidates, vectors, width);
            return;
        }
        if (queries == 1 && keys.candidates.count == 1 &&
            score_to_newest(s, keys.retained, keys.candidates.rows, q, width, scale)) {
            return;
        }
        score_stored(s, s_stride, keys.retained, q, q_stride, queries, width, scale);
        score_run(s + keys.retained.count, s_stride, keys.candidates, q, q_stride, queries, width, scale);
    }

    static void mix(T* out, const T* w, const PositionRows<T>& values, std::size_t width, T* scratch) {
        mix_group(out, width, w, 0, 1, values, width, scratch, false);
    }

    // Rows [begin, end) of a block, which may lie in both runs, added to the sums of `queries` queries.
    static HWY_INLINE void mix_block(T* sums, std::size_t sum_stride, const T* w, std::size_t w_stride,
                                     std::size_t queries, const PositionRows<T>& values, std::size_t begin,
                                     std::size_t end, std::size_t width, bool fresh) {
        const std::size_t retained = values.retained.count;
        const std::size_t split = end < retained ? end : begin > retained ? begin : retained;
        if (begin < split) {
            mix_stored(sums, sum_stride, w + begin, w_stride, queries, values.retained.part(begin, split),
                       width, fresh);
            fresh = false;
        }
        if (split < end) {
            const RowRun<T>& late = values.candidates;
            mix_queries(sums, sum_stride, queries,
                        WeightedRows<T, T>{w + split, w_stride, late.rows + (split - retained) * late.stride,
                                           late.stride, end - split},
                        width, fresh);
        }
    }

    static void mix_group(T* out, std::size_t out_stride, const T* w, std::size_t w_stride,
                          std::size_t queries, const PositionRows<T>& values, std::size_t width, T* scratch,
                          bool causal) {
        if (causal) {
            for (std::size_t q = 0; q < queries; q += kCausalGroup) {
                mix_causal(out + q * out_stride, out_stride, w + q * w_stride, w_stride, q,
                           queries - q < kCausalGroup ? queries - q : kCausalGroup, values, width, scratch);
            }
            return;
        }
        T totals[kMixedQueries];
        for (std::size_t q = 0; q < queries; q += kMixedQueries) {
            mix_together(out + q * out_stride, out_stride, totals, w + q * w_stride, w_stride,
                         std::min(queries - q, kMixedQueries), values, width, scratch);
        }
    }

    static void mix_soft(T* out, std::size_t out_stride, T* totals, T* s, std::size_t s_stride,
                         std::size_t queries, const T* peaks, const PositionRows<T>& values,
                         std::size_t width, T* scratch) {
        // The queries of a step without groups come one by one: no loop lies between their kernels.
        if (queries == 1) {
            soften(s, values.size(), peaks[0]);
            mix_together(out, out_stride, totals, s, s_stride, 1, values, width, scratch);
            return;
        }
        for (std::size_t q = 0; q < queries; ++q)
            soften(s + q * s_stride, values.size(), peaks[q]);
        for (std::size_t q = 0; q < queries; q += kMixedQueries) {
            mix_together(out + q * out_stride, out_stride, totals + q, s + q * s_stride, s_stride,
                         std::min(queries - q, kMixedQueries), values, width, scratch);
        }
    }

    // Up to kMixedQueries queries over all values, and the sums of their weights.
    static void mix_together(T* out, std::size_t out_stride, T* totals, const T* w, std::size_t w_stride,
                             std::size_t queries, const PositionRows<T>& values, std::size_t width,
                             T* scratch) {
        if (values.size() != 0) {
            T partial[mix_scratch_rows(static_cast<std::size_t>(-1)) * kMixedQueries];
            mix_all(scratch, partial, out, out_stride, totals, w, w_stride, queries, values, width);
            return;
        }
        for (std::size_t q = 0; q < queries; ++q) {
            totals[q] = T(0);
            std::fill_n(out + q * out_stride, width, T(0));
        }
    }

    // Query i of `queries`, number first + i of its group, sees first + i candidates more than the group's
    // first query. Block by block, so that a block's rows stay in the first cache for all of them.
    static void mix_causal(T* out, std::size_t out_stride, const T* w, std::size_t w_stride,
                           std::size_t first, std::size_t queries, const PositionRows<T>& values,
                           std::size_t width, T* scratch) {
        constexpr std::size_t together = 4;
        PositionRows<T> seen = values;
        seen.candidates.count += first + queries - 1;
        const std::size_t common = values.size() + first;
        const std::size_t sums = kCausalGroup * width;
        std::size_t held[kCausalGroup] = {};
        for (std::size_t block = 0; block * kBlock < common + queries - 1; ++block) {
            const std::size_t begin = block * kBlock;
            const std::size_t end = begin + kBlock;
            // Those who see none of the block come first.
            std::size_t q = common > begin ? 0 : begin + 1 - common;
            for (; q < queries; q += together) {
                // Equally many partial sums are held by all who see a block: they have seen all before it.
                const std::size_t some = queries - q < together ? queries - q : together;
                const std::size_t shared = common + q < end ? common + q : end;
                T* const row = scratch + held[q] * sums + q * width;
                mix_block(row, width, w + q * w_stride, w_stride, some, seen, begin, shared, width, true);
                for (std::size_t i = q; i < q + some; ++i) {
                    const std::size_t own = common + i < end ? common + i : end;
                    if (own > shared) {
                        mix_block(row + (i - q) * width, width, w + i * w_stride, w_stride, 1, seen, shared,
                                  own, width, false);
                    }
                    T* newest = scratch + held[i] * sums + i * width;
                    ++held[i];
                    for (std::size_t done = block + 1; done % 2 == 0; done /= 2) {
                        --held[i];
                        add_sums(newest - sums, newest, width);
                        newest -= sums;
                    }
                }
            }
        }
        for (std::size_t q = 0; q < queries; ++q) {
            for (; held[q] > 1; --held[q]) {
                add_sums(scratch + (held[q] - 2) * sums + q * width,
                         scratch + (held[q] - 1) * sums + q * width, width);
            }
            for (std::size_t f = 0; f < width; ++f) {
                out[q * out_stride + f] = held[q] == 0 ? T(0) : scratch[q * width + f];
            }
        }
    }

    static void rotate(T* row, const T* cosines, const T* sines, std::size_t width, RotaryPairs pairs) {
        const std::size_t half = width / 2;
        const Tag<T> d;
        constexpr std::size_t lanes = kNative<T>;
        const bool apart = pairs == RotaryPairs::half;
        std::size_t i = 0;
        for (; half - i >= lanes; i += lanes) {
            Vec<T> a;
            Vec<T> b;
            if (apart) {
                a = load(row + i);
                b = load(row + half + i);
            } else {
                hn::LoadInterleaved2(d, row + 2 * i, a, b);
            }
            const Vec<T> c = load(cosines + i);
            const Vec<T> s = load(sines + i);
            const Vec<T> turned_a = hn::MulAdd(a, c, hn::Neg(hn::Mul(b, s)));
            const Vec<T> turned_b = hn::MulAdd(a, s, hn::Mul(b, c));
            if (apart) {
                hn::StoreU(turned_a, d, row + i);
                hn::StoreU(turned_b, d, row + half + i);
            } else {
                hn::StoreInterleaved2(turned_a, turned_b, d, row + 2 * i);
            }
        }
        for (; i < half; ++i) {
            T& first = apart ? row[i] : row[2 * i];
            T& second = apart ? row[half + i] : row[2 * i + 1];
            const T a = first;
            const T b = second;
            first = std::fma(a, cosines[i], -(b * sines[i]));
            second = std::fma(a, sines[i], b * cosines[i]);
        }
    }

    static constexpr Kernels<T> table(std::string_view name, decltype(Kernels<T>::advance) advance) {
        return {.name = name,
                .dot = dot,
                .project = project,
                .scores = scores,
                .maximum = maximum<T>,
                .peak = peak<T>,
                .exponentials = exponentials<T>,
                .sum = sum<T>,
                .mix = mix,
                .rotate = rotate,
                .advance = advance,
                .project_rows = project_rows,
                .score_group = score_group,
                .mix_group = mix_group,
                .mix_soft = mix_soft,
                .divide = divide<T>,
                .all_finite = all_finite<T>};
    }
};

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
