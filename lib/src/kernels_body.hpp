// The kernels themselves, compiled once for every instruction set: each source that includes this first
// defines ATTEST_KERNEL, the function attribute that names the instructions, and then makes a table of
// KernelBody<T>. Everything here is local to that source, so no two of them share a function.
//
// Loops over lanes have constant counts and no branch, so a compiler turns them into vectors; each lane does
// what the scalar loop does, which is why all tables agree bit for bit.
#pragma once

#ifndef ATTEST_KERNEL
#error "define ATTEST_KERNEL, empty or an attribute, before including kernels_body.hpp"
#endif

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include "double_double.hpp"
#include "exponential.hpp"
#include "kernels.hpp"
#include "narrow.hpp"
#include "rotation_block.hpp"
#include "sums.hpp"

namespace attest::detail {
namespace {

template <class T>
struct KernelBody {
    static constexpr std::size_t kWidth = kLanes<T>;

    // Folds the lanes of one dot product in halves.
    template <std::size_t Half = kWidth / 2>
    ATTEST_KERNEL static T fold(T (&lanes)[kWidth]) {
        for (std::size_t l = 0; l < Half; ++l) {
            lanes[l] += lanes[l + Half];
        }
        if constexpr (Half > 1) {
            return fold<Half / 2>(lanes);
        }
        return lanes[0];
    }

    // `Rows` dot products with x side by side; each is sums.hpp's dot.
    // Rows may be narrow.
    template <std::size_t Rows, class S>
    ATTEST_KERNEL static void dots(T* out, const S* rows, std::size_t stride, const T* x, std::size_t n) {
        T sums[Rows][kWidth] = {};
        std::size_t i = 0;
        for (; n - i >= kWidth; i += kWidth) {
            for (std::size_t r = 0; r < Rows; ++r) {
                for (std::size_t l = 0; l < kWidth; ++l) {
                    sums[r][l] = std::fma(widen(rows[r * stride + i + l]), x[i + l], sums[r][l]);
                }
            }
        }
        if (i < n) {
            for (std::size_t r = 0; r < Rows; ++r) {
                out[r] = finish(sums[r], rows + r * stride + i, x + i, n - i);
            }
            return;
        }
        for (std::size_t r = 0; r < Rows; ++r) {
            out[r] = fold(sums[r]);
        }
    }

    // The last n < kWidth products, on a copy of the lanes, so that theirs can stay in registers.
    template <class S>
    ATTEST_KERNEL static T finish(const T (&sums)[kWidth], const S* a, const T* b, std::size_t n) {
        T lanes[kWidth];
        for (std::size_t l = 0; l < kWidth; ++l) {
            lanes[l] = sums[l];
        }
        for (std::size_t l = 0; l < n; ++l) {
            lanes[l] = std::fma(widen(a[l]), b[l], lanes[l]);
        }
        return fold(lanes);
    }

    ATTEST_KERNEL static T dot(const T* a, const T* b, std::size_t n) {
        T result;
        dots<1>(&result, a, 0, b, n);
        return result;
    }

    static constexpr std::size_t kRowsAtOnce = 4;

    ATTEST_KERNEL static void project(T* y, const T* weights, std::size_t stride, std::size_t rows,
                                      const T* x, std::size_t width) {
        project_run(y, RowRun<T>{weights, stride, rows}, x, width);
    }

    template <class S>
    ATTEST_KERNEL static void project_run(T* y, const RowRun<S>& run, const T* x, std::size_t width) {
        std::size_t row = 0;
        for (; run.count - row >= kRowsAtOnce; row += kRowsAtOnce) {
            dots<kRowsAtOnce>(y + row, run.rows + row * run.stride, run.stride, x, width);
        }
        for (; row < run.count; ++row) {
            dots<1>(y + row, run.rows + row * run.stride, run.stride, x, width);
        }
    }

    ATTEST_KERNEL static void project_stored(T* y, const StoredRun<T>& run, const T* x, std::size_t width) {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (run.storage == KvStorage::bf16) {
                return project_run(y, run.template as<BFloat16>(), x, width);
            }
            if (run.storage == KvStorage::f16) {
                return project_run(y, run.template as<Float16>(), x, width);
            }
        }
        project_run(y, run.template as<T>(), x, width);
    }

