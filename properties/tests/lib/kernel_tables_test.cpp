// Every table of kernels against the portable one, bit for bit: sizes around every edge of vector, tile and
// block; values that cancel, underflow and vanish; rows that end where their memory ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../src/kernels.hpp"
#include "each_table.hpp"
#include "kernel_rows.hpp"

namespace attest::detail {
namespace {

template <class T>
class KernelTables : public EachTable<T> {};
TYPED_TEST_SUITE(KernelTables, Types);

TYPED_TEST(KernelTables, HasTheTablesOfThisMachine) {
    using T = TypeParam;
    const auto all = available_kernels<T>();
    EXPECT_EQ(all.front()->name, "portable");
    EXPECT_EQ(choose_kernels<T>("off"), all.front());
    EXPECT_EQ(choose_kernels<T>(""), all.back());
    EXPECT_EQ(choose_kernels<T>("none such"), nullptr);
    for (const Kernels<T>* const table : all)
        EXPECT_EQ(choose_kernels<T>(table->name), table);
#if defined(__x86_64__) && ATTEST_HIGHWAY
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    EXPECT_EQ(choose_kernels<T>("avx2") != nullptr, avx2 && __builtin_cpu_supports("fma"));
    EXPECT_EQ(choose_kernels<T>("avx512") != nullptr,
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"));
#endif
}

TYPED_TEST(KernelTables, DotsAndProjectionsAgree) {
    using T = TypeParam;
    for (const std::size_t width : kWidths) {
        for (const std::size_t rows : kRows) {
            const std::size_t stride = width + rows % 3;
            const Row<T> weights = draw<T>(rows == 0 ? 0 : (rows - 1) * stride + width, width * 1000 + rows);
            const std::size_t inputs = 1 + (width + rows) % 9;
            const Row<T> x = draw<T>(inputs * width, width + rows);
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got(inputs * (rows + 2), T(7));
                Row<T> want(inputs * (rows + 2), T(7));
                table.project_rows(got.data(), rows + 2, x.data(), width, inputs, weights.data(), stride,
                                   rows, width);
                portable.project_rows(want.data(), rows + 2, x.data(), width, inputs, weights.data(), stride,
                                      rows, width);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << rows << " rows, " << inputs;
                table.project(got.data(), weights.data(), stride, rows, x.data(), width);
                portable.project(want.data(), weights.data(), stride, rows, x.data(), width);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << rows << " rows";
                if (rows > 0) {
                    const T dot = table.dot(weights.data(), x.data(), width);
                    EXPECT_EQ(difference<T>({dot}, {portable.dot(weights.data(), x.data(), width)}), "");
                }
            });
        }
    }
}

// Keys or values in two runs, as a cache and its candidates hold them.
template <class T>
struct TwoRuns {
    Row<T> retained;
    Row<T> candidates;
    PositionRows<T> rows;

    TwoRuns(std::size_t cached, std::size_t fresh, std::size_t spare, std::size_t width, std::uint64_t seed)
        : retained(draw<T>(cached * width, seed)), candidates(draw<T>((fresh + spare) * width, seed + 1)) {
        rows = {{retained.data(), width, cached}, {candidates.data(), width, fresh}};
    }
};

TYPED_TEST(KernelTables, ScoresAgreeForOneQueryAndForGroups) {
    using T = TypeParam;
    for (const std::size_t width : kWidths) {
        for (const std::size_t count : kRows) {
            const TwoRuns<T> keys(count, count % 3, 0, width, width * 77 + count);
            const std::size_t positions = keys.rows.size();
            const std::size_t queries = 1 + (width + count) % 10;
            const Row<T> q = draw<T>(queries * width, width + 3 * count);
            const T scale = T(1) / std::sqrt(static_cast<T>(width));
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got(queries * (positions + 1), T(7));
                Row<T> want(queries * (positions + 1), T(7));
                table.score_group(got.data(), positions + 1, q.data(), width, queries, keys.rows, width,
                                  scale);
                portable.score_group(want.data(), positions + 1, q.data(), width, queries, keys.rows, width,
                                     scale);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << count << " rows, " << queries;
                table.scores(got.data(), q.data(), keys.rows, width, scale);
                portable.scores(want.data(), q.data(), keys.rows, width, scale);
                EXPECT_EQ(difference(got, want), "");
            });
        }
    }
}

