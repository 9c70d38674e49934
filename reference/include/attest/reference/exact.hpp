// An exact answer as two doubles.
//
// The oracle works in Real; what it hands out is rounded to the unevaluated sum of two doubles, some 106
// bits, and what that rounding loses is added to the error allowed. So whoever only compares needs no
// high-precision number, and an answer of a million elements takes sixteen bytes for each.
#pragma once

#include <string>

namespace attest::reference {

// Exact is head + tail; head is the double nearest to the sum, tail 0 where the answer is a double.
struct Exact {
    double head = 0;
    double tail = 0;

    Exact() = default;
    constexpr explicit Exact(double value) noexcept : head(value) {}
    constexpr Exact(double high, double low) noexcept : head(high), tail(low) {}

    constexpr explicit operator double() const noexcept { return head; }
    friend constexpr bool operator==(const Exact&, const Exact&) = default;
    friend constexpr Exact operator-(const Exact& x) noexcept { return {-x.head, -x.tail}; }
};

// error_of returns |got − want|, rounded up by at most a unit in the last place. Where one of the two is no
// number: 0 when both are the same infinity or both NaN, NaN when got alone is NaN, else +infinity.
[[nodiscard]] double error_of(const Exact& want, double got) noexcept;

// digits_of writes the sum in decimal, with 30 significant digits where it has so many.
[[nodiscard]] std::string digits_of(const Exact& exact);

}  // namespace attest::reference