    ATTEST_KERNEL static void scores(T* s, const T* q, const PositionRows<T>& keys, std::size_t width,
                                     T scale) {
        project_stored(s, keys.retained, q, width);
        project_run(s + keys.retained.count, keys.candidates, q, width);
        const std::size_t positions = keys.size();
        for (std::size_t j = 0; j < positions; ++j) {
            s[j] *= scale;
        }
    }

    ATTEST_KERNEL static T maximum(const T* s, std::size_t n) {
        T lanes[kWidth];
        for (std::size_t l = 0; l < kWidth; ++l) {
            lanes[l] = s[0];
        }
        std::size_t j = 0;
        for (; n - j >= kWidth; j += kWidth) {
            for (std::size_t l = 0; l < kWidth; ++l) {
                lanes[l] = lanes[l] < s[j + l] ? s[j + l] : lanes[l];
            }
        }
        for (; j < n; ++j) {
            lanes[0] = lanes[0] < s[j] ? s[j] : lanes[0];
        }
        for (std::size_t l = 1; l < kWidth; ++l) {
            lanes[0] = lanes[0] < lanes[l] ? lanes[l] : lanes[0];
        }
        return lanes[0] + T(0);  // −0 + 0 = +0: which of two equal zeros was met first doesn't show
    }

    ATTEST_KERNEL static T peak(const T* s, std::size_t n) {
        return all_finite(s, n) ? maximum(s, n) : std::numeric_limits<T>::quiet_NaN();
    }

    ATTEST_KERNEL static void exponentials(T* w, const T* s, std::size_t n, T m) {
        // By way of a local row: w may be s, and a compiler need not ask.
        constexpr std::size_t at_once = 4 * kWidth;
        std::size_t j = 0;
        for (; n - j >= at_once; j += at_once) {
            T results[at_once];
            for (std::size_t l = 0; l < at_once; ++l) {
                results[l] = exponential(s[j + l] - m);
            }
            for (std::size_t l = 0; l < at_once; ++l) {
                w[j + l] = results[l];
            }
        }
        for (; j < n; ++j) {
            w[j] = exponential(s[j] - m);
        }
    }

    // left = left + right, partial sum by partial sum.
    ATTEST_KERNEL static void add_rows(T* left, const T* right, std::size_t width) {
        for (std::size_t f = 0; f < width; ++f) {
            left[f] += right[f];
        }
    }

    // The binary counter of sums.hpp. The partial sum of block number `block` is the last of `held` rows.
    ATTEST_KERNEL static void merge(T* partials, std::size_t& held, std::size_t block, std::size_t width) {
        for (std::size_t done = block + 1; done % 2 == 0; done /= 2) {
            --held;
            add_rows(partials + (held - 1) * width, partials + held * width, width);
        }
    }
    ATTEST_KERNEL static void merge_rest(T* partials, std::size_t held, std::size_t width) {
        for (; held > 1; --held) {
            add_rows(partials + (held - 2) * width, partials + (held - 1) * width, width);
        }
    }

    // Whole blocks summed side by side, as each is one chain of dependent additions.
    static constexpr std::size_t kBlocksAtOnce = 8;

    ATTEST_KERNEL static T sum(const T* w, std::size_t n) {
        T partials[64] = {};
        std::size_t held = 0;
        std::size_t block = 0;
        const std::size_t whole = n / kBlock;
        for (; whole - block >= kBlocksAtOnce; block += kBlocksAtOnce) {
            T sums[kBlocksAtOnce] = {};
            for (std::size_t j = 0; j < kBlock; ++j) {
                for (std::size_t b = 0; b < kBlocksAtOnce; ++b) {
                    sums[b] += w[(block + b) * kBlock + j];
                }
            }
            for (std::size_t b = 0; b < kBlocksAtOnce; ++b) {
                partials[held++] = sums[b];
                merge(partials, held, block + b, 1);
            }
        }
        for (std::size_t first = block * kBlock; first < n; first += kBlock, ++block) {
            const std::size_t end = n - first < kBlock ? n : first + kBlock;
            T sum = T(0);
            for (std::size_t j = first; j < end; ++j) {
                sum += w[j];
            }
            partials[held++] = sum;
            merge(partials, held, block, 1);
        }
        merge_rest(partials, held, 1);
        return partials[0];
    }

