// The library's float exponential at every float up to 0: its error and that it never steps down.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include <gtest/gtest.h>

#include "exponential.hpp"
#include "kernels.hpp"
#include "numerics_precise.hpp"

namespace attest::properties::numerics {
namespace {

// Against the C library's double exponential, right to about 2^−53 relative, 2^−29 float ulps.
TEST(EveryFloat, exponential_is_within_its_bound_and_monotone) {
    const auto last = std::bit_cast<std::uint32_t>(-105.0F);
    Worst normal;
    Worst subnormal;
    Worst relative;
    float above = 1.0F;
    std::uint64_t steps_up = 0;
    // By the fastest kernels, which agree with the scalar function bit for bit (lib's kernels_test).
    const detail::Kernels<float>& kernels = *detail::available_kernels<float>().back();
    constexpr std::uint32_t kBatch = 4096;
    std::array<float, kBatch> arguments;
    std::array<float, kBatch> results;
    for (std::uint32_t pattern = 0x80000000U; pattern <= last; ++pattern) {
        const std::uint32_t place = pattern % kBatch;
        if (place == 0) {
            for (std::uint32_t k = 0; k < kBatch; ++k) {
                arguments[k] = std::bit_cast<float>(pattern + k);
            }
            kernels.exponentials(results.data(), arguments.data(), kBatch, 0.0F);
        }
        const float x = arguments[place];
        const float got = results[place];
        steps_up += got <= above ? 0 : 1;
        above = got;
        const double exact = std::exp(static_cast<double>(x));
        const double off = std::fabs(static_cast<double>(got) - exact);
        if (exact >= static_cast<double>(std::numeric_limits<float>::min())) {
            const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(exact) >> 52) - 1022;
            normal.meet(std::ldexp(off, 24 - exponent), static_cast<double>(x));
            relative.meet(off / exact * 0x1p24, static_cast<double>(x));
        } else {
            int exponent = 0;
            std::frexp(exact * 0x1p126, &exponent);
            const double own = std::ldexp(1.0, exponent - 1);
            subnormal.meet(off * 0x1p149 - detail::kExponentialUlps * own, static_cast<double>(x));
        }
    }
    std::printf(
        "exp, every float: worst %.6f ulp at %a, %.6f of 2^-24 relative at %a; subnormal %.6f beyond its "
        "ulp\n",
        normal.error, normal.place, relative.error, relative.place, subnormal.error);
    EXPECT_EQ(steps_up, 0U);
    EXPECT_LE(normal.error, detail::kExponentialUlps);
    EXPECT_LE(relative.error, detail::kExponentialRelativeUnits);
    EXPECT_LE(subnormal.error, 0.5);
    EXPECT_EQ(above, 0.0F);
}

}  // namespace
}  // namespace attest::properties::numerics
