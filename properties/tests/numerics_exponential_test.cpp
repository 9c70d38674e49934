// The error of the library's exponential, measured.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>

#include <gtest/gtest.h>

#include <attest/random.hpp>

#include "exponential.hpp"
#include "numerics_precise.hpp"

namespace attest::properties::numerics {
namespace {

using detail::exponential;
using detail::kExponentialRelativeUnits;
using detail::kExponentialUlps;

template <class T>
class ExponentialError : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ExponentialError, Types);

// Normal results are within kExponentialUlps; subnormal ones within that of their own binade, and half the
// least subnormal more.
TYPED_TEST(ExponentialError, is_within_its_bound_on_samples) {
    using T = TypeParam;
    constexpr bool is_float = sizeof(T) == 4;
    const double lowest = is_float ? -104.5 : -745.8;
    const double highest = is_float ? 88.7 : 709.7;
    SplitMix64 random = SplitMix64::from_seed(17);
    Precise exact(110);
    Worst normal;
    Worst subnormal;
    Worst relative;
    std::size_t subnormals = 0;
    // A float's exponentials are all looked at elsewhere.
    constexpr std::size_t kSamples = is_float ? 200000 : 1000000;
    for (std::size_t k = 0; k < kSamples; ++k) {
        double drawn = random.next_unit();
        switch (k % 8) {
            case 0:
            case 1:
                drawn *= lowest;
                break;
            case 2:
                drawn *= highest;
                break;
            case 3:  // within reach of a change of the power of two
                drawn =
                    -(std::floor(drawn * 140) + 0.5) * 0.6931471805599453 + 1e-4 * (random.next_unit() - 0.5);
                break;
            case 4:
                drawn = -drawn * std::ldexp(1.0, -static_cast<int>(random.next() % 60));
                break;
            case 5:  // subnormal results
                drawn = lowest + drawn * (is_float ? 17.0 : 37.0);
                break;
            default:
                drawn *= -20.0;
                break;
        }
        const T x = static_cast<T>(drawn);
        const T got = exponential(x);
        mpfr_set_d(exact, static_cast<double>(x), MPFR_RNDN);
        mpfr_exp(exact, exact, MPFR_RNDN);
        const double size = mpfr_get_d(exact, MPFR_RNDN);
        if (size < static_cast<double>(std::numeric_limits<T>::min())) {
            ++subnormals;
            // In units of the least subnormal, of which the binade's own ulp is a fraction.
            int exponent = 0;
            std::frexp(size / static_cast<double>(std::numeric_limits<T>::min()), &exponent);
            const double own = std::ldexp(1.0, exponent - 1);
            const double met = ulps_off(got, exact);
            EXPECT_LE(met, 0.5 + kExponentialUlps * own) << static_cast<double>(x);
            subnormal.meet(met, static_cast<double>(x));
        } else {
            const double met = ulps_off(got, exact);
            normal.meet(met, static_cast<double>(x));
            int exponent = 0;
            const double fraction = std::frexp(size, &exponent);
            relative.meet(met * 0.5 / fraction, static_cast<double>(x));  // in units of 2u
        }
    }
    std::printf("exp %s: worst %.5f ulp at %a, %.5f of 2^-%d relative; subnormal %.5f at %a\n",
                is_float ? "float" : "double", normal.error, normal.place, 2 * relative.error,
                std::numeric_limits<T>::digits, subnormal.error, subnormal.place);
    EXPECT_GT(subnormals, kSamples / 10);
    EXPECT_LE(normal.error, kExponentialUlps);
    EXPECT_LE(2 * relative.error, kExponentialRelativeUnits);
    EXPECT_GE(normal.error, 0.45) << "samples that never come near half an ulp measure nothing";
}

// A stride through all floats, against the C library's double exponential, whose error is 2^−29 float ulps.
TEST(ExponentialStride, is_within_its_bound_and_monotone) {
    constexpr std::uint32_t kStride = 499;
    const auto last = std::bit_cast<std::uint32_t>(-87.33F);
    Worst worst;
    float above = 1.0F;
    for (std::uint32_t pattern = 0x80000000U; pattern <= last; pattern += kStride) {
        const float x = std::bit_cast<float>(pattern);
        const float got = exponential(x);
        ASSERT_LE(got, above) << "not monotone near " << static_cast<double>(x);
        above = got;
        const double exact = std::exp(static_cast<double>(x));
        int exponent = 0;
        std::frexp(exact, &exponent);
        worst.meet(std::ldexp(std::fabs(static_cast<double>(got) - exact), 24 - exponent),
                   static_cast<double>(x));
    }
    std::printf("exp float, every %uth: worst %.5f ulp at %a\n", kStride, worst.error, worst.place);
    EXPECT_LE(worst.error, kExponentialUlps);
}

}  // namespace
}  // namespace attest::properties::numerics
