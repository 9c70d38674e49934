// Why an attention result cannot be judged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attest::reference {

// Error refuses a whole problem. `subject` is the tensor, key or file at fault; `message` says what was found
// and what was expected there. `disagreement` alone is the oracle's own fault: its two evaluations differ.
struct Error {
    enum class Code : std::uint8_t {
        missing_tensor,
        unknown_tensor,
        shape_mismatch,
        type_mismatch,
        non_finite,
        out_of_range,
        missing_key,
        unknown_key,
        bad_value,
        nothing_to_judge,
        disagreement,
    };
    Code code;
    std::string subject;
    std::string message;
};

[[nodiscard]] std::string_view name_of(Error::Code code) noexcept;

// NoBound says why no error can be allowed to one element. It is never a pass: such an element's allowed
// error is +infinity, and the comparator counts it as unproved.
enum class NoBound : std::uint8_t {
    none,
    gamma_undefined,        // so many roundings that n·u ≥ 1
    input_overflow,         // an input lies beyond the declared arithmetic's range
    projection_overflow,    // a projection's sum may overflow
    rotation_overflow,      // a rotated feature may overflow
    score_overflow,         // q, k or their dot product, scaled or not, may overflow
    mix_overflow,           // the weighted sum of the values may overflow
    hidden_by_finite_bias,  // a row of keys hidden by finite biases only
    unbounded,              // the errors allowed upstream are too large for a finite bound
};

[[nodiscard]] std::string_view name_of(NoBound reason) noexcept;

}  // namespace attest::reference
