// A machine that computes as an Arithmetic says, and takes every liberty it allows.
//
// It has two natures. On the `grid` every operation rounds to a type's numbers, to nearest or faithfully,
// keeping or flushing subnormals, as real hardware does; exp is off by as many units as it may be. As the
// `model` every operation errs by all that PROOF §1.1 grants it, u relative and ω absolute, in the direction
// its Pushes say, whether or not the result is a number of the type: no real machine errs so far, and the
// bound, which is proved for the model, must hold for it.
//
// Values live in double. On the grid an operation on a type of at most 24 bits is done in double and rounded
// once more, which for +, −, ×, ÷ and √ equals rounding once (Figueroa 1995: 53 ≥ 2·24 + 2); for fma it may
// exceed half a unit by 2^−29 of it. f64 is the machine's own, on the grid alone.
#pragma once

#include "random.hpp"

#include <attest/reference/arithmetic.hpp>

#include <array>
#include <cstddef>

namespace attest::reference::attack {

// Stage is the part of a kernel an operation belongs to.
enum class Stage : unsigned char {
    hold,  // an input the type can't hold
    query,
    project,
    angle,
    turn,
    factor,  // the scale, and q or k times it
    dot,
    score,  // what rounds the finished score: the scale, the softcap, the bias
    tanh,
    constant,  // log2 e
    argument,
    exponential,
    weight,  // a narrower store, or a division before the mix
    denominator,
    rescale,
    mix,
    merge,  // of partial results
    divide,
    answer,  // weights as an answer
    output,
    count_,
};

// Pushes say where an operation's error goes, by stage and by key (modulo eight): up (1), down (−1), nowhere
// (0), anywhere (2).
struct Pushes {
    static constexpr std::size_t kKeys = 8;
    static constexpr auto kStages = static_cast<std::size_t>(Stage::count_);
    std::array<std::array<signed char, kKeys>, kStages> direction{};
};

enum class Nature : unsigned char { grid, model };

struct Conduct {
    Nature nature = Nature::grid;
    bool fused = false;
    Pushes pushes{};
    std::uint64_t seed = 0;  // of everything left to chance
};

class Machine {
  public:
    Machine(const Arithmetic& told, const Conduct& conduct)
        : told_(told), conduct_(conduct), random_(conduct.seed) {}

    const Arithmetic& told() const { return told_; }
    Random& random() { return random_; }

    // at names the operations that follow.
    void at(Stage stage, std::size_t key = 0) {
        stage_ = stage;
        key_ = key;
    }

    double add(Number type, double a, double b);
    double multiply(Number type, double a, double b);
    double divide(Number type, double a, double b);
    double root(Number type, double a);
    // a·b + c, rounded once or twice.
    double multiply_add(Number type, double a, double b, double c);

    // An exact number as the type holds it.
    double held(Number type, double value);
    // A value of one type stored in another: nothing is rounded where that one has all values of the first.
    double stored(Number from, Number to, double value);
    // A finished sum, stored.
    double stored(double value) { return stored(told_.accumulate, told_.arithmetic, value); }
    // A constant rounded to the type: the same each time.
    double constant(Number type, double value);
    // A function whose result is off by `units` roundings.
    double function(Number type, double exact, double units);

    // exp or exp2 of x ≤ 0 (or a little above, by rounding), off by what exp_ulps allows, flushed below the
    // normals.
    double exponential(double x, bool base_two);
    double tangent_hyperbolic(double x);
    double logarithm(double x);

  private:
    double push();
    double rounded(Number type, double value, bool may_underflow);
    double on_grid(Number type, double value);
    double flushed(Number type, double value) const;
    double unit_of(Number type) const;
    bool models(Number type) const { return conduct_.nature == Nature::model && type != Number::f64; }

    Arithmetic told_;
    Conduct conduct_;
    Random random_;
    Stage stage_ = Stage::hold;
    std::size_t key_ = 0;
};

}  // namespace attest::reference::attack