    // The weighted sum of `Features` features over the rows of one block, which may lie in two runs.
    template <std::size_t Features, class S>
    ATTEST_KERNEL static void mix_features(T* out, const T* w, const RowRun<S>& first,
                                           const RowRun<T>& second, std::size_t feature) {
        T sums[Features] = {};
        for (std::size_t j = 0; j < first.count; ++j) {
            const S* const row = first.rows + j * first.stride + feature;
            for (std::size_t f = 0; f < Features; ++f) {
                sums[f] = std::fma(w[j], widen(row[f]), sums[f]);
            }
        }
        for (std::size_t j = 0; j < second.count; ++j) {
            const T* const row = second.rows + j * second.stride + feature;
            for (std::size_t f = 0; f < Features; ++f) {
                sums[f] = std::fma(w[first.count + j], row[f], sums[f]);
            }
        }
        for (std::size_t f = 0; f < Features; ++f) {
            out[feature + f] = sums[f];
        }
    }

    // Rows [begin, end) of a run, or as many of them as there are.
    template <class S>
    static RowRun<S> part(const RowRun<S>& run, std::size_t begin, std::size_t end) {
        const std::size_t last = end < run.count ? end : run.count;
        if (begin >= last) {
            return {};
        }
        return {run.rows + begin * run.stride, run.stride, last - begin};
    }

    ATTEST_KERNEL static void mix(T* out, const T* w, const PositionRows<T>& values, std::size_t width,
                                  T* scratch) {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (values.retained.storage == KvStorage::bf16) {
                return mix_runs(out, w, values.retained.template as<BFloat16>(), values.candidates, width,
                                scratch);
            }
            if (values.retained.storage == KvStorage::f16) {
                return mix_runs(out, w, values.retained.template as<Float16>(), values.candidates, width,
                                scratch);
            }
        }
        mix_runs(out, w, values.retained.template as<T>(), values.candidates, width, scratch);
    }

    template <class S>
    ATTEST_KERNEL static void mix_runs(T* out, const T* w, const RowRun<S>& stored,
                                       const RowRun<T>& candidates, std::size_t width, T* scratch) {
        const std::size_t retained = stored.count;
        const std::size_t positions = retained + candidates.count;
        std::size_t held = 0;
        std::size_t block = 0;
        for (std::size_t begin = 0; begin < positions; begin += kBlock, ++block) {
            const std::size_t end = positions - begin < kBlock ? positions : begin + kBlock;
            const RowRun<S> first = part(stored, begin, end);
            const RowRun<T> second = part(candidates, begin < retained ? 0 : begin - retained,
                                          end < retained ? 0 : end - retained);
            T* const partial = scratch + held * width;
            std::size_t f = 0;
            for (; width - f >= 4 * kWidth; f += 4 * kWidth) {
                mix_features<4 * kWidth>(partial, w + begin, first, second, f);
            }
            for (; width - f >= kWidth; f += kWidth) {
                mix_features<kWidth>(partial, w + begin, first, second, f);
            }
            for (; f < width; ++f) {
                mix_features<1>(partial, w + begin, first, second, f);
            }
            ++held;
            merge(scratch, held, block, width);
        }
        merge_rest(scratch, held, width);
        for (std::size_t f = 0; f < width; ++f) {
            out[f] = held == 0 ? T(0) : scratch[f];
        }
    }

    ATTEST_KERNEL static void rotate(T* row, const T* cosines, const T* sines, std::size_t width,
                                     RotaryPairs pairs) {
        const std::size_t half = width / 2;
        if (pairs == RotaryPairs::half) {
            rotate_pairs(row, row + half, 1, cosines, sines, half);
        } else {
            rotate_pairs(row, row + 1, 2, cosines, sines, half);
        }
    }

    ATTEST_KERNEL static void rotate_pairs(T* firsts, T* seconds, std::size_t stride, const T* cosines,
                                           const T* sines, std::size_t pairs) {
        for (std::size_t i = 0; i < pairs; ++i) {
            const T a = firsts[i * stride];
            const T b = seconds[i * stride];
            firsts[i * stride] = std::fma(a, cosines[i], -(b * sines[i]));
            seconds[i * stride] = std::fma(a, sines[i], b * cosines[i]);
        }
    }

