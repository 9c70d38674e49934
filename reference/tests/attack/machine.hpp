// A machine that computes as an Arithmetic says: every operation rounds to a type's grid, to nearest or
// faithfully, keeping or flushing subnormals. It is what the bound is attacked with, so it takes every
// liberty its Arithmetic allows: exp is off by as many units as it may be, in the direction it is told.
//
// Values live in double. An operation on a type of at most 24 bits is done in double and rounded once more,
// which for +, −, ×, ÷ and √ equals rounding once (Figueroa 1995: 53 ≥ 2·24 + 2); for fma it may exceed half
// a unit by 2^−29 of it. f64 is the machine's own.
#pragma once

#include "random.hpp"

#include <attest/reference/arithmetic.hpp>

namespace attest::reference::attack {

enum class Bias : unsigned char { none, up, down, random };  // where errors that may go either way go

class Machine {
  public:
    Machine(const Arithmetic& told, Random& random, Bias bias, bool fused)
        : told_(told), random_(random), bias_(bias), fused_(fused) {}

    const Arithmetic& told() const { return told_; }
    Random& random() { return random_; }

    double rounded(Number type, double value);
    double add(Number type, double a, double b);
    double multiply(Number type, double a, double b);
    double divide(Number type, double a, double b);
    double root(Number type, double a);
    // a·b + c, rounded once or twice.
    double multiply_add(Number type, double a, double b, double c);
    // Rounds where the stored type is narrower.
    double stored(double value) { return rounded(told_.arithmetic, value); }

    // exp or exp2 of x ≤ 0 (or a little above, by rounding), off by what exp_ulps allows, flushed below the
    // normals.
    double exponential(double x, bool base_two);
    double tangent_hyperbolic(double x);
    double logarithm(double x);

  private:
    double noise();
    double flushed(Number type, double value) const;

    Arithmetic told_;
    Random& random_;
    Bias bias_;
    bool fused_;
};

}  // namespace attest::reference::attack
