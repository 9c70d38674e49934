// Binary fractions in [0, 1) with 32 · N bits, modulo 1: what angles measured in turns need. Plain integer
// arithmetic, so that the number of bits alone decides how good an angle is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace attest::detail {

/// Σ limb[k] · 2^(−32(k+1)). One unit is 2^(−32N).
template <std::size_t N>
struct Fraction {
    std::uint32_t limb[N] = {};

    /// The number of leading zero limbs.
    [[nodiscard]] constexpr std::size_t zero_limbs() const {
        std::size_t count = 0;
        while (count < N && limb[count] == 0) {
            ++count;
        }
        return count;
    }
    [[nodiscard]] constexpr bool is_zero() const { return zero_limbs() == N; }
};

/// The first N limbs of a longer constant: less than a unit too small.
template <std::size_t N, std::size_t M>
constexpr Fraction<N> leading(const Fraction<M>& x) {
    static_assert(N <= M);
    Fraction<N> result;
    for (std::size_t k = 0; k < N; ++k) {
        result.limb[k] = x.limb[k];
    }
    return result;
}

/// x + y modulo 1, exactly.
template <std::size_t N>
constexpr Fraction<N> add(const Fraction<N>& x, const Fraction<N>& y) {
    Fraction<N> sum;
    std::uint64_t carry = 0;
    for (std::size_t k = N; k-- > 0;) {
        carry += std::uint64_t{x.limb[k]} + y.limb[k];
        sum.limb[k] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
    }
    return sum;
}

/// −x modulo 1, exactly: 1 − x unless x is zero.
template <std::size_t N>
constexpr Fraction<N> negate(const Fraction<N>& x) {
    Fraction<N> result;
    std::uint64_t carry = 1;
    for (std::size_t k = N; k-- > 0;) {
        carry += static_cast<std::uint32_t>(~x.limb[k]);
        result.limb[k] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
    }
    return result;
}

/// x · y, rounded down: less than a unit too small.
template <std::size_t N>
constexpr Fraction<N> multiply(const Fraction<N>& x, const Fraction<N>& y) {
    std::uint32_t product[2 * N] = {};
    // The terms of a series have ever more leading zeros, which add nothing.
    const std::size_t first = x.zero_limbs();
    for (std::size_t i = N; i-- > first;) {
        std::uint64_t carry = 0;
        for (std::size_t j = N; j-- > 0;) {
            carry += std::uint64_t{x.limb[i]} * y.limb[j] + product[i + j + 1];
            product[i + j + 1] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        product[i] = static_cast<std::uint32_t>(carry);
    }
    Fraction<N> result;
    for (std::size_t k = 0; k < N; ++k) {
        result.limb[k] = product[k];
    }
    return result;
}

/// x · factor modulo 1, exactly; `whole` receives the integer part.
template <std::size_t N>
constexpr Fraction<N> multiply(const Fraction<N>& x, std::uint32_t factor, std::uint32_t& whole) {
    Fraction<N> result;
    std::uint64_t carry = 0;
    for (std::size_t k = N; k-- > 0;) {
        carry += std::uint64_t{x.limb[k]} * factor;
        result.limb[k] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
    }
    whole = static_cast<std::uint32_t>(carry);
    return result;
}

/// (whole + x) / divisor for whole < divisor, rounded down.
template <std::size_t N>
constexpr Fraction<N> divide(const Fraction<N>& x, std::uint32_t divisor, std::uint32_t whole = 0) {
    Fraction<N> quotient;
    std::uint64_t remainder = whole;
    for (std::size_t k = whole == 0 ? x.zero_limbs() : 0; k < N; ++k) {
        remainder = remainder << 32 | x.limb[k];
        quotient.limb[k] = static_cast<std::uint32_t>(remainder / divisor);
        remainder %= divisor;
    }
    return quotient;
}

/// x · 2^bits modulo 1, exactly.
template <std::size_t N>
constexpr Fraction<N> shift_left(const Fraction<N>& x, std::size_t bits) {
    Fraction<N> result;
    const std::size_t limbs = bits / 32;
    const std::size_t rest = bits % 32;
    for (std::size_t k = 0; k + limbs < N; ++k) {
        const std::uint64_t upper = x.limb[k + limbs];
        const std::uint64_t lower = k + limbs + 1 < N ? x.limb[k + limbs + 1] : 0;
        result.limb[k] = static_cast<std::uint32_t>((upper << 32 | lower) >> (32 - rest));
    }
    return result;
}

/// x · 2^−bits, rounded down.
template <std::size_t N>
constexpr Fraction<N> shift_right(const Fraction<N>& x, std::size_t bits) {
    Fraction<N> result;
    const std::size_t limbs = bits / 32;
    const std::size_t rest = bits % 32;
    for (std::size_t k = limbs; k < N; ++k) {
        const std::uint64_t lower = x.limb[k - limbs];
        const std::uint64_t upper = k > limbs ? x.limb[k - limbs - 1] : 0;
        result.limb[k] = static_cast<std::uint32_t>((upper << 32 | lower) >> rest);
    }
    return result;
}

}  // namespace attest::detail