TYPED_TEST(KernelTables, MixesAgreeForOneQueryForGroupsAndCausally) {
    using T = TypeParam;
    for (const std::size_t width : kWidths) {
        for (const std::size_t count : kRows) {
            for (const bool causal : {false, true}) {
                const std::size_t queries = 1 + (width + count) % 10;
                const TwoRuns<T> values(count, 1 + count % 70, causal ? queries : 0, width,
                                        width * 77 + count);
                const std::size_t positions = values.rows.size() + queries;
                // Of any sign and size: the order of sums holds for all values, not for weights alone.
                const Row<T> w = draw<T>(queries * positions, width + 3 * count);
                this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                    const std::size_t room = std::max(queries, kCausalGroup);
                    Row<T> scratch(room * mix_scratch_elements(positions, width), T(-3));
                    Row<T> got(queries * (width + 1), T(7));
                    Row<T> want(queries * (width + 1), T(7));
                    table.mix_group(got.data(), width + 1, w.data(), positions, queries, values.rows, width,
                                    scratch.data(), causal);
                    portable.mix_group(want.data(), width + 1, w.data(), positions, queries, values.rows,
                                       width, scratch.data(), causal);
                    EXPECT_EQ(difference(got, want), "")
                        << width << " wide, " << count << " rows, " << queries;
                    table.mix(got.data(), w.data(), values.rows, width, scratch.data());
                    portable.mix(want.data(), w.data(), values.rows, width, scratch.data());
                    EXPECT_EQ(difference(got, want), "");
                });
            }
        }
    }
}

// The exponentials, the mix and the sum of weights in one walk over the values, for one query and several.
TYPED_TEST(KernelTables, SoftMixesAgreeWithTheirSteps) {
    using T = TypeParam;
    for (const std::size_t width : kWidths) {
        for (const std::size_t count : kRows) {
            const std::size_t queries = (width + count) % 3 == 0 ? 1 : 1 + (width + count) % 19;
            const TwoRuns<T> values(count, 1 + count % 70, 0, width, width * 77 + count);
            const std::size_t positions = values.rows.size();
            const Row<T> s = draw_scores<T>(queries * (positions + 1), width + 3 * count);
            const Kernels<T>& portable = *available_kernels<T>()[0];
            Row<T> peaks(queries);
            Row<T> weights(s.size());
            Row<T> sums(queries);
            Row<T> mixed(queries * (width + 1), T(7));
            Row<T> scratch(queries * mix_scratch_elements(positions, width), T(-3));
            for (std::size_t i = 0; i < queries; ++i) {
                const std::size_t row = i * (positions + 1);
                peaks[i] = portable.peak(s.data() + row, positions);
                EXPECT_EQ(peaks[i], portable.maximum(s.data() + row, positions));
                portable.exponentials(weights.data() + row, s.data() + row, positions, peaks[i]);
                weights[row + positions] = s[row + positions];
                sums[i] = portable.sum(weights.data() + row, positions);
                portable.mix(mixed.data() + i * (width + 1), weights.data() + row, values.rows, width,
                             scratch.data());
            }
            for (const Kernels<T>* const table : available_kernels<T>()) {
                SCOPED_TRACE(std::string(table->name) + ' ' + std::to_string(width) + " wide, " +
                             std::to_string(count) + " rows, " + std::to_string(queries));
                Row<T> got = s;
                Row<T> got_mixed(mixed.size(), T(7));
                Row<T> got_sums(queries + 1, T(5));
                table->mix_soft(got_mixed.data(), width + 1, got_sums.data(), got.data(), positions + 1,
                                queries, peaks.data(), values.rows, width, scratch.data());
                EXPECT_EQ(got_sums.back(), T(5));
                got_sums.resize(queries);
                ASSERT_EQ(difference(got, weights), "");
                ASSERT_EQ(difference(got_mixed, mixed), "");
                ASSERT_EQ(difference(got_sums, sums), "");
            }
        }
    }
}

