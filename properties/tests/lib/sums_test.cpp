// The order of every sum: kernels against its plain restatement, bit by bit, and its height.
#include "sums.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels.hpp"
#include "order.hpp"

namespace attest::detail {
namespace {

using tests::bits;
using tests::drawn;
using tests::edge_lengths;
using tests::Sizes;

template <class T>
class Sums : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Sums, Types);

template <class T>
std::string place(const Kernels<T>& kernels, std::size_t n) {
    return std::string(kernels.name) + " n=" + std::to_string(n);
}

TYPED_TEST(Sums, a_dot_product_keeps_its_order) {
    using T = TypeParam;
    const auto a = drawn<T>(5000, 1);
    const auto b = drawn<T>(5000, 2);
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (const std::size_t n : edge_lengths()) {
            for (std::size_t shift = 0; shift < 3; ++shift) {
                EXPECT_EQ(bits(kernels->dot(a.data() + shift, b.data(), n)),
                          bits(tests::naive_dot(a.data() + shift, b.data(), n)))
                    << place(*kernels, n);
            }
        }
    }
}

TYPED_TEST(Sums, a_projection_is_one_dot_product_a_row) {
    using T = TypeParam;
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (const std::size_t width : Sizes{1, 3, 8, 15, 16, 17, 33, 64, 100}) {
            const std::size_t stride = width + 3;
            for (std::size_t rows = 0; rows <= 9; ++rows) {
                auto weights = drawn<T>(rows * stride + 1, 3 + rows);
                const auto x = drawn<T>(width, 4);
                std::vector<T> y(rows + 1, T(77));
                kernels->project(y.data(), weights.data(), stride, rows, x.data(), width);
                for (std::size_t row = 0; row < rows; ++row) {
                    EXPECT_EQ(bits(y[row]),
                              bits(tests::naive_dot(weights.data() + row * stride, x.data(), width)))
                        << place(*kernels, width) << " row " << row;
                }
                EXPECT_EQ(y[rows], T(77)) << "wrote beyond its rows";
            }
        }
    }
}

TYPED_TEST(Sums, a_sum_over_positions_keeps_its_order) {
    using T = TypeParam;
    const auto w = drawn<T>(5000, 5);
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (const std::size_t n : edge_lengths()) {
            EXPECT_EQ(bits(kernels->sum(w.data() + 1, n)), bits(tests::naive_sum(w.data() + 1, n)))
                << place(*kernels, n);
        }
    }
}

// Rows stand apart with NaN between them, in two runs parted at every place that could matter.
TYPED_TEST(Sums, scores_and_mixes_see_logical_positions_only) {
    using T = TypeParam;
    const T poison = std::numeric_limits<T>::quiet_NaN();
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (const std::size_t width : Sizes{1, 2, 4, 7, 8, 16, 17, 40, 64, 70, 100, 129}) {
            for (const std::size_t n : Sizes{0, 1, 2, 5, 63, 64, 65, 127, 128, 129, 191, 193, 257, 449}) {
                const std::size_t stride = width + 2;
                auto rows = drawn<T>(n * width, 6);
                const auto w = drawn<T>(std::max(n, width), 7);
                const T scale = T(0.37);
                std::vector<T> want_mix(width);
                for (std::size_t f = 0; f < width; ++f) {
                    want_mix[f] =
                        tests::naive_mix(w.data(), n, [&](std::size_t j) { return rows[j * width + f]; });
                }
                for (const std::size_t cut :
                     Sizes{0, 1, 63, 64, 65, n / 2, n - std::min<std::size_t>(n, 1), n}) {
                    if (cut > n) {
                        continue;
                    }
                    std::vector<T> retained(cut * stride, poison);
                    std::vector<T> candidates((n - cut) * (stride + 1), poison);
                    for (std::size_t j = 0; j < n; ++j) {
                        T* const row = j < cut ? retained.data() + j * stride
                                               : candidates.data() + (j - cut) * (stride + 1);
                        std::copy_n(rows.data() + j * width, width, row);
                    }
                    const PositionRows<T> positions = {{retained.data(), stride, cut},
                                                       {candidates.data(), stride + 1, n - cut}};
                    std::vector<T> scratch(mix_scratch_elements(n, width) + 1, poison);
                    std::vector<T> out(width + 1, T(77));
                    kernels->mix(out.data(), w.data(), positions, width, scratch.data());
                    for (std::size_t f = 0; f < width; ++f) {
                        ASSERT_EQ(bits(out[f]), bits(want_mix[f]))
                            << place(*kernels, n) << " width " << width << " cut " << cut << " feature " << f;
                    }
                    EXPECT_EQ(out[width], T(77)) << "wrote beyond its features";
                    EXPECT_EQ(bits(scratch.back()), bits(poison)) << "wrote beyond its scratch";

                    std::vector<T> scores(n + 1, T(77));
                    kernels->scores(scores.data(), w.data(), positions, width, scale);
                    for (std::size_t j = 0; j < n; ++j) {
                        const T want = tests::naive_dot(w.data(), rows.data() + j * width, width) * scale;
                        ASSERT_EQ(bits(scores[j]), bits(want)) << place(*kernels, n) << " cut " << cut;
                    }
                    EXPECT_EQ(scores[n], T(77)) << "wrote beyond its positions";
                }
            }
        }
    }
}

