#include "bound/stages.hpp"

#include "bound/weaken.hpp"
#include "product_of.hpp"

namespace attest::reference {

Magnitudes Magnitudes::of_size(std::size_t size) {
    Magnitudes magnitudes;
    magnitudes.exact.resize(size);
    magnitudes.error.resize(size);
    magnitudes.total.resize(size);
    return magnitudes;
}

void Magnitudes::reserve(std::size_t size) {
    exact.reserve(size);
    error.reserve(size);
    total.reserve(size);
}

void Magnitudes::push(Upper magnitude, Upper error_of_it) {
    exact.push_back(magnitude.value());
    error.push_back(error_of_it.value());
    total.push_back((magnitude + error_of_it).value());
    has_error |= error_of_it.value() != 0;
}

void Magnitudes::set(std::size_t index, Upper magnitude, Upper error_of_it) {
    exact[index] = magnitude.value();
    error[index] = error_of_it.value();
    total[index] = (magnitude + error_of_it).value();
    has_error |= error_of_it.value() != 0;
}

Magnitudes inputs_of(const Model& model, std::span<const double> values) {
    Magnitudes magnitudes(values.size());
    for (const double value : values)
        magnitudes.push(Upper(value), model.input(value));
    return magnitudes;
}

bool input_overflows(const Model& model, std::span<const double> values) {
    for (const double value : values)
        if (std::fabs(value) > model.largest_stored()) return true;
    return false;
}

namespace {

// A sum of n non-negative terms evaluated in any order in double is at least (1 − u)^n of the true one, a
// product takes one rounding more and may lose half a smallest subnormal below the normals (Higham §3.1,
// §2.1). So the true sum is at most (computed + n·λ)·(1 + 2(n + 1)·u) while n·u is below a tenth.
Upper inflated(double computed, std::size_t count) {
    if (computed == 0 && count == 0) return {};
    const auto n = static_cast<double>(count);
    constexpr double kUnit = 0x1p-53;
    return (Upper(computed) + Upper(n) * Upper(0x1p-1074)) *
           (Upper(1.0) + Upper(2.0) * (Upper(n) + Upper(1.0)) * Upper(kUnit));
}

}  // namespace

Upper sum_up(const double* a, std::size_t count) {
    double sums[4] = {};
    for (std::size_t i = 0; i < count; ++i)
        sums[i % 4] += a[i];
    return inflated((sums[0] + sums[1]) + (sums[2] + sums[3]), count);
}

Upper dot_up(const double* a, const double* b, std::size_t count) {
    const double sum = product_of(a, b, count);
    // 0·∞ is NaN here: an unbounded factor leaves the sum unbounded.
    return std::isnan(sum) ? Upper::infinity() : inflated(sum, count);
}

Bounded projection_error(const Model& model, const Magnitudes& w, std::size_t w_first, const Magnitudes& x,
                         std::size_t x_first, std::size_t count, Upper exact) {
    const Upper rounding = model.gamma_accumulate(model.dot_height(count) + 1);
    if (!rounding.finite()) return {Upper::infinity(), NoBound::gamma_undefined};
    const Upper terms = dot_up(w.total.data() + w_first, x.total.data() + x_first, count);
    if ((Upper(2.0) * terms).value() >= model.largest_accumulated())
        return {Upper::infinity(), NoBound::projection_overflow};

    // Σ (E[w]|x| + |w|E[x] + E[w]E[x]), the last two products taken as one with |x|⁺.
    Upper error;
    if (w.has_error)
        error +=
            weak(Term::projection_weight, dot_up(w.error.data() + w_first, x.total.data() + x_first, count));
    if (x.has_error)
        error +=
            weak(Term::projection_input, dot_up(w.exact.data() + w_first, x.error.data() + x_first, count));
    error += weak(Term::projection_rounding, rounding * terms);
    error += weak(Term::projection_omega,
                  Upper(2.0 * static_cast<double>(count)) * model.omega() * (Upper(1.0) + rounding));
    error = model.stored(exact, error);
    if (!((exact + error).value() < model.largest_stored()))
        return {Upper::infinity(), NoBound::projection_overflow};
    return {error, NoBound::none};
}

Bounded rotation_error(const Model& model, Upper a, Upper a_error, Upper b, Upper b_error, Upper c, Upper s,
                       Upper kappa) {
    const Upper a_total = a + a_error;
    const Upper b_total = b + b_error;
    const Upper products = (c + kappa) * a_total + (s + kappa) * b_total;
    const Upper error = weak(Term::rotation_inherited, c * a_error + s * b_error) +
                        weak(Term::rotation_kappa, kappa * (a_total + b_total)) +
                        model.gamma_stored(weak(Term::rotation_products, std::uint64_t{2})) * products +
                        weak(Term::rotation_omega, Upper(3.0) * model.omega() * (Upper(1.0) + model.unit()));
    if (!((Upper(1.5) * products).value() < model.largest_stored()))
        return {Upper::infinity(), NoBound::rotation_overflow};
    return {error, NoBound::none};
}

Scoring::Scoring(const Model& model, std::size_t width, Upper scale, Upper root_of_scale, Upper softcap)
    : model_(model),
      width_(width),
      scale_(scale),
      root_(larger(Upper(1.0), root_of_scale)),
      softcap_(softcap) {
    scale_or_one_ = larger(Upper(1.0), scale_);
    per_term_ = compose(model.gamma_accumulate(model.dot_height(width) + 1),
                        Model::gamma(model.counts().q, model.unit_scale()));
    finished_ = Model::gamma(model.counts().s, model.unit_scale());
    // Below the normals the scale itself has no relative error.
    if (scale_.value() != 0 && scale_.value() < model.normal())
        scale_error_ = weak(Term::score_scale_subnormal, model.omega());
    underflow_ = larger(Upper(2.0), weak(Term::score_omega_growth, Upper(1.0) + per_term_)) * model.omega();
    softcap_error_ =
        compose(model.gamma_stored(weak(Term::softcap_roundings, std::uint64_t{4})), model.tanh_error());
}

Bounded Scoring::error(const Magnitudes& q, std::size_t q_first, const Magnitudes& k, std::size_t k_first,
                       const Steps& steps) const {
    if (!per_term_.finite() || !finished_.finite() || !softcap_error_.finite())
        return {Upper::infinity(), NoBound::gamma_undefined};
    const double* const q_total = q.total.data() + q_first;
    const double* const k_total = k.total.data() + k_first;
    const Upper omega = model_.omega();
    const auto terms = static_cast<double>(width_);

    const Upper products = dot_up(q_total, k_total, width_);
    // Σ (E[q]|k| + |q|E[k] + E[q]E[k]), the first and last taken as one with |k|⁺.
    Upper inherited;
    if (q.has_error) inherited += weak(Term::score_query, dot_up(q.error.data() + q_first, k_total, width_));
    if (k.has_error)
        inherited +=
            weak(Term::score_key, dot_up(q.exact.data() + q_first, k.error.data() + k_first, width_));
    const Upper features = sum_up(q_total, width_) + sum_up(k_total, width_);
    Upper delta = scale_ * (inherited + weak(Term::score_rounding, per_term_ * products)) +
                  scale_error_ * (Upper(1.0) + per_term_) * products;
    delta += underflow_ * (weak(Term::score_omega_terms, Upper(2.0 * terms) * scale_or_one_) +
                           weak(Term::score_omega_product, Upper(2.0)) +
                           weak(Term::score_omega_features, root_ * features) +
                           weak(Term::score_omega_square, Upper(terms) * omega));
    delta += finished_ * (steps.scaled + weak(Term::score_finished_inherited, delta));

    // Overflow: a scaled q or k, the sum, the dot where it is stored unscaled, the scaled score.
    double widest = 0;
    for (std::size_t f = 0; f < width_; ++f)
        widest = std::max({widest, q_total[f], k_total[f]});
    const Upper room = Upper(1.5) * scale_or_one_;
    const bool fits =
        (room * Upper(widest)).value() < model_.largest_stored() &&
        (room * products).value() < model_.largest_accumulated() &&
        (room * (steps.dot + inherited + per_term_ * products)).value() < model_.largest_stored() &&
        (Upper(1.5) * (steps.scaled + delta)).value() < model_.largest_anywhere();
    if (!fits) return {Upper::infinity(), NoBound::score_overflow};

    if (softcap_.value() != 0) {
        // 1/c may lie below the normals, and tanh's argument is then off by ω of the score.
        if ((softcap_ * Upper(model_.normal())).value() > 0.5)
            delta += weak(Term::softcap_reciprocal, softcap_ * omega * (steps.scaled + delta));
        delta += softcap_error_ * (steps.capped + delta) +
                 weak(Term::softcap_omega, Upper(2.0) * omega * (Upper(2.0) * softcap_ + Upper(1.0))) +
                 softcap_ * model_.tanh_floor() * (Upper(1.0) + softcap_error_);
    }
    if (steps.has_bias) {
        delta += weak(Term::bias_input, steps.bias_error) +
                 weak(Term::bias_sum, model_.unit_scale() * (steps.biased + delta + steps.bias_error));
        if (model_.flushed()) delta += weak(Term::bias_flushed, omega);
    }
    if (!((Upper(1.5) * (steps.biased + delta)).value() < model_.largest_anywhere()))
        return {Upper::infinity(), NoBound::score_overflow};
    return {delta, NoBound::none};
}

}  // namespace attest::reference
