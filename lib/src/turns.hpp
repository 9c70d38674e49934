// The angle of a rotary pair for one position, base^(−2i/width), in turns (divided by 2π and modulo 1), as a
// binary fraction. In turns a position's angle is an exact integer multiple modulo 1, so no reduction by π
// ever loses a digit, for whatever base and position.
//
// With h = width/2, base^(−i/h) = 2^(−(i/h) log2 base) = 2^(n + g), n an integer and 0 ≤ g < 1.
// Errors, in units of 2^(−32N). Every operation rounds down by less than a unit. The series for log2 base has
// at most 11N terms, two operations each, and is doubled and divided by ln 2: below 2^10 units for N = 10,
// 2^12 for N = 42. Times i/h < 1 they grow no further. 2^g at most doubles them and adds two units for each
// of its 60 (190) terms: below 2^13, and below 2^12 after division by 2π. So the angle in turns errs by 2^(n
// + 12) units if n ≥ 0, by 2^(n + 12) + 1 otherwise, and a position p multiplies that by p. With 320 bits for
// |n| ≤ 64 and 1344 for |n| ≤ 1074, and p < 2^64, an angle is right to 106 bits of its own unless it comes
// nearer to a quarter turn than 2^−70 of it; that would take a table of about 2^70 entries.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "fraction.hpp"

namespace attest::detail {

/// Limbs for bases in [2^−64, 2^64), and for all others.
inline constexpr std::size_t kUsualLimbs = 10;
inline constexpr std::size_t kMostLimbs = 42;

// Floor of the constant · 2^1344.
inline constexpr Fraction<kMostLimbs> kLn2 = {
    {0xb17217f7U, 0xd1cf79abU, 0xc9e3b398U, 0x03f2f6afU, 0x40f34326U, 0x7298b62dU, 0x8a0d175bU,
     0x8baafa2bU, 0xe7b87620U, 0x6debac98U, 0x559552fbU, 0x4afa1b10U, 0xed2eae35U, 0xc1382144U,
     0x27573b29U, 0x1169b825U, 0x3e96ca16U, 0x224ae8c5U, 0x1acbda11U, 0x317c387eU, 0xb9ea9bc3U,
     0xb136603bU, 0x256fa0ecU, 0x7657f74bU, 0x72ce87b1U, 0x9d6548caU, 0xf5dfa6bdU, 0x38303248U,
     0x655fa187U, 0x2f20e3a2U, 0xda2d97c5U, 0x0f3fd5c6U, 0x07f4ca11U, 0xfb5bfb90U, 0x610d30f8U,
     0x8fe551a2U, 0xee569d6dU, 0xfc1efa15U, 0x7d2e23deU, 0x1400b396U, 0x17460775U, 0xdb8990e5U}};
inline constexpr Fraction<kMostLimbs> kInverseLn2MinusOne = {
    {0x71547652U, 0xb82fe177U, 0x7d0ffda0U, 0xd23a7d11U, 0xd6aef551U, 0xbad2b4b1U, 0x164a2cd9U,
     0xa342648fU, 0xbc3887eeU, 0xaa2ed9acU, 0x49b25eebU, 0x82d7c167U, 0xd52173ccU, 0x1895213fU,
     0x897f5e06U, 0xa7be7366U, 0x5fc52926U, 0x4c2fb3abU, 0x643687aaU, 0xf3ab440cU, 0x16bd777eU,
     0x75050a8dU, 0x1a39e8afU, 0x56c64a78U, 0x33352906U, 0xdeb692ceU, 0x4f199e10U, 0x8cf39281U,
     0x9cfc406bU, 0x19abb71eU, 0xc25e11f7U, 0x5c6142e6U, 0x4ca16da2U, 0x0b1d74a1U, 0x2c719098U,
     0xb4040cbeU, 0x82351bd8U, 0xbd422427U, 0x231f9ee2U, 0x5bd0c470U, 0xfe2464b8U, 0x92824c12U}};
inline constexpr Fraction<kMostLimbs> kInverseTwoPi = {
    {0x28be60dbU, 0x9391054aU, 0x7f09d5f4U, 0x7d4d3770U, 0x36d8a566U, 0x4f10e410U, 0x7f9458eaU,
     0xf7aef158U, 0x6dc91b8eU, 0x909374b8U, 0x01924bbaU, 0x82746487U, 0x3f877ac7U, 0x2c4a69cfU,
     0xba208d7dU, 0x4baed121U, 0x3a671c09U, 0xad17df90U, 0x4e64758eU, 0x60d4ce7dU, 0x272117e2U,
     0xef7e4a0eU, 0xc7fe25ffU, 0xf7816603U, 0xfbcbc462U, 0xd6829b47U, 0xdb4d9fb3U, 0xc9f2c26dU,
     0xd3d18fd9U, 0xa797fa8bU, 0x5d49eeb1U, 0xfaf97c5eU, 0xcf41ce7dU, 0xe294a4baU, 0x9afed7ecU,
     0x47e35742U, 0x1580cc11U, 0xbf1edaeaU, 0xfc33ef08U, 0x26bd0d87U, 0x6a78e458U, 0x57b986c2U}};

/// log2 of a base: exponent + fraction.
template <std::size_t N>
struct BinaryLogarithm {
    std::int64_t exponent = 0;
    Fraction<N> fraction;
};

/// floor(log2 base), for base finite and > 0.
inline std::int64_t binary_exponent(double base) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(base);
    if (bits >> 52 != 0) {
        return static_cast<std::int64_t>(bits >> 52) - 1023;
    }
    return static_cast<std::int64_t>(std::bit_width(bits)) - 1 - 1074;
}