// Rows that are said to come from memory are asked for early, those beyond the last one too.
TYPED_TEST(KernelTables, StreamedRowsAgree) {
    using T = TypeParam;
    for (const std::size_t width : {std::size_t{64}, std::size_t{100}, std::size_t{128}}) {
        const TwoRuns<T> values(200, 1, 0, width, 11);
        PositionRows<T> rows = values.rows;
        rows.retained.reach = Reach::memory;
        const std::size_t positions = rows.size();
        for (const std::size_t queries : std::array<std::size_t, 5>{1, 2, 3, 4, 11}) {
            const Row<T> q = draw<T>(queries * width, 13);
            Row<T> scratch(queries * mix_scratch_elements(positions, width));
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got(queries * positions), want = got;
                table.score_group(got.data(), positions, q.data(), width, queries, rows, width, T(0.25));
                portable.score_group(want.data(), positions, q.data(), width, queries, values.rows, width,
                                     T(0.25));
                ASSERT_EQ(difference(got, want), "");
                const Row<T> peaks(queries, std::ranges::max(want));
                Row<T> mixed(queries * (width + 1)), mixed_want = mixed;
                table.mix_soft(mixed.data(), width, mixed.data() + queries * width, got.data(), positions,
                               queries, peaks.data(), rows, width, scratch.data());
                portable.mix_soft(mixed_want.data(), width, mixed_want.data() + queries * width, want.data(),
                                  positions, queries, peaks.data(), values.rows, width, scratch.data());
                EXPECT_EQ(difference(got, want) + difference(mixed, mixed_want), "")
                    << width << ' ' << queries;
            });
        }
    }
}

constexpr std::array<Reach, 3> kReaches = {Reach::near, Reach::far, Reach::memory};

// Wherever rows come from, at one place or several: parts that are whole tiles and parts that are not, rows
// apart, and none but the newest left over.
TYPED_TEST(KernelTables, ScoresOfOneQueryAgreeWhateverTheReach) {
    using T = TypeParam;
    for (const std::size_t width : {std::size_t{64}, std::size_t{128}}) {
        for (const std::size_t count : std::array<std::size_t, 8>{255, 256, 511, 512, 513, 527, 1023, 1500}) {
            const std::size_t stride = width + count % 3;
            const Row<T> cached = draw<T>(count * stride, count);
            const Row<T> newest = draw<T>(width, 3);
            const Row<T> q = draw<T>(width, 5);
            for (const Reach reach : kReaches) {
                const PositionRows<T> keys = {{cached.data(), stride, count, KvStorage::computing, reach},
                                              {newest.data(), width, 1}};
                this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                    Row<T> got(count + 2, T(7)), want = got;
                    table.score_group(got.data(), count, q.data(), width, 1, keys, width, T(0.25));
                    portable.score_group(want.data(), count, q.data(), width, 1, keys, width, T(0.25));
                    EXPECT_EQ(difference(got, want), "") << width << ", " << count;
                });
            }
        }
    }
}

