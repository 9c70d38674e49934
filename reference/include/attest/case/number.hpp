// Floating-point text, read and written by whole-number operations: the same everywhere, with no locale
// behind it.
//
//   [-]0xH[.H]p[±]D   a hex float       [-]D   a whole number
//   inf  -inf         nan:0xPATTERN     16 digits for double, 8 for float
//
// Nothing is rounded: text that a double does not represent exactly is refused, and other decimals are not
// read.
#pragma once

#include <attest/case/case.hpp>
#include <attest/case/error.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace attest::cases {

// parse_number gives the pattern of a double. A float case wants what a float represents and NaN with 8
// digits, whose widened pattern it gives. Errors: BadFloat, FloatOutOfRange, NotRepresentable.
std::expected<std::uint64_t, ErrorCode> parse_number(std::string_view text, ElementType type);

// print_number writes a pattern so that parse_number gives it again: one leading 1 (subnormals too), no
// trailing zero. The pattern must be representable in the type.
std::string print_number(std::uint64_t bits, ElementType type);

// widen and narrow move patterns between float and double by whole-number operations, so that no conversion
// quiets a NaN. narrow cuts what a float cannot hold; representable_in_float tells whether anything is cut.
std::uint64_t widen(std::uint32_t bits);
std::uint32_t narrow(std::uint64_t bits);
bool representable_in_float(std::uint64_t bits);

}  // namespace attest::cases
