// Doubles that know which way they err.
//
// The bound is a sum of products of magnitudes, so it is evaluated in double with every operation rounded
// away from the truth: an Upper is never below the quantity it stands for, a Lower never above it. Each
// operation takes the double nearest to the exact result, which is at most half a unit in the last place off,
// and steps one unit outward (IEEE 754-2019 §4.3.1; below the normals sums are exact and products off by at
// most half the smallest subnormal, so the step covers them too). The step costs one integer addition, since
// the bit patterns of non-negative doubles are ordered like their values.
//
// Zero stays exactly zero, so that a row that sees nothing is allowed nothing. +infinity in an Upper stands
// for a finite quantity of which nothing is known: 0 times it is 0.
#pragma once

#include <attest/reference/real.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace attest::reference {

// step_up gives the next double above a non-negative one; infinity and NaN become infinity.
[[nodiscard]] inline double step_up(double value) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return value < infinity ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) + 1) : infinity;
}

// step_down gives the next double below a positive one; everything that is not positive becomes 0.
[[nodiscard]] inline double step_down(double value) noexcept {
    return value > 0 ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) - 1) : 0.0;
}

class Lower;

class Upper {
  public:
    constexpr Upper() = default;

    // The magnitude of an exact double.
    Upper(double exact) noexcept : value_(std::fabs(exact)) {}  // NOLINT(google-explicit-constructor)

    // The magnitude of a Real. The Real may itself be off in its last digits: the step covers that.
    template <unsigned digits>
    [[nodiscard]] static Upper of(const RealOf<digits>& exact) noexcept {
        const double up = magnitude_up(exact);
        return already(up == 0 ? 0 : step_up(up));
    }

    [[nodiscard]] static Upper infinity() noexcept {
        return already(std::numeric_limits<double>::infinity());
    }

    [[nodiscard]] double value() const noexcept { return value_; }
    [[nodiscard]] bool finite() const noexcept { return value_ < std::numeric_limits<double>::infinity(); }

    friend Upper operator+(Upper a, Upper b) noexcept {
        if (a.value_ == 0) return b;
        if (b.value_ == 0) return a;
        return already(step_up(a.value_ + b.value_));
    }
    friend Upper operator*(Upper a, Upper b) noexcept {
        if (a.value_ == 0 || b.value_ == 0) return {};
        return already(step_up(a.value_ * b.value_));
    }
    Upper& operator+=(Upper other) noexcept { return *this = *this + other; }
    friend bool operator<(Upper a, Upper b) noexcept { return a.value_ < b.value_; }

  private:
    friend class Lower;
    friend Upper operator/(Upper a, Lower b) noexcept;
    [[nodiscard]] static Upper already(double value) noexcept {
        Upper upper;
        upper.value_ = value;
        return upper;
    }

    double value_ = 0;
};

class Lower {
  public:
    constexpr Lower() = default;
    explicit Lower(double exact) noexcept : value_(std::fabs(exact)) {}

    template <unsigned digits>
    [[nodiscard]] static Lower of(const RealOf<digits>& exact) noexcept {
        return already(step_down(magnitude_down(exact)));
    }

    [[nodiscard]] double value() const noexcept { return value_; }

    friend Lower operator+(Lower a, Lower b) noexcept {
        if (a.value_ == 0) return b;
        if (b.value_ == 0) return a;
        return already(step_down(a.value_ + b.value_));
    }
    // The difference, or 0 where it may not be positive.
    friend Lower operator-(Lower a, Upper b) noexcept { return already(step_down(a.value_ - b.value())); }
    friend Lower operator*(Lower a, Lower b) noexcept { return already(step_down(a.value_ * b.value_)); }
    Lower& operator+=(Lower other) noexcept { return *this = *this + other; }

  private:
    [[nodiscard]] static Lower already(double value) noexcept {
        Lower lower;
        lower.value_ = value;
        return lower;
    }

    double value_ = 0;
};

// The quotient; infinity where the divisor may be 0.
[[nodiscard]] inline Upper operator/(Upper a, Lower b) noexcept {
    if (a.value() == 0) return {};
    return Upper::already(b.value() == 0 ? std::numeric_limits<double>::infinity()
                                         : step_up(a.value() / b.value()));
}

// compose gives a∘b = (1 + a)(1 + b) − 1 without ever forming 1 + a, which would lose a small a.
[[nodiscard]] inline Upper compose(Upper a, Upper b) noexcept {
    return a + b + a * b;
}

// compounded gives (1 + a)^n − 1.
[[nodiscard]] inline Upper compounded(Upper a, std::uint64_t n) noexcept {
    Upper result;
    for (; n != 0; n /= 2, a = compose(a, a))
        if (n % 2 == 1) result = compose(result, a);
    return result;
}

// shrunk gives (1 − a)^n, 0 where a may reach 1.
[[nodiscard]] inline Lower shrunk(Upper a, std::uint64_t n) noexcept {
    Lower factor = Lower(1.0) - a;
    Lower result(1.0);
    for (; n != 0; n /= 2, factor = factor * factor)
        if (n % 2 == 1) result = result * factor;
    return result;
}

// Below this argument the exponential is bounded by its series, above it is evaluated in Real.
inline constexpr double kSeriesLimit = 0.125;

// expm1_up gives e^x − 1. For x ≤ 1 the series from the cube on is below x³/2, since Σ_{k≥3} 1/k! = 0.218….
[[nodiscard]] inline Upper expm1_up(Upper x) noexcept {
    if (x.value() <= kSeriesLimit) return x + x * x * Upper(0.5) * (Upper(1.0) + x);
    if (!x.finite()) return Upper::infinity();
    return Upper::of(Real(exp(Real(x.value())) - 1));
}

// exp_up gives e^x.
[[nodiscard]] inline Upper exp_up(Upper x) noexcept {
    return Upper(1.0) + expm1_up(x);
}

// exp_minus_down gives e^−x, which is at least 1 − x.
[[nodiscard]] inline Lower exp_minus_down(Upper x) noexcept {
    if (x.value() <= kSeriesLimit) return Lower(1.0) - x;
    if (!x.finite()) return {};
    return Lower::of(Real(exp(Real(-x.value()))));
}

[[nodiscard]] inline Upper larger(Upper a, Upper b) noexcept {
    return a < b ? b : a;
}
[[nodiscard]] inline Upper smaller(Upper a, Upper b) noexcept {
    return a < b ? a : b;
}

}  // namespace attest::reference
