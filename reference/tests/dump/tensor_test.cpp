#include <attest/dump/tensor.hpp>

#include "bytes.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace attest::dump {
namespace {

std::uint64_t bits_of(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

// What IEEE 754 says a pattern is worth, by ldexp.
double worth(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
    const int top = (1 << exponent_bits) - 1;
    const int bias = top >> 1;
    const auto exponent = static_cast<int>((bits >> mantissa_bits) & static_cast<std::uint64_t>(top));
    const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << mantissa_bits) - 1));
    const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    if (exponent == top) return sign * std::numeric_limits<double>::infinity();
    return sign * std::ldexp(std::ldexp(1.0, mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

void check_sixteen_bits(Dtype dtype, int exponent_bits, int mantissa_bits) {
    const std::uint64_t mask = (std::uint64_t{1} << mantissa_bits) - 1;
    const std::uint64_t top = (std::uint64_t{1} << exponent_bits) - 1;
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
        const double value = to_double(dtype, bits);
        const bool nan = ((bits >> mantissa_bits) & top) == top && (bits & mask) != 0;
        ASSERT_EQ(std::isnan(value), nan) << bits;
        if (nan) {
            const std::uint64_t want =
                (bits >> 15) << 63 | std::uint64_t{0x7ff} << 52 | (bits & mask) << (52 - mantissa_bits);
            ASSERT_EQ(bits_of(value), want) << bits;
        } else {
            ASSERT_EQ(bits_of(value), bits_of(worth(bits, exponent_bits, mantissa_bits))) << bits;
        }
    }
}

TEST(Tensor, EveryPatternOfSixteenBitsIsExact) {
    check_sixteen_bits(Dtype::F16, 5, 10);
    check_sixteen_bits(Dtype::BF16, 8, 7);
}

TEST(Tensor, FloatsWidenAsTheHardwareDoesAndNanSurvives) {
    testing::Random random(21);
    for (int i = 0; i < 1'000'000; ++i) {
        auto bits = static_cast<std::uint32_t>(random.next());
        if (i % 4 == 0) bits &= 0x807fffff;
        const auto value = std::bit_cast<float>(bits);
        if (std::isnan(value)) continue;
        ASSERT_EQ(bits_of(to_double(Dtype::F32, bits)), bits_of(static_cast<double>(value))) << bits;
    }
    EXPECT_EQ(bits_of(to_double(Dtype::F32, 0xff800001)), 0xfff0000020000000U);
    EXPECT_EQ(bits_of(to_double(Dtype::F32, 0x7fc00000)), 0x7ff8000000000000U);
    EXPECT_EQ(bits_of(to_double(Dtype::F64, 0x7ff0000000000001)), 0x7ff0000000000001U);
}

Tensor tensor_of(Dtype dtype, const std::vector<std::byte>& bytes, std::size_t skip) {
    return Tensor("t", dtype, {1}, std::span(bytes).subspan(skip, static_cast<std::size_t>(size_of(dtype))));
}

// The same eight bytes read as each type, at every alignment.
TEST(Tensor, ElementsAreCopiedLittleEndianFromAnyAddress) {
    for (std::size_t skip = 0; skip < 9; ++skip) {
        std::vector<std::byte> bytes(17, std::byte{0x55});
        const auto pattern = std::to_array<unsigned>({0x82, 0x01, 0x80, 0xff, 0xfe, 0xff, 0xef, 0xff});
        for (std::size_t i = 0; i < 8; ++i)
            bytes[skip + i] = static_cast<std::byte>(pattern[i]);
        const auto integer = [&](Dtype dtype) {
            return tensor_of(dtype, bytes, skip).integer(0).value_or(0);
        };
        EXPECT_EQ(integer(Dtype::BOOL), 0x82);
        EXPECT_EQ(integer(Dtype::U8), 0x82);
        EXPECT_EQ(integer(Dtype::I8), -126);
        EXPECT_EQ(integer(Dtype::U16), 0x0182);
        EXPECT_EQ(integer(Dtype::I16), 0x0182);
        EXPECT_EQ(integer(Dtype::U32), 0xff800182);
        EXPECT_EQ(integer(Dtype::I32), -0x7ffe7e);
        EXPECT_EQ(tensor_of(Dtype::U64, bytes, skip).integer(0), std::nullopt);
        EXPECT_EQ(integer(Dtype::I64), static_cast<std::int64_t>(0xffeffffeff800182));
        EXPECT_EQ(tensor_of(Dtype::F32, bytes, skip).integer(0), std::nullopt);
        EXPECT_EQ(bits_of(tensor_of(Dtype::F64, bytes, skip).number(0)), 0xffeffffeff800182);
        EXPECT_EQ(tensor_of(Dtype::I8, bytes, skip).number(0), -126.0);
        EXPECT_EQ(tensor_of(Dtype::U32, bytes, skip).number(0), 4286579074.0);
        EXPECT_EQ(tensor_of(Dtype::U64, bytes, skip).number(0), 0x1.ffdffffdffp63);
    }
}

TEST(Tensor, NamesOfTypesRoundTrip) {
    for (int i = 0; i <= static_cast<int>(Dtype::F64); ++i) {
        const auto dtype = static_cast<Dtype>(i);
        EXPECT_EQ(dtype_from_text(to_text(dtype)), dtype);
    }
    EXPECT_EQ(dtype_from_text("F128"), std::nullopt);
    EXPECT_EQ(size_of(Dtype::BF16), 2U);
    EXPECT_EQ(size_of(Dtype::I64), 8U);
}

}  // namespace
}  // namespace attest::dump
