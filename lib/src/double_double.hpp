// Double-double numbers: the unevaluated sum of two doubles, about 106 bits.
//
// The algorithms and their bounds are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds
// for basic building blocks of double-word arithmetic", ACM TOMS 44 (2017); u = 2^−53. No operand or partial
// product may underflow or overflow for the bounds to hold. Everything is inlined into its caller, so that
// each kernel table compiles it for its own instructions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace attest::detail {

/// high = RN(high + low): the nearest double is high.
struct DoubleDouble {
    double high;
    double low;
};

/// fast_two_sum is a + b exactly, given |a| ≥ |b| or a = 0 (algorithm 1; Dekker 1971).
[[gnu::always_inline]] inline DoubleDouble fast_two_sum(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

/// two_sum is a + b exactly (algorithm 2; Knuth, Møller).
[[gnu::always_inline]] inline DoubleDouble two_sum(double a, double b) {
    const double sum = a + b;
    const double a_part = sum - b;
    const double b_part = sum - a_part;
    return {sum, (a - a_part) + (b - b_part)};
}

/// add: relative error ≤ 3u² + 13u³, whatever the signs (algorithm 6, AccurateDWPlusDW; theorem 3.1).
[[gnu::always_inline]] inline DoubleDouble add(DoubleDouble x, DoubleDouble y) {
    const DoubleDouble high = two_sum(x.high, y.high);
    const DoubleDouble low = two_sum(x.low, y.low);
    const DoubleDouble sum = fast_two_sum(high.high, high.low + low.high);
    return fast_two_sum(sum.high, low.low + sum.low);
}

/// multiply: relative error ≤ 5u² (algorithm 12, DWTimesDW3; theorem 5.3; 4u² by Muller and Rideau, ACM TOMS
/// 48, 2022).
[[gnu::always_inline]] inline DoubleDouble multiply(DoubleDouble x, DoubleDouble y) {
    const double product = x.high * y.high;
    const double product_rest = std::fma(x.high, y.high, -product);
    const double crossed = std::fma(x.low, y.high, std::fma(x.high, y.low, x.low * y.low));
    return fast_two_sum(product, product_rest + crossed);
}

[[gnu::always_inline]] inline DoubleDouble negate(DoubleDouble x) {
    return {-x.high, -x.low};
}

/// round_to rounds to T once. For float it rounds to double to odd first, which loses nothing: 53 bits are
/// more than 2 beyond float's 24, subnormal or not (Boldo and Melquiond 2008).
template <class T>
T round_to(DoubleDouble x);

template <>
[[gnu::always_inline]] inline double round_to<double>(DoubleDouble x) {
    return x.high;
}

template <>
[[gnu::always_inline]] inline float round_to<float>(DoubleDouble x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x.high);
    // An inexact even high is the neighbour, of the two around the value, that odd rounding does not want:
    // one step outwards if the rest points outwards, one inwards if it points inwards.
    const bool outwards = (x.low > 0.0) == (x.high > 0.0);
    const std::uint64_t step = outwards ? std::uint64_t{1} : ~std::uint64_t{0};
    const bool keep = x.low == 0.0 || (bits & 1U) != 0;
    return static_cast<float>(std::bit_cast<double>(keep ? bits : bits + step));
}

/// round_scaled rounds x · 2^−512 to T once, for |x| < 2^−509: for results near or below the least normal
/// double.
template <class T>
inline T round_scaled(DoubleDouble x) {
    double y = x.high * 0x1p-512;
    if (std::fabs(x.high) < 0x1p-510) {
        // y is subnormal, and was rounded with high alone in sight. Where that was a tie low decides.
        const double rest = std::fma(-y, 0x1p512, x.high);
        if (std::fabs(rest) == 0x1p-563 && x.low != 0.0 && (rest > 0.0) == (x.low > 0.0)) {
            y += std::copysign(0x1p-1074, rest);
        }
    }
    return static_cast<T>(y);
}

}  // namespace attest::detail