// Blocks one after the other, and subtrees of blocks of every size whose halves grow side by side, one after
// the other, and more of the largest than one; the last block short, with a candidate, and of nothing else.
TYPED_TEST(KernelTables, ManyBlocksOfOneQueryAgree) {
    using T = TypeParam;
    for (const std::size_t width : {kLanes<T> * 2, kLanes<T> * 4, kLanes<T> * 8}) {
        for (const std::size_t retained :
             std::array<std::size_t, 11>{64, 447, 448, 449, 511, 512, 1023, 4095, 4096, 8191, 12345}) {
            const TwoRuns<T> values(retained, retained % 3, 0, width, retained);
            const std::size_t positions = values.rows.size();
            const Row<T> s = draw_scores<T>(positions, retained);
            const T peak = std::ranges::max(s);
            Row<T> scratch(mix_scratch_elements(positions, width));
            for (const Reach reach : kReaches) {
                PositionRows<T> rows = values.rows;
                rows.retained.reach = reach;
                this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                    Row<T> got = s, want = s;
                    Row<T> mixed(width + 2, T(7)), mixed_want = mixed;
                    table.mix_soft(mixed.data(), width, &mixed[width], got.data(), positions, 1, &peak, rows,
                                   width, scratch.data());
                    portable.mix_soft(mixed_want.data(), width, &mixed_want[width], want.data(), positions, 1,
                                      &peak, rows, width, scratch.data());
                    EXPECT_EQ(difference(got, want) + difference(mixed, mixed_want), "")
                        << width << ", " << retained;
                });
            }
        }
    }
}

// Blocks of cached rows, of candidates, and of both.
TYPED_TEST(KernelTables, SoftMixesAgreeOverManyCandidates) {
    using T = TypeParam;
    constexpr std::size_t width = 33;
    for (const std::size_t retained : std::array<std::size_t, 5>{0, 33, 64, 100, 192}) {
        for (const std::size_t fresh : std::array<std::size_t, 4>{0, 1, 64, 200}) {
            const TwoRuns<T> values(retained, fresh, 0, width, retained + fresh);
            const std::size_t positions = values.rows.size();
            for (const std::size_t queries : {std::size_t{1}, std::size_t{4}}) {
                const Row<T> s = draw_scores<T>(queries * positions, 12);
                const Row<T> peaks(queries, positions == 0 ? T(0) : std::ranges::max(s));
                Row<T> scratch(queries * mix_scratch_elements(positions, width));
                this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                    Row<T> got = s;
                    Row<T> want = s;
                    Row<T> mixed(queries * (width + 1), T(7)), mixed_want = mixed;
                    table.mix_soft(mixed.data(), width, mixed.data() + queries * width, got.data(), positions,
                                   queries, peaks.data(), values.rows, width, scratch.data());
                    portable.mix_soft(mixed_want.data(), width, mixed_want.data() + queries * width,
                                      want.data(), positions, queries, peaks.data(), values.rows, width,
                                      scratch.data());
                    EXPECT_EQ(difference(got, want) + difference(mixed, mixed_want), "")
                        << retained << " and " << fresh << ", " << queries;
                });
            }
        }
    }
}

TYPED_TEST(KernelTables, MaximaExponentialsAndSumsAgree) {
    using T = TypeParam;
    for (std::size_t n = 1; n < 5000; n += n < 200 ? 1 : 61) {
        Row<T> s = draw<T>(n, n);
        if (n % 5 == 0) std::fill(s.begin(), s.end(), n % 2 == 0 ? T(0) : -T(0));
        if (n % 5 == 1) std::ranges::for_each(s, [](T& value) { value = -std::fabs(value) * 200; });
        this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
            const T most = portable.maximum(s.data(), n);
            EXPECT_EQ(difference<T>({table.maximum(s.data(), n)}, {most}), "") << n;
            EXPECT_EQ(difference<T>({table.peak(s.data(), n)}, {most}), "") << n;
            Row<T> got(n);
            Row<T> want(n);
            table.exponentials(got.data(), s.data(), n, most);
            portable.exponentials(want.data(), s.data(), n, most);
            EXPECT_EQ(difference(got, want), "") << n;
            EXPECT_EQ(difference<T>({table.sum(want.data(), n)}, {portable.sum(want.data(), n)}), "") << n;
            EXPECT_EQ(difference<T>({table.sum(s.data(), n)}, {portable.sum(s.data(), n)}), "") << n;
            got = s;
            table.exponentials(got.data(), got.data(), n, most);
            EXPECT_EQ(difference(got, want), "") << n << " in place";
        });
    }
}