TYPED_TEST(Sums, the_maximum_is_exact) {
    using T = TypeParam;
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (std::size_t n = 1; n <= 70; ++n) {
            auto s = drawn<T>(n, n);
            for (std::size_t at = 0; at < n; ++at) {
                auto raised = s;
                raised[at] = T(5000);
                EXPECT_EQ(kernels->maximum(raised.data(), n), T(5000));
                raised.assign(n, -std::numeric_limits<T>::infinity());
                raised[at] = T(-3);
                EXPECT_EQ(kernels->maximum(raised.data(), n), T(-3));
                raised.assign(n, -T(0));
                EXPECT_EQ(bits(kernels->maximum(raised.data(), n)), bits(T(0)));
                raised[at] = T(0);
                EXPECT_EQ(bits(kernels->maximum(raised.data(), n)), bits(T(0)));
            }
        }
    }
}

// A term's height is counted in the same naive orders: an addition of two sums that both hold something is
// one more than the higher of them; where one is still empty nothing rounds.
constexpr std::size_t kEmpty = std::numeric_limits<std::size_t>::max();

std::size_t joined(std::size_t left, std::size_t right) {
    if (left == kEmpty || right == kEmpty) {
        return left == kEmpty ? right : left;
    }
    return std::max(left, right) + 1;
}

std::size_t counted_dot_height(std::size_t n, std::size_t lanes) {
    std::vector<std::size_t> acc(lanes, kEmpty);
    for (std::size_t i = 0; i < n; ++i) {
        acc[i % lanes] = joined(acc[i % lanes], 0);
    }
    for (std::size_t s = lanes / 2; s >= 1; s /= 2) {
        for (std::size_t l = 0; l < s; ++l) {
            acc[l] = joined(acc[l], acc[l + s]);
        }
    }
    return n == 0 ? 0 : acc[0];
}

std::size_t counted_sum_height(std::size_t n) {
    std::vector<std::size_t> blocks;
    for (std::size_t j = 0; j < n; ++j) {
        if (j % 64 == 0) {
            blocks.push_back(kEmpty);
        }
        blocks.back() = joined(blocks.back(), 0);
    }
    while (blocks.size() > 1) {
        std::vector<std::size_t> next;
        for (std::size_t k = 0; k + 1 < blocks.size(); k += 2) {
            next.push_back(joined(blocks[k], blocks[k + 1]));
        }
        if (blocks.size() % 2 == 1) {
            next.push_back(blocks.back());
        }
        blocks = next;
    }
    return blocks.empty() ? 0 : blocks[0];
}

TEST(SumHeights, the_heights_are_what_the_orders_cost) {
    for (std::size_t n = 0; n <= 3000; ++n) {
        ASSERT_EQ(dot_height<float>(n), counted_dot_height(n, 16)) << n;
        ASSERT_EQ(dot_height<double>(n), counted_dot_height(n, 8)) << n;
        ASSERT_EQ(sum_height(n), counted_sum_height(n)) << n;
    }
    EXPECT_EQ(dot_height<float>(4096), 259U);
    EXPECT_EQ(sum_height(16384), 71U);
}

TEST(SumHeights, scratch_rows_are_as_many_as_partial_sums_held) {
    std::size_t most = 0;
    for (std::size_t blocks = 1; blocks <= 4096; ++blocks) {
        most = std::max(most, static_cast<std::size_t>(std::popcount(blocks - 1)) + 1);
        ASSERT_EQ(mix_scratch_rows(blocks * kBlock), most) << blocks;
    }
    EXPECT_EQ(mix_scratch_rows(0), 1U);
    EXPECT_LE(mix_scratch_rows(std::numeric_limits<std::size_t>::max()), 59U);
}

}  // namespace
}  // namespace attest::detail
