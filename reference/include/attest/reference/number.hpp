// The number types an attention kernel stores and accumulates in, by the four quantities the bound asks of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attest::reference {

enum class Number : std::uint8_t { f64, f32, tf32, f16, bf16 };

// Format describes a binary floating-point type. All members are exact powers of two but `largest`.
struct Format {
    int digits;       // significant bits, the hidden one included
    double unit;      // u, the unit roundoff 2^-digits
    double smallest;  // λ, the smallest subnormal
    double normal;    // ν, the smallest normal
    double largest;   // Ω, the largest finite
};

[[nodiscard]] Format format_of(Number number) noexcept;
[[nodiscard]] std::string_view name_of(Number number) noexcept;
[[nodiscard]] std::optional<Number> number_named(std::string_view name) noexcept;

// holds tells whether `value` is a value of the type: right precision, not below its subnormals, not above Ω.
[[nodiscard]] bool holds(Number number, double value) noexcept;

// contains tells whether every value of `inner` is a value of `outer`, so that storing one there rounds
// nothing.
[[nodiscard]] bool contains(Number outer, Number inner) noexcept;

}  // namespace attest::reference
