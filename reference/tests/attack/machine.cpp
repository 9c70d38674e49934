#include "machine.hpp"

#include <cmath>
#include <limits>

namespace attest::reference::attack {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double Machine::flushed(Number type, double value) const {
    if (told_.subnormals == Subnormals::flushed && std::fabs(value) < format_of(type).normal) return 0;
    return value;
}

double Machine::rounded(Number type, double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    if (type == Number::f64) return flushed(type, value);
    const Format format = format_of(type);
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const double place = std::max(std::ldexp(1.0, exponent - format.digits), format.smallest);
    const double places = value / place;
    double whole = std::nearbyint(places);
    if (told_.rounding == Rounding::faithful)
        whole = random_.chance(4) ? std::ceil(places) : std::trunc(places);
    const double result = whole * place;
    if (std::fabs(result) > format.largest) return std::copysign(kInfinity, value);
    return flushed(type, result);
}

double Machine::add(Number type, double a, double b) {
    return rounded(type, a + b);
}
double Machine::multiply(Number type, double a, double b) {
    return rounded(type, a * b);
}
double Machine::divide(Number type, double a, double b) {
    return rounded(type, a / b);
}
double Machine::root(Number type, double a) {
    return rounded(type, std::sqrt(a));
}

double Machine::multiply_add(Number type, double a, double b, double c) {
    if (!fused_) return add(type, multiply(type, a, b), c);
    return rounded(type, type == Number::f64 ? std::fma(a, b, c) : a * b + c);
}

// A multiple of the largest error allowed, in [−1, 1].
double Machine::noise() {
    switch (bias_) {
        case Bias::none:
            return 0;
        case Bias::up:
            return 1;
        case Bias::down:
            return -1;
        case Bias::random:
            return random_.sign() * (random_.chance(2) ? 1.0 : random_.uniform());
    }
    return 0;
}

double Machine::exponential(double x, bool base_two) {
    if (x == 0) return 1;
    const Number type = told_.softmax_precision;
    const Format format = format_of(type);
    const double exact = base_two ? std::exp2(x) : std::exp(x);
    if (exact == 0) return 0;
    const bool own = told_.summation.kind == Summation::Kind::attest;
    int exponent = 0;
    (void)std::frexp(exact, &exponent);
    const double unit = std::max(std::ldexp(1.0, exponent - format.digits), format.smallest);
    // Half a unit is the rounding's own; in f64 the library's exp takes up to one before any noise.
    const double room = std::max(0.0, told_.exp_ulps - (type == Number::f64 ? 1.0 : 0.5));
    double result = rounded(type, exact + noise() * std::floor(room) * unit);
    if (result < 0) result = 0;
    const bool may_flush = !own && type != Number::f16;
    if (may_flush && result < format.normal && random_.chance(2))
        return random_.chance(2) ? 0 : format.normal;
    return flushed(type, result);
}

double Machine::tangent_hyperbolic(double x) {
    const Number type = told_.softmax_precision;
    return rounded(type, std::tanh(x) * (1 + noise() * 2 * format_of(type).unit));
}

double Machine::logarithm(double x) {
    return rounded(told_.softmax_precision, std::log(x));
}

}  // namespace attest::reference::attack