TYPED_TEST(KernelTables, ExponentialsAgreeOverTheWholeRange) {
    using T = TypeParam;
    constexpr std::size_t count = 1 << 16;
    Row<T> x(count);
    SplitMix64 random = SplitMix64::from_seed(3);
    for (T& value : x) {
        if constexpr (sizeof(T) == 4)
            value = std::bit_cast<T>(static_cast<std::uint32_t>(random.next()));
        else
            value = std::bit_cast<T>(random.next());
        if (std::isnan(value)) value = -std::numeric_limits<T>::infinity();
    }
    this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
        Row<T> got(count);
        Row<T> want(count);
        table.exponentials(got.data(), x.data(), count, T(0));
        portable.exponentials(want.data(), x.data(), count, T(0));
        EXPECT_EQ(difference(got, want), "");
    });
}

TYPED_TEST(KernelTables, RotationsAgree) {
    using T = TypeParam;
    for (std::size_t width = 0; width <= 130; width += 2) {
        const Row<T> row = draw<T>(width + 3, width);
        const Row<T> cosines = draw<T>(width / 2, width + 1);
        const Row<T> sines = draw<T>(width / 2, width + 2);
        for (const RotaryPairs pairs : {RotaryPairs::interleaved, RotaryPairs::half}) {
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got = row;
                Row<T> want = row;
                table.rotate(got.data(), cosines.data(), sines.data(), width, pairs);
                portable.rotate(want.data(), cosines.data(), sines.data(), width, pairs);
                EXPECT_EQ(difference(got, want), "") << width;
            });
        }
    }
}

TYPED_TEST(KernelTables, OneNonFiniteValueAnywhereIsSeen) {
    using T = TypeParam;
    constexpr T bad[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity()};
    for (std::size_t n = 0; n < 150; ++n) {
        Row<T> values = draw<T>(n, n);
        if (n > 0) values[0] = std::numeric_limits<T>::max();
        for (const Kernels<T>* const table : available_kernels<T>()) {
            EXPECT_TRUE(table->all_finite(values.data(), n)) << table->name;
            for (std::size_t i = 0; i < n; ++i) {
                const T kept = std::exchange(values[i], bad[(n + i) % 3]);
                EXPECT_FALSE(table->all_finite(values.data(), n)) << table->name << ' ' << i << " of " << n;
                EXPECT_TRUE(std::isnan(table->peak(values.data(), n))) << table->name << ' ' << i;
                values[i] = kept;
            }
        }
    }
}

// A row divided into another and in place; what it says of the values it says before they are divided.
TYPED_TEST(KernelTables, QuotientsAgreeAndTellNonFiniteValues) {
    using T = TypeParam;
    for (std::size_t n = 0; n < 150; ++n) {
        Row<T> values = draw<T>(n, n);
        this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
            Row<T> got(n + 1, T(7)), want = got;
            EXPECT_TRUE(table.divide(got.data(), values.data(), n, T(3)));
            EXPECT_TRUE(portable.divide(want.data(), values.data(), n, T(3)));
            EXPECT_EQ(difference(got, want), "") << n;
            for (std::size_t i = 0; i < n; ++i)
                EXPECT_EQ(got[i], values[i] / T(3));
            got = values;
            got.push_back(T(7));
            EXPECT_TRUE(table.divide(got.data(), got.data(), n, T(3)));
            EXPECT_EQ(difference(got, want), "") << n;
            for (std::size_t i = 0; i < n; ++i) {
                const T kept = std::exchange(values[i], std::numeric_limits<T>::infinity());
                EXPECT_FALSE(table.divide(got.data(), values.data(), n, T(3))) << i << " of " << n;
                values[i] = std::numeric_limits<T>::quiet_NaN();
                EXPECT_FALSE(table.divide(got.data(), values.data(), n, std::numeric_limits<T>::max()));
                values[i] = kept;
            }
        });
    }
}

