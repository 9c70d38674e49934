#include "machine.hpp"

#include <cmath>
#include <limits>

namespace attest::reference::attack {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The model errs by a little less than it may, so that double's own roundings find room.
constexpr double kRoom = 1 - 0x1p-20;

double clipped(const Format& format, double value) {
    return std::fabs(value) > format.largest ? std::copysign(kInfinity, value) : value;
}

}  // namespace

double Machine::flushed(Number type, double value) const {
    if (told_.subnormals == Subnormals::flushed && std::fabs(value) < format_of(type).normal) return 0;
    return value;
}

double Machine::unit_of(Number type) const {
    return format_of(type).unit * (told_.rounding == Rounding::faithful ? 2 : 1);
}

// A multiple of the largest error allowed, in [−1, 1].
double Machine::push() {
    const int direction = conduct_.pushes.direction[static_cast<std::size_t>(stage_)][key_ % Pushes::kKeys];
    if (direction != 2) return direction;
    return random_.sign() * (random_.chance(2) ? 1.0 : random_.uniform());
}

double Machine::on_grid(Number type, double value) {
    if (type == Number::f64) return flushed(type, value);
    const Format format = format_of(type);
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const double place = std::max(std::ldexp(1.0, exponent - format.digits), format.smallest);
    const double places = value / place;
    double whole = std::nearbyint(places);
    if (told_.rounding == Rounding::faithful)
        whole = random_.chance(4) ? std::ceil(places) : std::trunc(places);
    return flushed(type, clipped(format, whole * place));
}

double Machine::rounded(Number type, double value, bool may_underflow) {
    if (value == 0 || !std::isfinite(value)) return value;
    if (!models(type)) return on_grid(type, value);
    const Format format = format_of(type);
    const bool flushes = told_.subnormals == Subnormals::flushed;
    const double omega = flushes ? format.normal : unit_of(type) / format.unit * format.smallest / 2;
    double off = unit_of(type) * std::fabs(value);
    // Flushing takes what lies below the normals and nothing else.
    if (flushes ? std::fabs(value) < format.normal : may_underflow) off += omega;
    return clipped(format, value + push() * kRoom * off);
}

double Machine::add(Number type, double a, double b) {
    if (a == 0) return b;
    if (b == 0) return a;
    return rounded(type, a + b, false);
}
double Machine::multiply(Number type, double a, double b) {
    return rounded(type, a * b, true);
}
double Machine::divide(Number type, double a, double b) {
    return rounded(type, a / b, true);
}
double Machine::root(Number type, double a) {
    return rounded(type, std::sqrt(a), true);
}

double Machine::multiply_add(Number type, double a, double b, double c) {
    if (!conduct_.fused || c == 0) return add(type, multiply(type, a, b), c);
    return rounded(type, type == Number::f64 ? std::fma(a, b, c) : a * b + c, true);
}

double Machine::held(Number type, double value) {
    if (holds(type, value)) return flushed(type, value);
    at(Stage::hold);
    // Rounding keeps the sign, even where ω exceeds the number.
    return std::copysign(std::max(0.0, std::copysign(1.0, value) * rounded(type, value, true)), value);
}

double Machine::stored(Number from, Number to, double value) {
    if (!contains(to, from)) return rounded(to, value, true);
    return models(to) ? value : on_grid(to, value);
}

double Machine::constant(Number type, double value) {
    if (!models(type)) return on_grid(type, value);
    const int direction = conduct_.pushes.direction[static_cast<std::size_t>(Stage::constant)][0];
    return value * (1 + (direction == 2 ? 1 : direction) * kRoom * unit_of(type));
}

double Machine::function(Number type, double exact, double units) {
    if (models(type)) return exact + push() * kRoom * units * unit_of(type) * std::fabs(exact);
    return exact == 0 ? 0 : on_grid(type, exact);
}

double Machine::exponential(double x, bool base_two) {
    if (x == 0) return 1;
    const Number type = told_.softmax_precision;
    const Format format = format_of(type);
    const double exact = base_two ? std::exp2(x) : std::exp(x);
    const bool own = told_.summation.kind == Summation::Kind::attest;
    if (models(type)) {
        const double doubled = unit_of(type) / format.unit;
        const bool flushes = told_.subnormals == Subnormals::flushed;
        double floor = format.normal;
        if (!flushes && own) floor = doubled * format.smallest * std::max(1.0, told_.exp_ulps);
        if (!flushes && !own && type == Number::f16)
            floor = format.smallest * std::max(4.0, doubled * told_.exp_ulps);
        const double off = 2 * unit_of(type) * told_.exp_ulps * exact + floor;
        return std::max(0.0, exact + push() * kRoom * off);
    }
    if (exact == 0) return 0;
    int exponent = 0;
    (void)std::frexp(exact, &exponent);
    const double unit = std::max(std::ldexp(1.0, exponent - format.digits), format.smallest);
    // Half a unit is the rounding's own; in f64 the library's exp takes up to one before any noise.
    const double room = std::max(0.0, told_.exp_ulps - (type == Number::f64 ? 1.0 : 0.5));
    const double near = exact + push() * std::floor(room) * unit;
    const double result = near > 0 ? on_grid(type, near) : 0;
    const bool may_flush = !own && type != Number::f16;
    if (may_flush && result < format.normal && random_.chance(2))
        return random_.chance(2) ? 0 : format.normal;
    return result;
}

// e_tanh: 2u·exp_ulps, and u where what is stored is narrower; made of exps, 4u·exp_ulps + 8u absolutely.
double Machine::tangent_hyperbolic(double x) {
    const Number type = told_.softmax_precision;
    const double unit = unit_of(type);
    const double exact = std::tanh(x);
    if (!models(type)) return exact == 0 ? 0 : on_grid(type, exact * (1 + push() * 2 * format_of(type).unit));
    const double relative = 2 * unit * told_.exp_ulps;
    return exact + push() * kRoom * (relative * std::fabs(exact) + 2 * relative + 8 * unit);
}

// Off by four units.
double Machine::logarithm(double x) {
    return function(told_.softmax_precision, std::log(x), 8);
}

}  // namespace attest::reference::attack
