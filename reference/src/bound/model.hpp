// The model of a declared arithmetic: unit roundoffs, counted roundings, heights of sums.
//
// One table counts the roundings (`Counts`); every stage of the bound asks this model and counts nothing
// itself. The symbols are those of reference/PROOF.md, section 1.
#pragma once

#include "bound/outward.hpp"

#include <attest/reference/arithmetic.hpp>

#include <cstdint>

namespace attest::reference {

// Counts are roundings that no dot product or sum contains (PROOF §1.3).
struct Counts {
    std::uint64_t q = 0;  // on every term of a score: the scale times q, times k
    std::uint64_t s = 0;  // on the finished score
    std::uint64_t a = 0;  // on exp's argument, relative to score − maximum
    std::uint64_t z = 0;  // on exp's argument, relative to the score and the maximum apart
    std::uint64_t w = 0;  // on a weight before the mix
    std::uint64_t o = 0;  // on the mixed value after the sums
};

// Span says how many keys a sum over positions meets and where they stand.
struct Span {
    std::uint64_t seen = 0;   // S, the keys that are not hidden
    std::uint64_t last = 0;   // 1 + the index of the last of them
    std::uint64_t total = 0;  // all columns, seen or not
};

class Model {
  public:
    // `head_width` decides whether the default scale 1/√d starts from a representable d.
    Model(const Arithmetic& arithmetic, std::uint64_t head_width);

    const Arithmetic& told() const noexcept { return told_; }
    const Counts& counts() const noexcept { return counts_; }

    Upper unit() const noexcept { return unit_; }                        // u: what is stored
    Upper unit_accumulate() const noexcept { return unit_accumulate_; }  // u_a: inside dots and sums
    Upper unit_softmax() const noexcept { return unit_softmax_; }  // u_x: exp, its argument, the division
    // Of γ_q and γ_s: the larger of u and u_a.
    Upper unit_scale() const noexcept { return unit_scale_; }

    Upper omega() const noexcept { return omega_; }                        // ω
    Upper omega_accumulate() const noexcept { return omega_accumulate_; }  // ω_a
    Upper omega_softmax() const noexcept { return omega_softmax_; }        // ω_x
    Upper exp_error() const noexcept { return exp_error_; }                // e
    Upper exp_floor() const noexcept { return exp_floor_; }                // θ
    Upper tanh_error() const noexcept { return tanh_error_; }              // e_tanh
    Upper tanh_floor() const noexcept { return tanh_floor_; }              // e_abs
    double normal() const noexcept { return normal_; }                     // ν
    bool flushed() const noexcept { return told_.subnormals == Subnormals::flushed; }
    bool split() const noexcept { return split_; }
    // Whether a quotient may be a product with a reciprocal.
    bool reciprocals() const noexcept { return told_.summation.kind != Summation::Kind::attest; }

    // What the weights' own store rounds by: u_w, 0 unless it is narrower than where they were formed.
    Upper unit_weights() const noexcept { return unit_weights_; }

    // Overflow thresholds Ω: of what is stored, of sums, of exp and division, and of the narrowest of all.
    double largest_stored() const noexcept { return largest_stored_; }
    double largest_accumulated() const noexcept { return largest_accumulated_; }
    double largest_softmax() const noexcept { return largest_softmax_; }
    double largest_anywhere() const noexcept { return largest_anywhere_; }

    // γ_n = n·u/(1 − n·u), infinite where n·u ≥ 1 (Higham, Accuracy and Stability, §3.1).
    static Upper gamma(std::uint64_t n, Upper unit) noexcept;
    Upper gamma_accumulate(std::uint64_t n) const noexcept { return gamma(n, unit_accumulate_); }
    Upper gamma_softmax(std::uint64_t n) const noexcept { return gamma(n, unit_softmax_); }
    Upper gamma_stored(std::uint64_t n) const noexcept { return gamma(n, unit_); }

    // h(n): additions on the longest path of a sum, for a dot product and for a sum over positions.
    std::uint64_t dot_height(std::uint64_t terms) const noexcept;
    std::uint64_t position_height(const Span& span) const noexcept;

    // R before records are counted: how often a weight can be rescaled after it was formed.
    std::uint64_t rescalings(const Span& span) const noexcept;
    // Whether keys are walked by index, so that records bound the rescalings.
    bool walks_by_index() const noexcept { return told_.passes.kind == Passes::Kind::online; }

    // What an exact input of the declared type is off by once it is held there: E of an input.
    Upper input(double value) const noexcept;

    // A finished dot or sum goes to storage: E + u·(|a| + E) + ω where storage is narrower than the sum.
    Upper stored(Upper magnitude, Upper error) const noexcept;

    // κ: how far a cosine or sine of `angle` = position·base^(−2·pair/rope_width) may be off.
    Upper turn_error(const Real& angle, double base, std::uint64_t pair, std::uint64_t rope_width,
                     std::int64_t position) const;

  private:
    std::uint64_t sum_height(std::uint64_t seen, std::uint64_t last, std::uint64_t total) const noexcept;

    Arithmetic told_;
    Counts counts_;
    Upper unit_, unit_accumulate_, unit_softmax_, unit_scale_, unit_weights_;
    Upper omega_, omega_accumulate_, omega_softmax_, exp_error_, exp_floor_, tanh_error_, tanh_floor_;
    double normal_ = 0;
    double largest_stored_ = 0, largest_accumulated_ = 0, largest_softmax_ = 0, largest_anywhere_ = 0;
    bool store_rounds_ = false;
    bool split_ = false;
};

}  // namespace attest::reference