    ATTEST_KERNEL static void advance(T* cosines, T* sines, std::size_t row_stride,
                                      const RotationBlock& block) {
        PairRotations now = block.first;
        const PairRotations step = block.step;
        for (std::size_t row = 0; row < block.rows; ++row) {
            T cosine_row[kPairChunk];
            T sine_row[kPairChunk];
            for (std::size_t lane = 0; lane < kPairChunk; ++lane) {
                const DoubleDouble c = {now.cosine_high[lane], now.cosine_low[lane]};
                const DoubleDouble s = {now.sine_high[lane], now.sine_low[lane]};
                const DoubleDouble step_c = {step.cosine_high[lane], step.cosine_low[lane]};
                const DoubleDouble step_s = {step.sine_high[lane], step.sine_low[lane]};
                cosine_row[lane] = round_to<T>(c);
                sine_row[lane] = round_to<T>(s);
                const DoubleDouble next_c = add(multiply(c, step_c), negate(multiply(s, step_s)));
                const DoubleDouble next_s = add(multiply(c, step_s), multiply(s, step_c));
                now.cosine_high[lane] = next_c.high;
                now.cosine_low[lane] = next_c.low;
                now.sine_high[lane] = next_s.high;
                now.sine_low[lane] = next_s.low;
            }
            for (std::size_t lane = 0; lane < block.pairs; ++lane) {
                cosines[row * row_stride + lane] = cosine_row[lane];
                sines[row * row_stride + lane] = sine_row[lane];
            }
        }
    }

    ATTEST_KERNEL static void project_rows(T* y, std::size_t y_stride, const T* x, std::size_t x_stride,
                                           std::size_t x_rows, const T* weights, std::size_t stride,
                                           std::size_t rows, std::size_t width) {
        for (std::size_t i = 0; i < x_rows; ++i) {
            project(y + i * y_stride, weights, stride, rows, x + i * x_stride, width);
        }
    }

    ATTEST_KERNEL static void score_group(T* s, std::size_t s_stride, const T* q, std::size_t q_stride,
                                          std::size_t queries, const PositionRows<T>& keys, std::size_t width,
                                          T scale) {
        for (std::size_t i = 0; i < queries; ++i) {
            scores(s + i * s_stride, q + i * q_stride, keys, width, scale);
        }
    }

    ATTEST_KERNEL static void mix_group(T* out, std::size_t out_stride, const T* w, std::size_t w_stride,
                                        std::size_t queries, const PositionRows<T>& values, std::size_t width,
                                        T* scratch, bool causal) {
        PositionRows<T> seen = values;
        for (std::size_t i = 0; i < queries; ++i) {
            mix(out + i * out_stride, w + i * w_stride, seen, width, scratch);
            seen.candidates.count += causal ? 1 : 0;
        }
    }

    ATTEST_KERNEL static void mix_soft(T* out, std::size_t out_stride, T* totals, T* s, std::size_t s_stride,
                                       std::size_t queries, const T* peaks, const PositionRows<T>& values,
                                       std::size_t width, T* scratch) {
        const std::size_t positions = values.size();
        for (std::size_t i = 0; i < queries; ++i) {
            T* const row = s + i * s_stride;
            exponentials(row, row, positions, peaks[i]);
            totals[i] = sum(row, positions);
            mix(out + i * out_stride, row, values, width, scratch);
        }
    }

    ATTEST_KERNEL static bool divide(T* out, const T* values, std::size_t n, T divisor) {
        const bool finite = all_finite(values, n);
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = values[i] / divisor;
        }
        return finite;
    }

    ATTEST_KERNEL static bool all_finite(const T* values, std::size_t n) {
        // x · 0 is NaN where x is not finite, and a NaN stays.
        T seen[kWidth] = {};
        std::size_t i = 0;
        for (; n - i >= kWidth; i += kWidth) {
            for (std::size_t l = 0; l < kWidth; ++l) {
                seen[l] = std::fma(values[i + l], T(0), seen[l]);
            }
        }
        for (; i < n; ++i) {
            seen[0] = std::fma(values[i], T(0), seen[0]);
        }
        T all = T(0);
        for (std::size_t l = 0; l < kWidth; ++l) {
            all += seen[l];
        }
        return all == all;
    }

    static consteval Kernels<T> table(std::string_view name) {
        return {.name = name,
                .dot = dot,
                .project = project,
                .scores = scores,
                .maximum = maximum,
                .peak = peak,
                .exponentials = exponentials,
                .sum = sum,
                .mix = mix,
                .rotate = rotate,
                .advance = advance,
                .project_rows = project_rows,
                .score_group = score_group,
                .mix_group = mix_group,
                .mix_soft = mix_soft,
                .divide = divide,
                .all_finite = all_finite};
    }
};

}  // namespace
}  // namespace attest::detail