// Rows so long that the second cache holds none but the fewest.
TYPED_TEST(KernelTables, ProjectionsOfTheLongestRowsAgree) {
    using T = TypeParam;
    constexpr std::size_t width = (std::size_t{256} << 10) / sizeof(T);
    const Row<T> weights = draw<T>(3 * width, 1);
    const Row<T> x = draw<T>(9 * width, 2);
    this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
        Row<T> got(9 * 3);
        Row<T> want(9 * 3);
        table.project_rows(got.data(), 3, x.data(), width, 9, weights.data(), width, 3, width);
        portable.project_rows(want.data(), 3, x.data(), width, 9, weights.data(), width, 3, width);
        EXPECT_EQ(difference(got, want), "");
    });
}

// So many inputs that rows are packed: every remainder of a tile, long rows too, more inputs than a block.
TYPED_TEST(KernelTables, ProductsOfManyRowsWithManyAgree) {
    using T = TypeParam;
    constexpr std::size_t panel = 4096 / sizeof(T);
    constexpr std::size_t widths[] = {
        1, 7, 16, 33, 48, 64, 128, 200, 256, panel - 1, panel, panel + 1, 2 * panel + 37};
    for (const std::size_t width : widths) {
        for (std::size_t rows = 1; rows <= 15; ++rows) {
            const std::size_t stride = width + rows % 3;
            const std::size_t inputs = rows == 11 ? 150 : 15 + (width + rows) % 9;
            Row<T> weights = draw<T>((rows - 1) * stride + width, width * 1000 + rows);
            Row<T> x = draw<T>((inputs - 1) * stride + width, width + rows);
            // Products that vanish below zero leave −0 in every lane there is.
            if (rows == 7) std::ranges::fill(weights, -std::numeric_limits<T>::min());
            if (rows == 7) std::ranges::fill(x, std::numeric_limits<T>::min());
            const T scale = T(1) / std::sqrt(static_cast<T>(width));
            const PositionRows<T> keys = {{weights.data(), stride, rows / 3},
                                          {weights.data() + rows / 3 * stride, stride, rows - rows / 3}};
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got(inputs * (rows + 2), T(7));
                Row<T> want(inputs * (rows + 2), T(7));
                table.project_rows(got.data(), rows + 2, x.data(), stride, inputs, weights.data(), stride,
                                   rows, width);
                portable.project_rows(want.data(), rows + 2, x.data(), stride, inputs, weights.data(), stride,
                                      rows, width);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << rows << " rows";
                table.score_group(got.data(), rows + 2, x.data(), stride, inputs, keys, width, scale);
                portable.score_group(want.data(), rows + 2, x.data(), stride, inputs, keys, width, scale);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << rows << " rows";
            });
        }
    }
}

// The first query of a group may see nothing at all.
TYPED_TEST(KernelTables, CausalMixesBeginWithNothing) {
    using T = TypeParam;
    constexpr std::size_t width = 20;
    constexpr std::size_t queries = 3;
    const TwoRuns<T> values(0, 0, queries, width, 5);
    const Row<T> w = draw<T>(queries * queries, 6);
    for (const Kernels<T>* const table : available_kernels<T>()) {
        Row<T> scratch(kCausalGroup * mix_scratch_elements(queries, width));
        Row<T> got(queries * width, T(7));
        table->mix_group(got.data(), width, w.data(), queries, queries, values.rows, width, scratch.data(),
                         true);
        for (std::size_t f = 0; f < width; ++f) {
            EXPECT_EQ(got[f], T(0)) << table->name;
            EXPECT_EQ(got[width + f], std::fma(w[queries], values.candidates[f], T(0))) << table->name;
        }
    }
}

}  // namespace
}  // namespace attest::detail
