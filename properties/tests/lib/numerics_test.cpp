// The exponential, the generator, binary fractions and rotary tables, where no high precision is needed:
// special values, exact facts, monotonicity. Errors in ulps are measured in properties/tests/numerics_*.cpp.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <attest/random.hpp>

#include "double_double.hpp"
#include "exponential.hpp"
#include "fraction.hpp"
#include "order.hpp"
#include "rotation.hpp"
#include "turns.hpp"

namespace attest::detail {
namespace {

using tests::bits;
using tests::Sizes;

template <class T>
class Exponential : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Exponential, Types);

TYPED_TEST(Exponential, special_values) {
    using T = TypeParam;
    const T infinity = std::numeric_limits<T>::infinity();
    EXPECT_EQ(bits(exponential(T(0))), bits(T(1)));
    EXPECT_EQ(bits(exponential(-T(0))), bits(T(1)));
    EXPECT_EQ(bits(exponential(-infinity)), bits(T(0)));
    EXPECT_EQ(exponential(infinity), infinity);
    EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<T>::quiet_NaN())));
    EXPECT_TRUE(std::isnan(exponential(-std::numeric_limits<T>::quiet_NaN())));
    EXPECT_EQ(bits(exponential(-std::numeric_limits<T>::max())), bits(T(0)));
    EXPECT_EQ(exponential(std::numeric_limits<T>::max()), infinity);
    EXPECT_EQ(exponential(std::numeric_limits<T>::denorm_min()), T(1));
    EXPECT_EQ(exponential(-std::numeric_limits<T>::denorm_min()), T(1));
    EXPECT_EQ(exponential(T(1)), static_cast<T>(0x1.5bf0a8b145769p+1L));
    EXPECT_EQ(exponential(T(-1)), static_cast<T>(0x1.78b56362cef38p-2L));
}

TEST(ExponentialEnds, the_least_and_the_greatest_results) {
    // ln(2^-150) = -103.97207.., ln(2^-1075) = -745.13321..: half of the least subnormal.
    EXPECT_EQ(exponential(-0x1.9fe368p+6F), 0x1p-149F);
    EXPECT_EQ(exponential(-0x1.9fe36ap+6F), 0.0F);
    EXPECT_EQ(exponential(-0x1.74910d52d3051p+9), 0x1p-1074);
    EXPECT_EQ(exponential(-0x1.74910d52d3053p+9), 0.0);
    // ln(2^128) = 88.72283.., ln(2^1024) = 709.78271..
    EXPECT_TRUE(std::isfinite(exponential(0x1.62e42ep+6F)));
    EXPECT_TRUE(std::isinf(exponential(0x1.62e430p+6F)));
    EXPECT_TRUE(std::isfinite(exponential(0x1.62e42fefa39efp+9)));
    EXPECT_TRUE(std::isinf(exponential(0x1.62e42fefa39f0p+9)));
}

TYPED_TEST(Exponential, no_step_downwards) {
    using T = TypeParam;
    // Neighbours, at random places and around every change of the power of two.
    SplitMix64 random = SplitMix64::from_seed(3);
    const double lowest = sizeof(T) == 4 ? 104.0 : 746.0;
    const auto check = [](T x) {
        for (int k = 0; k < 16; ++k) {
            const T next = std::nextafter(x, T(1));
            ASSERT_LE(exponential(x), exponential(next)) << static_cast<double>(x);
            x = next;
        }
    };
    for (int k = 0; k < 200000; ++k) {
        check(static_cast<T>(-lowest * random.next_unit()));
    }
    for (double half = 0.5; half < lowest / 0.6931471805599453; half += 1.0) {
        T x = static_cast<T>(-half * 0.6931471805599453);
        for (int k = 0; k < 40; ++k) {
            x = std::nextafter(x, T(-1000));
        }
        for (int k = 0; k < 6; ++k) {
            check(x);
            for (int step = 0; step < 15; ++step) {
                x = std::nextafter(x, T(1));
            }
        }
    }
}

TEST(Random, published_values_and_exact_scales) {
    SplitMix64 random = SplitMix64::from_seed(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317U);
    EXPECT_EQ(random.next(), 3203168211198807973U);
    EXPECT_EQ(random.next(), 9817491932198370423U);
    EXPECT_EQ(random.next(), 4593380528125082431U);
    EXPECT_EQ(random.next(), 16408922859458223821U);

    SplitMix64 again = SplitMix64::from_seed(9);
    SplitMix64 raw = SplitMix64::from_seed(9);
    double sum = 0.0;
    for (int k = 0; k < 10000; ++k) {
        const double unit = again.next_unit();
        EXPECT_EQ(unit, std::ldexp(static_cast<double>(raw.next() / 2048), -53));
        ASSERT_GE(unit, 0.0);
        ASSERT_LT(unit, 1.0);
        sum += unit;
    }
    EXPECT_NEAR(sum / 10000, 0.5, 0.01);
    EXPECT_EQ(xavier_bound(4, 2), 1.0);
    EXPECT_EQ(xavier_bound(1, 5), 1.0);
    EXPECT_EQ(xavier_bound(12, 12), 0.5);
    for (int k = 0; k < 1000; ++k) {
        const double value = next_symmetric(again, 0.25);
        ASSERT_GE(value, -0.25);
        ASSERT_LT(value, 0.25);
    }
}

