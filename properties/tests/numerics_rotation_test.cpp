// Rotary tables and their angles against MPFR: samples of everything. Every position of some tables is looked
// at in numerics_every_position_test.cpp.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <gtest/gtest.h>

#include <attest/random.hpp>

#include "double_double.hpp"
#include "numerics_precise.hpp"
#include "numerics_rotation_table.hpp"
#include "turns.hpp"

namespace attest::properties::numerics {
namespace {

template <std::size_t N>
void set_fraction(mpfr_ptr result, const detail::Fraction<N>& x) {
    mpfr_set_zero(result, 1);
    for (std::size_t k = N; k-- > 0;) {
        mpfr_add_ui(result, result, x.limb[k], MPFR_RNDN);
        mpfr_div_2ui(result, result, 32, MPFR_RNDN);
    }
}

TEST(RotaryAngles, the_constants_are_right_to_the_last_limb) {
    Precise exact(1700);
    Precise stored(1700);
    const auto units_below = [&](const detail::Fraction<detail::kMostLimbs>& constant) {
        set_fraction(stored, constant);
        mpfr_sub(exact, exact, stored, MPFR_RNDN);
        mpfr_mul_2ui(exact, exact, 32 * detail::kMostLimbs, MPFR_RNDN);
        return mpfr_get_d(exact, MPFR_RNDN);
    };
    const auto expect_floor = [](double units) {
        EXPECT_GE(units, 0.0);
        EXPECT_LT(units, 1.0);
    };
    mpfr_const_log2(exact, MPFR_RNDN);
    expect_floor(units_below(detail::kLn2));
    mpfr_const_log2(exact, MPFR_RNDN);
    mpfr_ui_div(exact, 1, exact, MPFR_RNDN);
    mpfr_sub_ui(exact, exact, 1, MPFR_RNDN);
    expect_floor(units_below(detail::kInverseLn2MinusOne));
    mpfr_const_pi(exact, MPFR_RNDN);
    mpfr_mul_2ui(exact, exact, 1, MPFR_RNDN);
    mpfr_ui_div(exact, 1, exact, MPFR_RNDN);
    expect_floor(units_below(detail::kInverseTwoPi));
}

// The bound of turns.hpp: 2^(max(n, 0) + 12) + 1 units, modulo 1.
template <std::size_t N>
void check_angles(double lowest_exponent, double highest_exponent, std::size_t samples) {
    SplitMix64 random = SplitMix64::from_seed(29);
    Precise angle(4000);
    Precise stored(4000);
    Precise two_pi(4000);
    mpfr_const_pi(two_pi, MPFR_RNDN);
    mpfr_mul_2ui(two_pi, two_pi, 1, MPFR_RNDN);
    Worst worst;
    for (std::size_t k = 0; k < samples; ++k) {
        const double exponent = lowest_exponent + (highest_exponent - lowest_exponent) * random.next_unit();
        const double whole = std::floor(exponent);
        double base = std::ldexp(1.0 + random.next_unit(), static_cast<int>(whole));
        if (k % 8 == 0) {
            base = std::ldexp(1.0, static_cast<int>(whole));
        }
        const auto half = static_cast<std::uint32_t>(1 + random.next() % (k % 2 == 0 ? 64 : 0xffffffffU));
        const auto pair = static_cast<std::uint32_t>(k % 5 == 0 ? half - 1 : random.next() % half);
        const auto turns = detail::turns_of_pair(detail::binary_logarithm<N>(base), pair, half);
        set_pair_angle(angle, base, pair, std::size_t{2} * half);
        const double n = std::max(0.0, static_cast<double>(mpfr_get_exp(angle)) - 1);
        mpfr_div(angle, angle, two_pi, MPFR_RNDN);
        set_fraction(stored, turns);
        mpfr_sub(angle, angle, stored, MPFR_RNDN);
        mpfr_rint(stored, angle, MPFR_RNDN);
        mpfr_sub(angle, angle, stored, MPFR_RNDN);
        mpfr_mul_2ui(angle, angle, 32 * N, MPFR_RNDN);
        mpfr_mul_2si(angle, angle, -static_cast<long>(n), MPFR_RNDN);
        const double units = std::fabs(mpfr_get_d(angle, MPFR_RNDN));
        EXPECT_LE(units, 4096.0 + std::ldexp(1.0, -static_cast<int>(n)))
            << base << " " << pair << "/" << half;
        worst.meet(units, base);
    }
    std::printf("angles of %zu limbs: worst %.1f units at base %g\n", N, worst.error, worst.place);
    EXPECT_GT(worst.error, 1.0) << "errors this small are not this arithmetic's";
}

TEST(RotaryAngles, are_within_their_bound_for_usual_bases) {
    check_angles<detail::kUsualLimbs>(-64.0, 63.9, 4000);
}

TEST(RotaryAngles, are_within_their_bound_for_every_base) {
    check_angles<detail::kMostLimbs>(-1074.0, 1023.9, 400);
}

// The bounds stated in double_double.hpp, cancellation included.
TEST(DoubleDoubles, sums_and_products_are_within_their_bounds) {
    SplitMix64 random = SplitMix64::from_seed(31);
    const auto drawn = [&] {
        const double high = std::ldexp(next_symmetric(random, 1.0), static_cast<int>(random.next() % 8));
        return detail::fast_two_sum(high, high * 0x1p-53 * next_symmetric(random, 1.0));
    };
    Precise exact(400);
    Precise other(400);
    const auto set = [](mpfr_ptr to, detail::DoubleDouble x) {
        mpfr_set_d(to, x.high, MPFR_RNDN);
        mpfr_add_d(to, to, x.low, MPFR_RNDN);
    };
    // |got − exact| / |exact| in units of u²; `exact` is destroyed.
    const auto relative = [&](detail::DoubleDouble got) {
        set(other, got);
        mpfr_sub(other, other, exact, MPFR_RNDN);
        mpfr_div(other, other, exact, MPFR_RNDN);
        return std::fabs(mpfr_get_d(other, MPFR_RNDN)) * 0x1p106;
    };
    Worst sums;
    Worst products;
    for (int k = 0; k < 300000; ++k) {
        const detail::DoubleDouble x = drawn();
        detail::DoubleDouble y = drawn();
        if (k % 4 == 0) {  // nearly −x
            y = detail::fast_two_sum(-x.high,
                                     std::ldexp(next_symmetric(random, 1.0), -static_cast<int>(k / 4 % 110)));
        }
        set(exact, x);
        set(other, y);
        mpfr_add(exact, exact, other, MPFR_RNDN);
        if (mpfr_zero_p(exact) == 0) {
            sums.meet(relative(detail::add(x, y)), x.high);
        }
        set(exact, x);
        set(other, y);
        mpfr_mul(exact, exact, other, MPFR_RNDN);
        products.meet(relative(detail::multiply(x, y)), x.high);
    }
    std::printf("double-double: sums within %.3f u^2, products within %.3f u^2\n", sums.error,
                products.error);
    EXPECT_LE(sums.error, 3.001);
    EXPECT_LE(products.error, 5.0);
    EXPECT_GE(sums.error, 1.0);
    EXPECT_GE(products.error, 1.0);
}

template <class T>
class RotaryTables : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RotaryTables, Types);

TYPED_TEST(RotaryTables, usual_bases_are_right_to_half_an_ulp) {
    using T = TypeParam;
    double worst = 0.0;
    for (const double base : {10000.0, 500000.0, 1e6, 2.5, 1.0}) {
        worst = std::max(worst, check_table<T>({base, 8, 0, 2000, 1, 1}));
    }
    worst = std::max(worst, check_table<T>({10000.0, 128, 0, 4096, 9, 5}));
    worst = std::max(worst, check_table<T>({500000.0, 6, 0, std::size_t{1} << 17, 1, 61}));
    EXPECT_GT(worst, 0.49) << "samples that never come near half an ulp measure nothing";
}

TYPED_TEST(RotaryTables, far_positions_are_right_to_half_an_ulp) {
    using T = TypeParam;
    check_table<T>({10000.0, 16, (std::size_t{1} << 20) - 1024, 2048, 1, 3});
    check_table<T>({1e6, 16, std::size_t{1} << 40, 700, 1, 3});
}

TYPED_TEST(RotaryTables, strange_bases_are_right_to_half_an_ulp) {
    using T = TypeParam;
    // Below 1 the angles exceed 1; beyond 2^±64 they need the longer fractions; the largest bases have
    // subnormal sines.
    for (const double base : {0.5, 1e-3, 3e-15, 0x1p-64, 0x1p64, 1e19, 1e25, 1e-30, 1e200, 1e300,
                              0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 0x1.8p-1070}) {
        check_table<T>({base, 8, 0, 300, 1, 1});
    }
}

// Positions that are numerators of convergents of π/2: their sine or cosine is as small as it can be, which
// no recurrence survives.
TYPED_TEST(RotaryTables, the_smallest_entries_are_right_to_half_an_ulp) {
    using T = TypeParam;
    for (const std::uint64_t position :
         {std::uint64_t{355}, std::uint64_t{37362253}, std::uint64_t{21053343141},
          std::uint64_t{214112296674652}, std::uint64_t{18190586279576483},
          std::uint64_t{2646693125139304345}}) {
        const std::size_t first = position / detail::kDirectRows * detail::kDirectRows;
        check_table<T>({1.0, 2, first, detail::kDirectRows, 1, 1});
    }
}

// Pairs so slow that the sine of the first positions is subnormal.
TYPED_TEST(RotaryTables, subnormal_entries_are_right_to_half_an_ulp) {
    using T = TypeParam;
    check_table<T>({0x1.fffffffffffffp1023, 2048, 0, 70, 341, 1});
    check_table<T>({0x1.5p1023, 2048, 0, 5, 93, 1});
}

}  // namespace
}  // namespace attest::properties::numerics
