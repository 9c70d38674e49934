// The bound of every stage but the softmax: PROOF §2.1 projection, §2.2 rotation, §2.3 score.
#pragma once

#include "bound/model.hpp"

#include <attest/reference/error.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace attest::reference {

// Magnitudes holds, for a run of elements, |a|, E[a] and |a|⁺ = |a| + E[a], rounded up: what a stage needs to
// know of its inputs. Plain doubles, so that sums of products run at full speed.
struct Magnitudes {
    std::vector<double> exact, error, total;
    bool has_error = false;

    Magnitudes() = default;
    explicit Magnitudes(std::size_t size) { reserve(size); }
    static Magnitudes of_size(std::size_t size);  // zeros, to be set
    void reserve(std::size_t size);
    void push(Upper magnitude, Upper error_of_it);
    void set(std::size_t index, Upper magnitude, Upper error_of_it);
    std::size_t size() const noexcept { return exact.size(); }
};

// inputs_of gives exact inputs with the error of holding them in the declared type.
Magnitudes inputs_of(const Model& model, std::span<const double> values);

// input_overflows tells whether one of them lies beyond the declared type's range.
bool input_overflows(const Model& model, std::span<const double> values);

// sum_up gives Σ a_i, dot_up Σ a_i·b_i of non-negative doubles, rounded up.
Upper sum_up(const double* a, std::size_t count);
Upper dot_up(const double* a, const double* b, std::size_t count);

// Bounded is an error, or the reason for none.
struct Bounded {
    Upper error;
    NoBound reason = NoBound::none;
};

// projection_error bounds one dot product w·x of `count` terms, w starting at `w_first`, x at `x_first`,
// whose exact value is `exact`, with its store: stages 1 and 5.
Bounded projection_error(const Model& model, const Magnitudes& w, std::size_t w_first, const Magnitudes& x,
                         std::size_t x_first, std::size_t count, Upper exact);

// rotation_error bounds the first feature of a turned pair, a·c − b·s; for the second, a·s + b·c, exchange c
// and s. κ bounds the errors of c and s.
Bounded rotation_error(const Model& model, Upper a, Upper a_error, Upper b, Upper b_error, Upper c, Upper s,
                       Upper kappa);

// Scoring is what one query row brings to all its scores.
class Scoring {
  public:
    Scoring(const Model& model, std::size_t width, Upper scale, Upper root_of_scale, Upper softcap);

    // Of a score: magnitudes after each step it went through.
    struct Steps {
        Upper dot, scaled, capped, biased;
        Upper bias_error;
        bool has_bias = false;
    };

    // error gives δ of one final score, of q starting at `q_first` and k at `k_first`.
    Bounded error(const Magnitudes& q, std::size_t q_first, const Magnitudes& k, std::size_t k_first,
                  const Steps& steps) const;

  private:
    const Model& model_;
    std::size_t width_;
    Upper scale_, root_, softcap_;
    Upper scale_or_one_;
    Upper per_term_;       // Γ_{h(d)+1}∘γ_q
    Upper finished_;       // γ_s
    Upper softcap_error_;  // γ_4∘e_tanh
    Upper scale_error_;    // of a scale below the normals
    Upper underflow_;      // 2ω, more where roundings more than double
};

}  // namespace attest::reference
