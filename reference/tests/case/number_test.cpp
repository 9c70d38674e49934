#include <attest/case/number.hpp>

#include "random.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

namespace attest::cases {
namespace {

constexpr auto kDouble = ElementType::float64;
constexpr auto kFloat = ElementType::float32;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint64_t bits_of(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

TEST(Number, PrintsOneFormForEveryPattern) {
    EXPECT_EQ(print_number(bits_of(0.0), kDouble), "0x0p+0");
    EXPECT_EQ(print_number(bits_of(-0.0), kDouble), "-0x0p+0");
    EXPECT_EQ(print_number(bits_of(1.0), kDouble), "0x1p+0");
    EXPECT_EQ(print_number(bits_of(10000.0), kDouble), "0x1.388p+13");
    EXPECT_EQ(print_number(bits_of(-0.1), kDouble), "-0x1.999999999999ap-4");
    EXPECT_EQ(print_number(1, kDouble), "0x1p-1074");
    EXPECT_EQ(print_number(3, kDouble), "0x1.8p-1073");
    EXPECT_EQ(print_number(bits_of(std::numeric_limits<double>::max()), kDouble), "0x1.fffffffffffffp+1023");
    EXPECT_EQ(print_number(bits_of(-kInfinity), kDouble), "-inf");
    EXPECT_EQ(print_number(0xfff0000000000001, kDouble), "nan:0xfff0000000000001");
    EXPECT_EQ(print_number(widen(0x7fc00001), kFloat), "nan:0x7fc00001");
    EXPECT_EQ(print_number(widen(0xff800001), kFloat), "nan:0xff800001");
    EXPECT_EQ(print_number(widen(1), kFloat), "0x1p-149");
}

TEST(Number, ReadsEverySpelling) {
    const auto value = [](std::string_view text) { return parse_number(text, kDouble).value_or(0xdead); };
    EXPECT_EQ(value("12"), bits_of(12.0));
    EXPECT_EQ(value("-3"), bits_of(-3.0));
    EXPECT_EQ(value("-0"), bits_of(-0.0));
    EXPECT_EQ(value("9007199254740992"), bits_of(9007199254740992.0));
    EXPECT_EQ(value("18446744073709549568"), bits_of(18446744073709549568.0));
    EXPECT_EQ(value("0x10p0"), bits_of(16.0));
    EXPECT_EQ(value("0x0.08p+5"), bits_of(1.0));
    EXPECT_EQ(value("0xA.8p-1"), bits_of(5.25));
    EXPECT_EQ(value("0x000000000000000000000000000000001p0"), bits_of(1.0));
    EXPECT_EQ(value("0x100000000000000000000000000000000p-128"), bits_of(1.0));
    EXPECT_EQ(value("0x1.00000000000000000000000000000000000p0"), bits_of(1.0));
    EXPECT_EQ(value("0x0p99999999999999999999"), bits_of(0.0));
    EXPECT_EQ(value("0x4p-1076"), 1U);
    EXPECT_EQ(value("0x1fffffffffffffp-52"), bits_of(2.0 - 0x1p-52));
    EXPECT_EQ(value("inf"), bits_of(kInfinity));
}

TEST(Number, RefusesWhatItWouldHaveToRoundOrGuess) {
    const auto code = [](std::string_view text, ElementType type = kDouble) {
        const auto bits = parse_number(text, type);
        return bits ? std::string("accepted") : std::string(to_text(bits.error()));
    };
    for (const char* text : {"",
                             "-",
                             "+1",
                             "1.5",
                             "1e3",
                             "007",
                             "0x",
                             "0xp0",
                             "0x.8p0",
                             "0x1.p0",
                             "0x1",
                             "0x1p",
                             "0x1p+",
                             "0x1p-+1",
                             "0x1p1.0",
                             "0x1.2.3p0",
                             "0x1gp0",
                             "0X1p0",
                             "0x1P0",
                             "--1",
                             "infinity",
                             "nan",
                             "nan:",
                             "nan:0x",
                             "-nan:0x7ff8000000000000",
                             "nan:0x7ff0000000000000",
                             "nan:0x3ff0000000000000",
                             "nan:0x7fc00001",
                             "nan:0x7ff80000000000001",
                             "nan:0x7ff800000000000g",
                             "0x1p0 ",
                             " 0x1p0",
                             "1_000"})
        EXPECT_EQ(code(text), "BadFloat") << text;
    for (const char* text :
         {"0x1.00000000000001p0", "0x1p-1075", "0x3p-1075", "9007199254740993", "0x1p-2000",
          "18446744073709551616", "0x1p-99999999999999999999", "0x10000000000000001p0"})
        EXPECT_EQ(code(text), "NotRepresentable") << text;
    for (const char* text : {"0x1p1024", "0x2p1023", "0x1p99999999999999999999", "-0x1p1024"})
        EXPECT_EQ(code(text), "FloatOutOfRange") << text;
    for (const char* text : {"0x1.000001p0", "0x1p-150", "0x1p128", "16777217", "0x1.fffffffp127"})
        EXPECT_EQ(code(text, kFloat), "NotRepresentable") << text;
    for (const char* text : {"nan:0x7ff8000000000001", "nan:0x7f800000", "nan:0x3f800000"})
        EXPECT_EQ(code(text, kFloat), "BadFloat") << text;
    EXPECT_EQ(code("0x1p-149", kFloat), "accepted");
    EXPECT_EQ(code("0x1.fffffep127", kFloat), "accepted");
}

// strtod is another reader of the same notation: the two must agree on every finite pattern.
TEST(Number, RoundTripsRandomPatternsAsStrtodReadsThem) {
    testing::Random random(1);
    for (int i = 0; i < 200'000; ++i) {
        std::uint64_t bits = random.next();
        if (i % 4 == 0) bits &= 0x800fffffffffffff;  // subnormal
        if (i % 4 == 1) bits &= ~((std::uint64_t{1} << random.below(53)) - 1);
        const std::string text = print_number(bits, kDouble);
        const auto back = parse_number(text, kDouble);
        ASSERT_TRUE(back) << text;
        ASSERT_EQ(*back, bits) << text;
        if (const double value = std::bit_cast<double>(bits); std::isfinite(value)) {
            ASSERT_EQ(bits_of(std::strtod(text.c_str(), nullptr)), bits) << text;
        }
    }
}

TEST(Number, RoundTripsRandomFloatPatterns) {
    testing::Random random(2);
    for (int i = 0; i < 200'000; ++i) {
        auto bits = static_cast<std::uint32_t>(random.next());
        if (i % 4 == 0) bits &= 0x807fffff;
        if (i % 4 == 1) bits |= 0x7f800000;
        const std::string text = print_number(widen(bits), kFloat);
        const auto back = parse_number(text, kFloat);
        ASSERT_TRUE(back) << text;
        ASSERT_EQ(narrow(*back), bits) << text;
    }
}

TEST(Number, WidensAsTheHardwareDoesAndKeepsNan) {
    testing::Random random(3);
    for (int i = 0; i < 1'000'000; ++i) {
        auto bits = static_cast<std::uint32_t>(random.next());
        if (i % 4 == 0) bits &= 0x807fffff;
        const auto value = std::bit_cast<float>(bits);
        if (!std::isnan(value)) {
            ASSERT_EQ(widen(bits), bits_of(static_cast<double>(value))) << bits;
        }
        ASSERT_EQ(narrow(widen(bits)), bits);
        ASSERT_TRUE(representable_in_float(widen(bits)));
    }
    EXPECT_EQ(widen(0x7f800001), 0x7ff0000020000000);  // signalling stays signalling
    EXPECT_FALSE(representable_in_float(0x7ff0000000000001));
    EXPECT_EQ(narrow(0x7ff0000000000001), 0x7f800001U);  // a payload too low to keep still leaves a NaN
    EXPECT_FALSE(representable_in_float(0x7ff8000000000001));
    EXPECT_FALSE(representable_in_float(bits_of(0x1p-150)));
    EXPECT_FALSE(representable_in_float(bits_of(0x1p128)));
}

}  // namespace
}  // namespace attest::cases