// Fractions of two limbs against 64-bit integers, and their products against 128 bits by halves.
TEST(Fractions, agree_with_integers) {
    SplitMix64 random = SplitMix64::from_seed(5);
    const auto to_integer = [](const Fraction<2>& x) { return std::uint64_t{x.limb[0]} << 32 | x.limb[1]; };
    const auto from_integer = [](std::uint64_t x) {
        return Fraction<2>{{static_cast<std::uint32_t>(x >> 32), static_cast<std::uint32_t>(x)}};
    };
    for (int k = 0; k < 20000; ++k) {
        const std::uint64_t a = random.next() >> (random.next() % 64);
        const std::uint64_t b = random.next() >> (random.next() % 64);
        const auto small = static_cast<std::uint32_t>(random.next() >> (32 + random.next() % 31));
        EXPECT_EQ(to_integer(add(from_integer(a), from_integer(b))), a + b);
        EXPECT_EQ(to_integer(negate(from_integer(a))), 0 - a);
        std::uint32_t whole = 0;
        EXPECT_EQ(to_integer(multiply(from_integer(a), small, whole)), a * small);
        EXPECT_EQ(whole, ((a >> 32) * small + ((a & 0xffffffffU) * small >> 32)) >> 32);
        const std::uint64_t low = (a & 0xffffffffU) * (b & 0xffffffffU);
        const std::uint64_t middle1 = (a >> 32) * (b & 0xffffffffU) + (low >> 32);
        const std::uint64_t middle2 = (a & 0xffffffffU) * (b >> 32) + (middle1 & 0xffffffffU);
        EXPECT_EQ(to_integer(multiply(from_integer(a), from_integer(b))),
                  (a >> 32) * (b >> 32) + (middle1 >> 32) + (middle2 >> 32));
        if (small != 0) {
            EXPECT_EQ(to_integer(divide(from_integer(a), small)), a / small);
        }
        const std::size_t shift = random.next() % 63;
        EXPECT_EQ(to_integer(shift_left(from_integer(a), shift)), a << shift);
        EXPECT_EQ(to_integer(shift_right(from_integer(a), shift)), a >> shift);
    }
    EXPECT_EQ(to_integer(shift_left(from_integer(7), 64)), 0U);
    EXPECT_EQ(to_integer(shift_right(from_integer(7), 90)), 0U);
    // (5 + 1/2)/7.
    EXPECT_EQ(to_integer(divide(from_integer(std::uint64_t{1} << 63), 7, 5)), 14493870343628933412U);
}

TEST(DoubleDoubles, round_to_float_once) {
    const double middle = 1.0 + 0x1p-24;  // between two floats; the even one is 1
    EXPECT_EQ(round_to<float>({middle, 0.0}), 1.0F);
    EXPECT_EQ(round_to<float>({middle, 0x1p-60}), 1.0F + 0x1p-23F);
    EXPECT_EQ(round_to<float>({middle, -0x1p-60}), 1.0F);
    EXPECT_EQ(round_to<float>({-middle, -0x1p-60}), -1.0F - 0x1p-23F);
    EXPECT_EQ(round_to<float>({middle + 0x1p-23, -0x1p-60}), 1.0F + 0x1p-23F);
    EXPECT_EQ(round_to<float>({middle + 0x1p-23, 0.0}), 1.0F + 0x1p-22F);
    EXPECT_EQ(round_to<float>({0x3p-150, -0x1p-210}), 0x1p-149F);
    EXPECT_EQ(round_to<float>({0.0, 0.0}), 0.0F);
}

