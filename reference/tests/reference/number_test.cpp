#include <attest/reference/number.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace attest::reference {
namespace {

TEST(Number, NamesGoBothWays) {
    for (const Number number : {Number::f64, Number::f32, Number::tf32, Number::f16, Number::bf16})
        EXPECT_EQ(number_named(name_of(number)), number);
    EXPECT_EQ(number_named("f8"), std::nullopt);
}

TEST(Number, FormatsAreThoseOfTheStandard) {
    const Format f32 = format_of(Number::f32), f64 = format_of(Number::f64), f16 = format_of(Number::f16);
    EXPECT_EQ(f32.largest, static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(f32.normal, static_cast<double>(std::numeric_limits<float>::min()));
    EXPECT_EQ(f32.smallest, static_cast<double>(std::numeric_limits<float>::denorm_min()));
    EXPECT_EQ(f32.unit, 0x1p-24);
    EXPECT_EQ(f64.largest, std::numeric_limits<double>::max());
    EXPECT_EQ(f64.smallest, std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(f16.largest, 65504.0);
    EXPECT_EQ(f16.smallest, 0x1p-24);
    EXPECT_EQ(format_of(Number::bf16).unit, 0x1p-8);
    EXPECT_EQ(format_of(Number::bf16).smallest, 0x1p-133);
    EXPECT_EQ(format_of(Number::tf32).unit, 0x1p-11);
}

TEST(Number, HoldsExactlyItsValues) {
    // Every f16 value, and the middles between neighbours, which it can't hold.
    double before = 0;
    for (std::uint32_t bits = 1; bits < 0x7c00; ++bits) {
        const int exponent = static_cast<int>(bits >> 10);
        const double fraction = static_cast<double>(bits & 0x3ff) / 1024;
        const double value =
            exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
        ASSERT_TRUE(holds(Number::f16, value)) << value;
        ASSERT_TRUE(holds(Number::f16, -value)) << value;
        ASSERT_FALSE(holds(Number::f16, (value + before) / 2)) << value;
        before = value;
    }
    EXPECT_FALSE(holds(Number::f16, 65536.0));
    EXPECT_TRUE(holds(Number::f16, 0.0));
    EXPECT_FALSE(holds(Number::f32, 1e300));
    EXPECT_FALSE(holds(Number::f32, 0x1p-150));
    EXPECT_TRUE(holds(Number::f32, 0x1p-149));
    EXPECT_TRUE(holds(Number::f64, 0x1p-1074));
    EXPECT_FALSE(holds(Number::f64, std::numeric_limits<double>::infinity()));
    EXPECT_FALSE(holds(Number::f64, std::nan("")));
}

TEST(Number, ContainsIsAnOrderOfPrecisionAndRange) {
    EXPECT_TRUE(contains(Number::f64, Number::f32));
    EXPECT_TRUE(contains(Number::f32, Number::bf16));
    EXPECT_TRUE(contains(Number::f32, Number::f16));
    EXPECT_TRUE(contains(Number::f32, Number::tf32));
    EXPECT_FALSE(contains(Number::bf16, Number::f16));
    EXPECT_FALSE(contains(Number::f16, Number::bf16));
    EXPECT_FALSE(contains(Number::f16, Number::tf32));  // the range
    EXPECT_TRUE(contains(Number::tf32, Number::bf16));
}

}  // namespace
}  // namespace attest::reference
