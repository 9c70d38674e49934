// The bound of softmax and mix for one row: PROOF §2.4.
#pragma once

#include "bound/model.hpp"

#include <attest/reference/error.hpp>

#include <cstddef>
#include <vector>

namespace attest::reference {

// RowFacts is what the exact evaluation and the earlier stages say about one row; vectors are by visible key.
struct RowFacts {
    Span span;
    std::vector<Real> gaps;     // maximum − score, not negative
    std::vector<Upper> scores;  // |score|
    std::vector<Upper> deltas;  // δ: how far a computed score may be off
    std::vector<Real> weights;  // exact, sum to 1
    Real denominator;           // Σ exp(−gap)
    Upper maximum;              // |maximum|
};

// Values is what the row mixes, feature by feature; vectors are by visible key.
struct Values {
    std::vector<Upper> total;     // |v|⁺
    std::vector<Upper> error;     // E[v]
    std::vector<Upper> distance;  // |v − o|, o the exact mix
    Upper mixed;                  // |o|
};

// RowBound holds the quantities all features of a row share: how far each weight may stray.
class RowBound {
  public:
    RowBound(const Model& model, const RowFacts& facts);

    // Why no feature of this row has a bound, if so.
    NoBound reason() const noexcept { return reason_; }

    // mix bounds one mixed feature, with its store.
    Upper mix(const Values& values, NoBound& reason) const;

    // weight bounds weight n as an answer, with its store.
    Upper weight(std::size_t n) const;

  private:
    // Weighing is one reading of where a narrower store of the weights takes place.
    struct Weighing {
        std::vector<Upper> highest;  // p⁺
        std::vector<Lower> lowest;   // p⁻
        std::vector<Upper> strays;   // β
        std::vector<Upper> shares;   // p̃
        Lower lowest_sum;            // P⁻
        Upper stray_sum;             // Σβ
        Lower least_denominator;     // L⁻
        Upper most;                  // G⁺e^{γ_z s̄}, of a weight
        Upper growth;                // G⁺ − 1
        Upper per_value;             // g
        Upper whole;                 // Γ∘γ_o∘(r/(1 − r))
        Upper weights_omega;         // ω_w
    };

    void spread(const RowFacts& facts);
    Weighing weigh(const RowFacts& facts, bool stored_before, bool stored_after) const;
    Upper mix_as(const Weighing& weighing, const Values& values) const;

    const Model& model_;
    std::size_t count_ = 0;
    std::uint64_t height_ = 0;      // h(S)
    std::uint64_t rescalings_ = 0;  // R
    Upper widest_score_;            // s̄
    Upper shift_;                   // Δ
    Upper gamma_z_;
    Upper merged_;                  // what a log-sum-exp may be off by, 0 where there is none
    std::vector<Upper> arguments_;  // x
    std::vector<Real> weights_;
    std::vector<Weighing> weighings_;
    NoBound reason_ = NoBound::none;
};

}  // namespace attest::reference
