// The kernels of one instruction set. A source defines the target before it includes this, and this is all it
// includes: Highway's headers alone are used, never its library, so the target is known when compiling, and
// which table runs is the choice of kernels.cpp.
#pragma once

#include "dots.hpp"
#include "mix.hpp"
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
        tile_rows<T, 1, 1, 0>(&result, 1, a, 0, 1, b, 0, n, T(1));
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
                tile_queries<T, panel, 0>(y + first * y_stride + row, y_stride, weights + row * stride,
                                          stride, wide, x + first * x_stride, x_stride, some, width, T(1));
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
            score_stored_to_newest(s, keys.retained, keys.candidates.rows, q, width, scale)) {
            return;
        }
        score_stored(s, s_stride, keys.retained, q, q_stride, queries, width, scale);
        score_run(s + keys.retained.count, s_stride, keys.candidates, q, q_stride, queries, width, scale);
    }

    static void mix(T* out, const T* w, const PositionRows<T>& values, std::size_t width, T* scratch) {
        mix_group(out, width, w, 0, 1, values, width, scratch, false);
    }

    // Rows [begin, end) of a block, which may lie in both runs, added to the sums of `queries` queries.
    template <bool Totals>
    static HWY_INLINE void mix_block(T* sums, std::size_t sum_stride, const Along<T>& along, const T* w,
                                     std::size_t w_stride, std::size_t queries, const PositionRows<T>& values,
                                     std::size_t begin, std::size_t end, std::size_t width, bool fresh) {
        const std::size_t retained = values.retained.count;
        const std::size_t split = end < retained ? end : begin > retained ? begin : retained;
        if (begin < split) {
            mix_stored<T, Totals>(sums, sum_stride, along, w + begin, w_stride, queries,
                                  values.retained.part(begin, split), width, fresh);
            fresh = false;
        }
        if (split < end) {
            const RowRun<T>& late = values.candidates;
            mix_queries<T, Totals>(
                sums, sum_stride, along, queries,
                WeightedRows<T, T>{w + split, w_stride, late.rows + (split - retained) * late.stride,
                                   late.stride, end - split},
                width, fresh);
        }
    }

    // Adds the last of `held` rows of sums to the one before, as often as block number `block` tells, or
    // until there is one if it is the last; returns how many are left. totals are sums as well, if there are
    // any.
    static HWY_INLINE std::size_t fold(T* sums, std::size_t width, T* totals, std::size_t total_stride,
                                       std::size_t queries, std::size_t held, std::size_t block, bool last) {
        for (std::size_t done = block + 1; held > 1 && (done % 2 == 0 || last); done /= 2) {
            --held;
            add_sums(sums + (held - 1) * width, sums + held * width, width);
            T* const total = totals == nullptr ? nullptr : totals + (held - 1) * total_stride;
            for (std::size_t q = 0; total != nullptr && q < queries; ++q)
                total[q] += total[q + total_stride];
        }
        return held;
    }

    static HWY_INLINE void copy_out(T* out, std::size_t out_stride, const T* sums, std::size_t queries,
                                    std::size_t width, bool any) {
        for (std::size_t q = 0; q < queries; ++q) {
            for (std::size_t f = 0; f < width; ++f)
                out[q * out_stride + f] = any ? sums[q * width + f] : T(0);
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
        const std::size_t positions = values.size();
        const std::size_t sums = queries * width;
        std::size_t held = 0;
        for (std::size_t begin = 0; begin < positions; begin += kBlock) {
            const std::size_t end = positions - begin < kBlock ? positions : begin + kBlock;
            mix_block<false>(scratch + held * sums, width, {}, w, w_stride, queries, values, begin, end,
                             width, true);
            held = fold(scratch, sums, nullptr, 0, 0, held + 1, begin / kBlock, end == positions);
        }
        copy_out(out, out_stride, scratch, queries, width, held != 0);
    }

    // Queries that go together over all values, so many as keep the rows of a block worth their while.
    static constexpr std::size_t kSoftGroup = 16;

    static void mix_soft(T* out, std::size_t out_stride, T* totals, T* s, std::size_t s_stride,
                         std::size_t queries, const T* peaks, const PositionRows<T>& values,
                         std::size_t width, T* scratch) {
        for (std::size_t q = 0; q < queries; q += kSoftGroup) {
            soften_and_mix(out + q * out_stride, out_stride, totals + q, s + q * s_stride, s_stride,
                           queries - q < kSoftGroup ? queries - q : kSoftGroup, peaks + q, values, width,
                           scratch);
        }
    }

    // Values of one head that come from memory rather than from a cache, if they are so many bytes.
    static constexpr std::size_t kStreamedBytes = std::size_t{512} << 10;

    // The exponentials of a block are computed while the values of the one before go by, so that memory is
    // never without a request. Only where both are whole and the one before lies in one run: else in between.
    // A single query's values that come from memory have no time to lose to anything beside them (a tenth,
    // measured): all exponentials come first, which is little where the prefix is long.
    static void soften_and_mix(T* out, std::size_t out_stride, T* totals, T* s, std::size_t s_stride,
                               std::size_t queries, const T* peaks, const PositionRows<T>& values,
                               std::size_t width, T* scratch) {
        constexpr std::size_t most_rows = mix_scratch_rows(static_cast<std::size_t>(-1));
        T partials[most_rows][kSoftGroup];
        const std::size_t positions = values.size();
        const std::size_t retained = values.retained.count;
        const std::size_t sums = queries * width;
        const std::size_t bytes = retained * width * element_bytes<T>(values.retained.storage);
        const bool apart = queries == 1 && bytes >= kStreamedBytes;
        if (apart) exponentials(s, s, positions, peaks[0]);
        std::size_t softened = apart ? positions : 0;
        std::size_t held = 0;
        for (std::size_t begin = 0; begin < positions; begin += kBlock) {
            const std::size_t end = positions - begin < kBlock ? positions : begin + kBlock;
            for (std::size_t q = 0; softened < end && q < queries; ++q)
                soften_block(s + q * s_stride + begin, end - begin, peaks[q]);
            const bool whole = positions - end >= kBlock && (end <= retained || begin >= retained);
            const bool along = whole && softened <= end;
            softened = along ? end + kBlock : std::max(softened, end);
            mix_block<true>(scratch + held * sums, width, {partials[held], along ? s + end : nullptr, peaks},
                            s, s_stride, queries, values, begin, end, width, true);
            held = fold(scratch, sums, partials[0], kSoftGroup, queries, held + 1, begin / kBlock,
                        end == positions);
        }
        copy_out(out, out_stride, scratch, queries, width, held != 0);
        for (std::size_t q = 0; q < queries; ++q)
            totals[q] = held == 0 ? T(0) : partials[0][q];
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
                mix_block<false>(row, width, {}, w + q * w_stride, w_stride, some, seen, begin, shared, width,
                                 true);
                for (std::size_t i = q; i < q + some; ++i) {
                    const std::size_t own = common + i < end ? common + i : end;
                    if (own > shared) {
                        mix_block<false>(row + (i - q) * width, width, {}, w + i * w_stride, w_stride, 1,
                                         seen, shared, own, width, false);
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
                .all_finite = all_finite<T>};
    }
};

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