TEST(DoubleDoubles, round_to_subnormals_once) {
    // Numbers of least subnormals, scaled: ties that the rest decides, and one at the least normal number.
    const auto rounded = [](double least, double rest) {
        return round_scaled<double>({least * 0x1p-562, rest}) * 0x1p537 * 0x1p537;
    };
    for (const double sign : {1.0, -1.0}) {
        EXPECT_EQ(rounded(sign * 4.5, 0.0), sign * 4.0);
        EXPECT_EQ(rounded(sign * 4.5, sign * 0x1p-700), sign * 5.0);
        EXPECT_EQ(rounded(sign * 4.5, -sign * 0x1p-700), sign * 4.0);
        EXPECT_EQ(rounded(sign * 5.5, 0.0), sign * 6.0);
        EXPECT_EQ(rounded(sign * 5.5, sign * 0x1p-700), sign * 6.0);
        EXPECT_EQ(rounded(sign * 5.5, -sign * 0x1p-700), sign * 5.0);
        EXPECT_EQ(rounded(sign * 0.5, sign * 0x1p-700), sign * 1.0);
        EXPECT_EQ(rounded(sign * 5.25, sign * 0x1p-700), sign * 5.0);
        EXPECT_EQ(rounded(sign * (0x1p52 - 0.5), -sign * 0x1p-700), sign * (0x1p52 - 1.0));
        EXPECT_EQ(rounded(sign * (0x1p52 - 0.5), sign * 0x1p-700), sign * 0x1p52);
        EXPECT_EQ(rounded(sign * 0x1.8p53, sign * 0x1p-563), sign * 0x1.8p53);
    }
    EXPECT_EQ(round_scaled<float>({0x1p-520, 0.0}), 0.0F);
}

TEST(DoubleDoubles, sums_and_products_of_exact_cases) {
    const DoubleDouble third = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
    const DoubleDouble one = add(add(third, third), third);
    EXPECT_EQ(one.high, 1.0);
    EXPECT_LT(std::fabs(one.low), 0x1p-104);
    const DoubleDouble x = {1.0, 0x1p-80};
    const DoubleDouble product = multiply(x, DoubleDouble{1.0, -0x1p-80});
    EXPECT_EQ(product.high, 1.0);
    EXPECT_EQ(product.low, 0.0);
    EXPECT_EQ(add(x, negate(x)).high, 0.0);
    EXPECT_EQ(add(x, DoubleDouble{-1.0, 0.0}).high, 0x1p-80);
}

TEST(Turns, exact_bases) {
    // 1 turns nothing but by 1 radian; powers of two shift 1/(2π).
    for (std::uint32_t i = 0; i < 4; ++i) {
        const auto turns = turns_of_pair(binary_logarithm<kUsualLimbs>(1.0), i, 4);
        EXPECT_EQ(turns.limb[0], kInverseTwoPi.limb[0]);
        EXPECT_EQ(turns.limb[9], kInverseTwoPi.limb[9]);
    }
    const auto halved = turns_of_pair(binary_logarithm<kUsualLimbs>(0x1p32), 1, 2);
    EXPECT_EQ(halved.limb[0], kInverseTwoPi.limb[0] >> 16);
    const auto doubled = turns_of_pair(binary_logarithm<kMostLimbs>(0x1p-1074), 1, 2);
    EXPECT_EQ(doubled.limb[0], kInverseTwoPi.limb[16] << 25 | kInverseTwoPi.limb[17] >> 7);
    EXPECT_EQ(binary_exponent(0x1p-1074), -1074);
    EXPECT_EQ(binary_exponent(0x1.8p-1060), -1060);
    EXPECT_EQ(binary_exponent(1e308), 1023);
}

TYPED_TEST(Exponential, rows_of_a_rotary_table_depend_on_their_position_alone) {
    using T = TypeParam;
    const Kernels<T>& kernels = *available_kernels<T>().back();
    const std::size_t width = 20;
    const std::size_t half = width / 2;
    for (const double base : {10000.0, 0.3, 1e-30}) {
        std::vector<T> cosines(half * 500);
        std::vector<T> sines(half * 500);
        fill_rotations(cosines.data(), sines.data(), 0, 500, width, base, kernels);
        for (std::size_t i = 0; i < half; ++i) {
            EXPECT_EQ(bits(cosines[i]), bits(T(1)));
            EXPECT_EQ(bits(sines[i]), bits(T(0)));
        }
        for (const std::size_t first : Sizes{0, 64, 320}) {
            for (const std::size_t rows : Sizes{1, 63, 65, 150}) {
                std::vector<T> part_cosines(half * rows);
                std::vector<T> part_sines(half * rows);
                fill_rotations(part_cosines.data(), part_sines.data(), first, rows, width, base, kernels);
                for (std::size_t k = 0; k < half * rows; ++k) {
                    ASSERT_EQ(bits(part_cosines[k]), bits(cosines[first * half + k]));
                    ASSERT_EQ(bits(part_sines[k]), bits(sines[first * half + k]));
                }
            }
        }
    }
    // No pairs: nothing is written.
    fill_rotations<T>(nullptr, nullptr, 0, 100, 0, 10000.0, kernels);
}

}  // namespace
}  // namespace attest::detail
