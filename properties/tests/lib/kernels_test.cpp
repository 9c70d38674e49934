// The choice of kernels, and that all of them give the same bits.
#include "kernels.hpp"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exponential.hpp"
#include "order.hpp"
#include "rotation.hpp"

namespace attest::detail {
namespace {

using tests::bits;
using tests::drawn;
using tests::Sizes;

template <class T>
class KernelTables : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelTables, Types);

TYPED_TEST(KernelTables, a_request_chooses_a_table_or_none) {
    using T = TypeParam;
    const auto available = available_kernels<T>();
    ASSERT_FALSE(available.empty());
    EXPECT_EQ(available.front(), &portable_kernels<T>());
    EXPECT_EQ(choose_kernels<T>(""), available.back());
    EXPECT_EQ(choose_kernels<T>("off"), &portable_kernels<T>());
    for (const Kernels<T>* kernels : available) {
        EXPECT_EQ(choose_kernels<T>(kernels->name), kernels);
    }
    EXPECT_EQ(choose_kernels<T>("OFF"), nullptr);
    EXPECT_EQ(choose_kernels<T>("avx3"), nullptr);
}

TYPED_TEST(KernelTables, the_environment_is_asked_each_time) {
    using T = TypeParam;
    const char* const before = std::getenv("ATTEST_SIMD");
    const std::string saved = before == nullptr ? "" : before;
    ASSERT_EQ(setenv("ATTEST_SIMD", "off", 1), 0);
    EXPECT_EQ(choose_kernels_from_environment<T>(), &portable_kernels<T>());
    ASSERT_EQ(setenv("ATTEST_SIMD", "fast", 1), 0);
    EXPECT_EQ(choose_kernels_from_environment<T>(), nullptr);
    ASSERT_EQ(unsetenv("ATTEST_SIMD"), 0);
    EXPECT_EQ(choose_kernels_from_environment<T>(), available_kernels<T>().back());
    if (before != nullptr) {
        ASSERT_EQ(setenv("ATTEST_SIMD", saved.c_str(), 1), 0);
    }
}

// Sums are compared with their plain restatement for every table in sums_test; here is the rest.
TYPED_TEST(KernelTables, exponentials_are_the_scalar_exponential) {
    using T = TypeParam;
    SplitMix64 random = SplitMix64::from_seed(11);
    const double lowest = sizeof(T) == 4 ? 110.0 : 760.0;
    std::vector<T> s(3000);
    for (T& x : s) {
        x = static_cast<T>(random.next_unit() * (random.next() % 4 == 0 ? lowest : 20.0));
    }
    s[5] = std::numeric_limits<T>::infinity();
    const T m = T(0.625);
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (std::size_t n : tests::edge_lengths()) {
            n = n < 2900 ? n : 2900;
            std::vector<T> negated(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(n) + 1);
            for (T& x : negated) {
                x = -x;
            }
            std::vector<T> w(n + 1, T(77));
            kernels->exponentials(w.data(), negated.data(), n, m);
            for (std::size_t j = 0; j < n; ++j) {
                ASSERT_EQ(bits(w[j]), bits(exponential(negated[j] - m)))
                    << kernels->name << " " << j << " of " << n;
            }
            EXPECT_EQ(w[n], T(77)) << "wrote beyond its weights";
            w.assign(negated.begin(), negated.end());
            kernels->exponentials(w.data(), w.data(), n, m);
            for (std::size_t j = 0; j < n; ++j) {
                ASSERT_EQ(bits(w[j]), bits(exponential(negated[j] - m))) << "in place, " << kernels->name;
            }
            EXPECT_EQ(bits(w[n]), bits(negated[n]));
        }
    }
}

