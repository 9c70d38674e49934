// The exponential, with the same operations on every machine: additions, multiplications, fused
// multiply-adds, comparisons with selection, and integer bit operations, so that a vector of them gives each
// lane the bits of one.
//
// Domain: every x; made for x ≤ 0. −∞ gives +0, +∞ gives +∞, NaN gives a NaN of unspecified bits, ±0 gives 1.
// Error bound: kExponentialUlps = 0.54 ulp where exp(x) is normal; measured 0.5201 (every float) and 0.5184
// (double). Where it is subnormal the result is rounded once more, to within half the least subnormal in
// addition. Monotone over all floats (tested one by one).
//
// Method. n = x · log2 e rounded to an integer by adding 1.5 · 2^(p−1), p the digits of T. Reduction after
// Cody and Waite with ln 2 = hi + lo, hi so short that n · hi and x − n · hi are exact (n ≠ 0 needs
// |x| > 0.34, so that x, n · hi and their difference, below 0.35, are multiples of ulp(0.34) or of hi's last
// digit). The rest is kept as r + l, r = RN(x − n · hi − n · lo). With |r| ≤ ln2/2 + 2^−16,
//     exp(r + l) = 1 + r + r²/2 + r³/2 · P(r) + l · (1 + r + r²/2),
// in which 1 + r, the product r · r/2 and the sum with it are carried exactly (Fast2Sum, Dekker 1971; the
// product's rest by fma), so that only the last sum rounds at the result's own size: half an ulp. In ulps,
// where they are largest (r near −ln2/2, a result near 0.71), the rest is: r³/2 · P(r) ≤ 0.0063 with three
// roundings and Horner's last, 3.1 · 0.0063; the sum of the small terms, below 2^−7, 2^−8; l · r³/6, 0.002;
// P's approximation error, 0.006 (float). Together below 0.534. Then 2^n is applied as two exact powers of
// two: the first product is exact, the second rounds once if the result is subnormal or overflows.
//
// P: minimax in the relative error of exp, |r| ≤ ln2/2 + 2^−16 (2^−40 for double), by Remez's algorithm at
// 300 bits, the coefficients then rounded to T. Relative error so rounded: 2^−30.8 (float, degree 4), 2^−60.3
// (double, degree 9).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attest::detail {

/// The proved bound on the error of a normal result, in its ulps.
inline constexpr double kExponentialUlps = 0.54;
/// The same relative to the exact value, in units of u = 2^−p, which are half an ulp of 1: where an error is
/// above half an ulp the result is not near a power of two. At r ≥ 0, where ulps are 2u, it is u·(1 + 2δ)/(1
/// + r) with δ below 1.1 r³ + 2^−20, at r < 0 below u · 0.534/0.707. Measured: 1.00000.
inline constexpr double kExponentialRelativeUnits = 1.0001;

template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
    using Bits = std::uint32_t;
    static constexpr int kFractionBits = 23;
    static constexpr Bits kExponentBias = 127;
    static constexpr float kLowest = -105.0F;  // exp is below half the least subnormal
    static constexpr float kHighest = 89.0F;   // exp overflows
    static constexpr float kInverseLn2 = 0x1.715476p+0F;
    static constexpr float kRoundToInteger = 0x1.8p+23F;
    static constexpr float kLn2High = 0x1.62e4p-1F;  // 16 digits; |n| ≤ 152 has 8
    static constexpr float kLn2Low = 0x1.7f7d1cp-20F;
    static constexpr float kPolynomial[] = {0x1.55553cp-2F, 0x1.5554f2p-4F, 0x1.1136aap-6F, 0x1.6d4088p-9F,
                                            0x1.6c30d6p-12F};
};

template <>
struct ExponentialConstants<double> {
    using Bits = std::uint64_t;
    static constexpr int kFractionBits = 52;
    static constexpr Bits kExponentBias = 1023;
    static constexpr double kLowest = -746.0;
    static constexpr double kHighest = 710.0;
    static constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
    static constexpr double kRoundToInteger = 0x1.8p+52;
    static constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 42 digits; |n| ≤ 1077 has 11
    static constexpr double kLn2Low = 0x1.ef35793c7673p-45;
    static constexpr double kPolynomial[] = {
        0x1.555555555555dp-2,  0x1.555555555556fp-4,  0x1.111111110e33fp-6,  0x1.6c16c16c07eebp-9,
        0x1.a01a01b6f11f8p-12, 0x1.a01a01fc723f0p-15, 0x1.71dde7ba6bdd6p-18, 0x1.27e40c0cb916cp-21,
        0x1.af7a28b308152p-25, 0x1.20d149c8523bbp-28};
};

/// select is `chosen` if `condition`, else `other`, without a branch.
template <class T>
[[gnu::always_inline]] inline T select(bool condition, T chosen, T other) {
    using Bits = typename ExponentialConstants<T>::Bits;
    const Bits mask = Bits{0} - static_cast<Bits>(condition);
    return std::bit_cast<T>((std::bit_cast<Bits>(chosen) & mask) | (std::bit_cast<Bits>(other) & ~mask));
}

/// exponential returns exp(x). Inlined always, so that each kernel table compiles it for its own
/// instructions.
template <class T>
[[gnu::always_inline]] inline T exponential(T x) {
    using C = ExponentialConstants<T>;
    using Bits = typename C::Bits;
    // Comparisons that are false for NaN keep it. Selected by bits, for a compiler may make two branches of
    // ?:.
    x = select(x < C::kLowest, C::kLowest, x);
    x = select(x > C::kHighest, C::kHighest, x);

    const T shifted = std::fma(x, C::kInverseLn2, C::kRoundToInteger);
    const T n = shifted - C::kRoundToInteger;
    const T reduced_high = std::fma(n, -C::kLn2High, x);
    const T r = std::fma(n, -C::kLn2Low, reduced_high);
    const T l = std::fma(n, -C::kLn2Low, reduced_high - r);

    constexpr std::size_t degree = sizeof(C::kPolynomial) / sizeof(T) - 1;
    T p = C::kPolynomial[degree];
    for (std::size_t k = degree; k-- > 0;) {
        p = std::fma(p, r, C::kPolynomial[k]);
    }
    const T half = r * T(0.5);
    const T square = r * half;
    const T square_rest = std::fma(r, half, -square);
    const T sum1 = T(1) + r;
    const T rest1 = r - (sum1 - T(1));
    const T sum2 = sum1 + square;
    const T rest2 = square - (sum2 - sum1);
    const T rest = std::fma(r * square, p, std::fma(l, sum2, (rest1 + rest2) + square_rest));
    const T y = sum2 + rest;

    // 2^n as 2^a · 2^b with a + b = n, both exponents in the normal range; with both biases inside, all
    // numbers are positive and a logical shift halves.
    const Bits biased =
        std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(C::kRoundToInteger) + 2 * C::kExponentBias;
    const Bits first = biased >> 1;
    const Bits second = biased - first;
    return y * std::bit_cast<T>(first << C::kFractionBits) * std::bit_cast<T>(second << C::kFractionBits);
}

}  // namespace attest::detail