/// binary_logarithm of base finite and > 0: base = 2^exponent · m, 1 ≤ m < 2, and
/// ln m = 2 artanh(s) = 2 (s + s³/3 + s⁵/5 + ..), s = (m − 1)/(m + 1) < 1/3.
template <std::size_t N>
BinaryLogarithm<N> binary_logarithm(double base) {
    BinaryLogarithm<N> result;
    result.exponent = binary_exponent(base);
    std::uint64_t fraction_bits = std::bit_cast<std::uint64_t>(base) & ((std::uint64_t{1} << 52) - 1);
    if (std::bit_cast<std::uint64_t>(base) >> 52 == 0) {
        fraction_bits =
            (fraction_bits << (53 - std::bit_width(fraction_bits))) & ((std::uint64_t{1} << 52) - 1);
    }
    // m − 1 = fraction_bits · 2^−52. The quotient by long division, a byte at a time, exact but for its end.
    const std::uint64_t divisor = fraction_bits + (std::uint64_t{1} << 53);
    std::uint64_t remainder = fraction_bits;
    Fraction<N> s;
    for (std::size_t byte = 0; byte < 4 * N; ++byte) {
        remainder <<= 8;
        s.limb[byte / 4] = s.limb[byte / 4] << 8 | static_cast<std::uint32_t>(remainder / divisor);
        remainder %= divisor;
    }
    const Fraction<N> square = multiply(s, s);
    Fraction<N> power = s;
    Fraction<N> sum = s;
    for (std::uint32_t k = 3; !power.is_zero(); k += 2) {
        power = multiply(power, square);
        sum = add(sum, divide(power, k));
    }
    // ln m < 0.694 and log2 m < 1: the doubled sum fits, and so does its product with 1/ln 2, rounded down.
    const Fraction<N> logarithm = add(sum, sum);
    result.fraction = add(logarithm, multiply(logarithm, leading<N>(kInverseLn2MinusOne)));
    return result;
}

/// turns_of_pair is base^(−i/h)/(2π) modulo 1, for i < h < 2^32.
template <std::size_t N>
Fraction<N> turns_of_pair(const BinaryLogarithm<N>& base, std::uint32_t i, std::uint32_t h) {
    // i · log2 base = numerator + part; divided by h: quotient + share, rounded down.
    std::uint32_t carried = 0;
    const Fraction<N> part = multiply(base.fraction, i, carried);
    const std::int64_t numerator = base.exponent * std::int64_t{i} + std::int64_t{carried};
    std::int64_t quotient = numerator / std::int64_t{h};
    std::int64_t rest = numerator % std::int64_t{h};
    if (rest < 0) {
        rest += std::int64_t{h};
        --quotient;
    }
    const Fraction<N> share = divide(part, h, static_cast<std::uint32_t>(rest));
    // −(quotient + share) = n + g.
    const Fraction<N> g = negate(share);
    const std::int64_t n = share.is_zero() ? -quotient : -quotient - 1;

    // 2^g − 1 = z + z²/2! + .., z = g ln 2. It stays below 1, rounded down as it is.
    const Fraction<N> z = multiply(g, leading<N>(kLn2));
    Fraction<N> term = z;
    Fraction<N> sum = z;
    for (std::uint32_t k = 2; !term.is_zero(); ++k) {
        term = divide(multiply(term, z), k);
        sum = add(sum, term);
    }
    const Fraction<N> inverse = leading<N>(kInverseTwoPi);
    const Fraction<N> turns = add(inverse, multiply(inverse, sum));  // 2^g/(2π) < 0.32
    return n >= 0 ? shift_left(turns, static_cast<std::size_t>(n))
                  : shift_right(turns, static_cast<std::size_t>(-n));
}

/// multiple is position · turns modulo 1, exactly.
template <std::size_t N>
Fraction<N> multiple(const Fraction<N>& turns, std::uint64_t position) {
    std::uint32_t whole = 0;
    const Fraction<N> lower = multiply(turns, static_cast<std::uint32_t>(position), whole);
    const Fraction<N> upper = multiply(turns, static_cast<std::uint32_t>(position >> 32), whole);
    return add(lower, shift_left(upper, 32));
}

}  // namespace attest::detail
