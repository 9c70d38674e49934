// Upper is never below the truth, Lower never above it.
#include "bound/outward.hpp"

#include "attack/random.hpp"

#include <gtest/gtest.h>

namespace attest::reference {
namespace {

using attack::Random;

// Doubles of every magnitude a bound meets: normals, subnormals, zero.
double any_magnitude(Random& random) {
    switch (random.below(6)) {
        case 0:
            return random.uniform();
        case 1:
            return std::ldexp(random.uniform(), static_cast<int>(random.below(400)) - 200);
        case 2:
            return std::ldexp(random.uniform(), -1060);
        case 3:
            return static_cast<double>(random.below(4)) * 0x1p-1074;
        case 4:
            return 1 + static_cast<double>(random.below(3)) * 0x1p-52;
        default:
            return static_cast<double>(random.below(1000));
    }
}

TEST(Outward, EveryOperationErrsOutward) {
    Random random(1);
    for (int trial = 0; trial < 200000; ++trial) {
        const double a = any_magnitude(random), b = any_magnitude(random);
        const Real sum = Real(a) + b, product = Real(a) * b;
        ASSERT_GE(Real((Upper(a) + Upper(b)).value()), sum) << a << " + " << b;
        ASSERT_LE(Real((Lower(a) + Lower(b)).value()), sum) << a << " + " << b;
        ASSERT_GE(Real((Upper(a) * Upper(b)).value()), product) << a << " * " << b;
        ASSERT_LE(Real((Lower(a) * Lower(b)).value()), product) << a << " * " << b;
        ASSERT_LE(Real((Lower(a) - Upper(b)).value()),
                  sum - 2 * Real(b) > 0 ? Real(sum - 2 * Real(b)) : Real(0));
        if (b != 0 && a / b < 1e300) {
            ASSERT_GE(Real((Upper(a) / Lower(b)).value()), Real(Real(a) / b));
        }
    }
}

TEST(Outward, StaysWithinAFewUnits) {
    const Upper third = Upper(1.0) / Lower(3.0);
    EXPECT_LE(third.value(), 0.3333333333333335);
    EXPECT_EQ((Upper() + Upper(2.0)).value(), 2.0);
    EXPECT_EQ((Upper() * Upper::infinity()).value(), 0.0);
    EXPECT_FALSE((Upper(1.0) / Lower(0.0)).finite());
    EXPECT_FALSE((Upper::infinity() + Upper(1.0)).finite());
}

TEST(Outward, CompoundsAndShrinks) {
    Random random(2);
    for (int trial = 0; trial < 2000; ++trial) {
        const double a = std::ldexp(random.uniform(), -static_cast<int>(1 + random.below(60)));
        const std::uint64_t n = random.below(100);
        const Real grown = pow(1 + RealOf<100>(a), static_cast<unsigned>(n)).convert_to<RealOf<100>>() - 1 > 0
                               ? Real(pow(1 + RealOf<100>(a), static_cast<unsigned>(n)) - 1)
                               : Real(0);
        const double compounded_up = compounded(Upper(a), n).value();
        ASSERT_GE(Real(compounded_up), grown * (1 - Real(1e-45)));
        ASSERT_LE(Real(compounded_up), grown * (1 + Real(1e-13)));
        const Real shrunk_exact = pow(1 - Real(a), static_cast<unsigned>(n));
        ASSERT_LE(Real(shrunk(Upper(a), n).value()), shrunk_exact * (1 + Real(1e-45)));
        ASSERT_GE(Real(shrunk(Upper(a), n).value()), shrunk_exact * (1 - Real(1e-12)));
    }
}

TEST(Outward, ExponentialsErrOutwardOnBothSidesOfTheSeries) {
    Random random(3);
    for (int trial = 0; trial < 5000; ++trial) {
        const double x = std::ldexp(random.uniform(), 6 - static_cast<int>(random.below(60)));
        const RealOf<100> exact = exp(RealOf<100>(x));
        ASSERT_GE(RealOf<100>(expm1_up(Upper(x)).value()), exact - 1) << x;
        ASSERT_LE(RealOf<100>(expm1_up(Upper(x)).value()), (exact - 1) * 1.01) << x;
        ASSERT_GE(RealOf<100>(exp_up(Upper(x)).value()), exact) << x;
        ASSERT_LE(RealOf<100>(exp_minus_down(Upper(x)).value()), 1 / exact) << x;
    }
    EXPECT_FALSE(expm1_up(Upper::infinity()).finite());
    EXPECT_EQ(exp_minus_down(Upper::infinity()).value(), 0.0);
}

}  // namespace
}  // namespace attest::reference