// Of a number and a NaN, some machines' maximum is the number.
TYPED_TEST(KernelTables, the_exponential_of_a_nan_is_a_nan) {
    using T = TypeParam;
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{40}, 2 * kBlock + 3}) {
            for (std::size_t at = 0; at < n; ++at) {
                std::vector<T> s(n, T(-1));
                s[at] = at % 2 == 0 ? nan : -nan;
                std::vector<T> w(n);
                kernels->exponentials(w.data(), s.data(), n, T(0.5));
                // The same while values go by.
                const std::vector<T> values(n, T(1));
                const PositionRows<T> rows = {{values.data(), 1, n}, {}};
                std::vector<T> scratch(mix_scratch_elements(n, 1));
                T out = 0, total = 0;
                const T peak = T(0.5);
                kernels->mix_soft(&out, 1, &total, s.data(), n, 1, &peak, rows, 1, scratch.data());
                for (std::size_t j = 0; j < n; ++j) {
                    ASSERT_EQ(std::isnan(w[j]), j == at) << kernels->name << " " << j << " of " << n;
                    ASSERT_EQ(std::isnan(s[j]), j == at) << kernels->name << " " << j << " of " << n;
                }
                ASSERT_TRUE(std::isnan(out) && std::isnan(total))
                    << kernels->name << " " << at << " of " << n;
            }
        }
    }
}

TYPED_TEST(KernelTables, a_rotation_turns_its_pairs_and_no_other_feature) {
    using T = TypeParam;
    for (const Kernels<T>* kernels : available_kernels<T>()) {
        for (std::size_t width = 0; width <= 70; width += 2) {
            const std::size_t half = width / 2;
            const auto row = drawn<T>(width + 5, width);
            const auto cosines = drawn<T>(half + 1, 21);
            const auto sines = drawn<T>(half + 1, 22);
            for (const RotaryPairs pairs : {RotaryPairs::interleaved, RotaryPairs::half}) {
                auto want = row;
                for (std::size_t i = 0; i < half; ++i) {
                    const std::size_t first = pairs == RotaryPairs::half ? i : 2 * i;
                    const std::size_t second = pairs == RotaryPairs::half ? i + half : 2 * i + 1;
                    const T a = row[first];
                    const T b = row[second];
                    const T cross = b * sines[i];
                    want[first] = std::fma(a, cosines[i], -cross);
                    want[second] = std::fma(a, sines[i], b * cosines[i]);
                }
                auto got = row;
                kernels->rotate(got.data(), cosines.data(), sines.data(), width, pairs);
                for (std::size_t f = 0; f < row.size(); ++f) {
                    ASSERT_EQ(bits(got[f]), bits(want[f]))
                        << kernels->name << " width " << width << " feature " << f;
                }
            }
        }
    }
}

TYPED_TEST(KernelTables, rotary_tables_agree) {
    using T = TypeParam;
    for (const double base : {10000.0, 1.0, 0.01, 3e8, 1e40}) {
        for (const std::size_t width : Sizes{2, 6, 16, 18, 50}) {
            const std::size_t entries = width / 2 * 200;
            std::vector<T> want_cosines(entries);
            std::vector<T> want_sines(entries);
            fill_rotations(want_cosines.data(), want_sines.data(), 0, 200, width, base,
                           portable_kernels<T>());
            for (const Kernels<T>* kernels : available_kernels<T>()) {
                std::vector<T> cosines(entries + 1, T(77));
                std::vector<T> sines(entries + 1, T(77));
                fill_rotations(cosines.data(), sines.data(), 0, 200, width, base, *kernels);
                for (std::size_t k = 0; k < entries; ++k) {
                    ASSERT_EQ(bits(cosines[k]), bits(want_cosines[k])) << kernels->name << " " << k;
                    ASSERT_EQ(bits(sines[k]), bits(want_sines[k])) << kernels->name << " " << k;
                }
                EXPECT_EQ(cosines[entries], T(77));
                EXPECT_EQ(sines[entries], T(77));
            }
        }
    }
}

}  // namespace
}  // namespace attest::detail
