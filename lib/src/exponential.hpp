// The exponential, with the same operations on every machine: additions, multiplications, fused
// multiply-adds, comparisons with selection, and integer bit operations, so that a vector of them gives each
// lane the bits of one.
//
// Domain: every x; made for x ≤ 0. −∞ gives +0, +∞ gives +∞, NaN gives a NaN of unspecified bits, ±0 gives 1.
// Error bound: kExponentialUlps = 0.97 ulp where exp(x) is normal; measured 0.8763 (every float up to 0)
// and 0.844 (double). Where it is subnormal the result is rounded once more, to within half the least
// subnormal in addition. Monotone over all floats (tested one by one).
//
// Method. n = x · log2 e rounded to an integer by adding 1.5 · 2^(p−1), p the digits of T. Reduction after
// Cody and Waite with ln 2 = hi + lo, hi so short that n · hi and h = x − n · hi are exact (n ≠ 0 needs
// |x| > 0.34, so that x, n · hi and their difference, below 0.35, are multiples of ulp(0.34) or of hi's last
// digit). With l = RN(−n · lo), r = RN(h + l) and |r| ≤ ln2/2 + 2^−16,
//     exp(h + l) = 1 + (h + (l + r² · q(r))),  q(r) ≈ (exp(r) − 1 − r) / r²,
// summed from within, so that what has rounded before is small beside the result when the last sum rounds.
// Errors in ulps of the result, where they are largest (−0.347 < r ≤ −0.25, a result in [0.7, 0.78), ulp u):
//     the last sum                                            1/2
//     h + t, below 1/2                                        1/4
//     t = l + r² · q, below 1/16                              1/32
//     r², below 1/8, times q(r) < 0.46                        0.029
//     q, below 1/2, times r² < 0.1202, and what q is made of  0.036
//     r, below 1/2, times |exp(r) − 1| < 0.293                0.074
//     q's approximation error, 2^−28.2 · 0.78 / u (float)     0.042
//     l, below 2^−12, and the digits that lo lacks            0.001
// Together below 0.964. Where r > 0 an ulp is 2u and the sum h + t is below 1/2 as before, which halves the
// second term and what stands for r, to 0.80 in all; where |r| ≤ 1/4, h + t is below 1/4 for r < 0 as well.
// Then 2^n is applied with one rounding, if the result is subnormal or overflows: by two exact powers of two,
// whose first product is exact, or by an instruction that does just that.
//
// q: minimax in the relative error of exp, |r| ≤ ln2/2 + 2^−16 (2^−40 for double), by Remez's algorithm at
// 300 bits; each coefficient is rounded to T and those after it fitted anew. Relative error so rounded:
// 2^−28.2 (float, degree 4), 2^−57.8 (double, degree 9).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attest::detail {

/// The proved bound on the error of a normal result, in its ulps.
inline constexpr double kExponentialUlps = 0.97;
/// The same relative to the exact value, in units of u = 2^−p, which are half an ulp of 1. At r < 0 it is u ·
/// 0.97/0.707; at r ≥ 0, where ulps are 2u, at most 2u · 0.80/1.25 while h + t ≥ 1/4, and less below.
/// Measured: 1.2224 (every float up to 0).
inline constexpr double kExponentialRelativeUnits = 1.38;

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
    static constexpr float kPolynomial[] = {0x1.fffffcp-2F, 0x1.55548cp-3F, 0x1.555858p-5F, 0x1.123de0p-7F,
                                            0x1.6ac73ap-10F};
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
        0x1.000000000000ap-1,  0x1.5555555555503p-3,  0x1.5555555550605p-5,  0x1.1111111124d26p-7,
        0x1.6c16c184b5d56p-10, 0x1.a01a013d6462ep-13, 0x1.a019988addac7p-16, 0x1.71def396b01fep-19,
        0x1.28aeddbdc8b1cp-22, 0x1.add97c26ce2e0p-26};
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
    const T high = std::fma(n, -C::kLn2High, x);
    const T low = n * -C::kLn2Low;
    const T r = high + low;

    constexpr std::size_t degree = sizeof(C::kPolynomial) / sizeof(T) - 1;
    T q = C::kPolynomial[degree];
    for (std::size_t k = degree; k-- > 0;) {
        q = std::fma(q, r, C::kPolynomial[k]);
    }
    const T y = T(1) + (high + std::fma(r * r, q, low));

    // 2^n as 2^a · 2^b with a + b = n, both exponents in the normal range; with both biases inside, all
    // numbers are positive and a logical shift halves.
    const Bits biased =
        std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(C::kRoundToInteger) + 2 * C::kExponentBias;
    const Bits first = biased >> 1;
    const Bits second = biased - first;
    return y * std::bit_cast<T>(first << C::kFractionBits) * std::bit_cast<T>(second << C::kFractionBits);
}

}  // namespace attest::detail
