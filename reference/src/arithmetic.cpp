#include <attest/reference/arithmetic.hpp>

namespace attest::reference {

Arithmetic Arithmetic::foreign(Number answer) noexcept {
    Arithmetic arithmetic;
    arithmetic.arithmetic = answer;
    arithmetic.accumulate = answer == Number::f64 ? Number::f64 : Number::f32;
    arithmetic.softmax_precision = arithmetic.accumulate;
    arithmetic.weights_type = arithmetic.accumulate;
    arithmetic.rope_angles = answer == Number::f64 ? RopeAngles::f64 : RopeAngles::f32;
    return arithmetic;
}

Arithmetic Arithmetic::own(Number number) noexcept {
    Arithmetic arithmetic;
    arithmetic.arithmetic = number;
    arithmetic.accumulate = number;
    arithmetic.softmax_precision = number;
    arithmetic.weights_type = number;
    arithmetic.summation = {.kind = Summation::Kind::attest, .block = 0};
    arithmetic.passes = {.kind = Passes::Kind::two_pass, .size = 0};
    arithmetic.exponent = Exponent::e;
    arithmetic.scaled = Scaled::score;
    arithmetic.exp_ulps = 1;
    arithmetic.rope_angles = RopeAngles::exact;
    return arithmetic;
}

}  // namespace attest::reference
