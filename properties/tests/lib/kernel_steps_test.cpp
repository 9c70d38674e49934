// What one decode step asks of every table, against the portable one, bit for bit: projections by long rows,
// scores up to the newest row, exponentials where they end.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../src/kernels.hpp"
#include "../src/narrow.hpp"
#include "each_table.hpp"
#include "kernel_rows.hpp"

namespace attest::detail {
namespace {

template <class T>
class KernelSteps : public EachTable<T> {};
TYPED_TEST_SUITE(KernelSteps, Types);

// Long rows are taken at several places at once, as many as fill whole tiles; what is left comes after.
TYPED_TEST(KernelSteps, ProjectionsByLongRowsAgree) {
    using T = TypeParam;
    constexpr std::size_t long_widths[] = {257, 264, 512, 513, 530, 1000, 1024};
    for (const std::size_t width : long_widths) {
        for (const std::size_t rows : kRows) {
            const std::size_t stride = width + rows % 3;
            const Row<T> weights = draw<T>(rows == 0 ? 0 : (rows - 1) * stride + width, width * 1000 + rows);
            const Row<T> x = draw<T>(width, width + rows);
            this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                Row<T> got(rows + 2, T(7));
                Row<T> want(rows + 2, T(7));
                table.project(got.data(), weights.data(), stride, rows, x.data(), width);
                portable.project(want.data(), weights.data(), stride, rows, x.data(), width);
                EXPECT_EQ(difference(got, want), "") << width << " wide, " << rows << " rows";
            });
        }
    }
}

// A decode step's scores: stored rows, whose last tile may end with the one new row.
TYPED_TEST(KernelSteps, ScoresUpToTheNewestAgree) {
    using T = TypeParam;
    constexpr std::size_t head_widths[] = {64, 65, 128};
    for (const std::size_t width : head_widths) {
        const Row<T> q = draw<T>(width, width);
        const Row<T> newest = draw<T>(width, width + 1);
        for (std::size_t count = 0; count < 70; ++count) {
            const std::size_t stride = width + count % 2;
            const Row<T> rows = draw<T>(count * stride, count);
            const auto compare = [&](const StoredRun<T>& stored, const Row<T>& same) {
                const PositionRows<T> keys = {stored, {newest.data(), width, 1}};
                const PositionRows<T> wide = {{same.data(), stride, count}, keys.candidates};
                this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
                    Row<T> got(count + 2, T(7));
                    Row<T> want(count + 2, T(7));
                    table.score_group(got.data(), 0, q.data(), 0, 1, keys, width, T(0.375));
                    portable.score_group(want.data(), 0, q.data(), 0, 1, wide, width, T(0.375));
                    EXPECT_EQ(difference(got, want), "") << width << " wide, " << count << " rows";
                });
            };
            compare({rows.data(), stride, count}, rows);
            if constexpr (sizeof(T) == sizeof(float)) {
                for (const KvStorage storage : {KvStorage::bf16, KvStorage::f16}) {
                    std::vector<std::uint16_t> bits;
                    Row<T> widened;
                    for (const T value : rows) {
                        bits.push_back(narrow(value, storage));
                        widened.push_back(widen(bits.back(), storage));
                    }
                    compare({bits.data(), stride, count, storage}, widened);
                }
            }
        }
    }
}

// An instruction that scales by a power of two rounds a subnormal result once, as the product by a second
// power does: for floats, at each of them.
TYPED_TEST(KernelSteps, ExponentialsAgreeWhereTheirResultsEnd) {
    using T = TypeParam;
    constexpr bool is_float = sizeof(T) == 4;
    Row<T> x;
    if constexpr (is_float) {
        const auto last = std::bit_cast<std::uint32_t>(-105.5F);
        for (auto pattern = std::bit_cast<std::uint32_t>(-87.0F); pattern <= last; ++pattern)
            x.push_back(std::bit_cast<float>(pattern));
    }
    SplitMix64 random = SplitMix64::from_seed(5);
    for (int k = 0; k < (is_float ? 10000 : 500000); ++k)
        x.push_back(
            static_cast<T>(-(is_float ? 87.0 : 708.0) - (is_float ? 18.0 : 38.0) * random.next_unit()));
    for (int k = 0; k < 10000; ++k)
        x.push_back(static_cast<T>((is_float ? 88.0 : 709.0) + random.next_unit()));
    this->each([&](const Kernels<T>& table, const Kernels<T>& portable) {
        Row<T> got(x.size());
        Row<T> want(x.size());
        table.exponentials(got.data(), x.data(), x.size(), T(0));
        portable.exponentials(want.data(), x.data(), x.size(), T(0));
        EXPECT_GT(std::ranges::count_if(want, [](T w) { return std::fpclassify(w) == FP_SUBNORMAL; }),
                  200000);
        EXPECT_EQ(difference(got, want), "");
    });
}

}  // namespace
}  // namespace attest::detail
