#include "bound/row.hpp"

#include "bound/weaken.hpp"

#include <algorithm>

namespace attest::reference {
namespace {

// records counts, over both ways, the keys after the first that may set a new running maximum: those whose
// score, δ above, exceeds every earlier one, δ below. Only they rescale, since exp(0) = 1.
std::uint64_t records(const RowFacts& facts) {
    const std::size_t count = facts.gaps.size();
    std::uint64_t worst = 0;
    for (const bool upward : {true, false}) {
        std::uint64_t found = 0;
        Real highest_low;
        for (std::size_t step = 0; step < count; ++step) {
            const std::size_t n = upward ? step : count - 1 - step;
            const Real delta = facts.deltas[n].value();
            if (step != 0 && -facts.gaps[n] + delta >= highest_low) ++found;
            const Real low = -facts.gaps[n] - delta;
            if (step == 0 || low > highest_low) highest_low = low;
        }
        worst = std::max(worst, found);
    }
    return worst;
}

}  // namespace

RowBound::RowBound(const Model& model, const RowFacts& facts)
    : model_(model), count_(facts.gaps.size()), weights_(facts.weights) {
    height_ = weak(Term::height_positions, model.position_height(facts.span));
    rescalings_ = model.rescalings(facts.span);
    if (model.walks_by_index()) rescalings_ = std::min(rescalings_, records(facts));
    rescalings_ = weak(Term::count_rescalings, rescalings_);
    spread(facts);

    const bool defined =
        model.gamma_accumulate(height_ + 1 + rescalings_).finite() && gamma_z_.finite() &&
        model.gamma_softmax(std::max({model.counts().a, model.counts().w, model.counts().o})).finite() &&
        model.exp_error().value() < 1 && model.unit_weights().value() < 1;
    if (!defined) {
        reason_ = NoBound::gamma_undefined;
        return;
    }
    if (!(Upper(1.5) * widest_score_ < Upper(model.largest_anywhere()))) {
        reason_ = NoBound::score_overflow;
        return;
    }
    const bool narrower = model.unit_weights().value() != 0;
    const WeightsStored stored = model.told().weights_stored;
    if (!narrower) {
        weighings_.push_back(weigh(facts, false, false));
    } else {
        if (stored != WeightsStored::after) weighings_.push_back(weigh(facts, true, false));
        if (stored != WeightsStored::before) weighings_.push_back(weigh(facts, false, true));
    }
}

// s̄, Δ and x.
void RowBound::spread(const RowFacts& facts) {
    gamma_z_ = model_.gamma_softmax(model_.counts().z);
    const Upper gamma_a = model_.gamma_softmax(model_.counts().a);

    // Δ: the computed maximum is at most max(s + δ) and at least max(s − δ).
    Upper above, below = Upper::infinity();
    for (std::size_t n = 0; n < count_; ++n) {
        const Upper delta = facts.deltas[n];
        widest_score_ = larger(widest_score_, facts.scores[n] + delta);
        const Real over = Real(delta.value()) - facts.gaps[n];
        if (over > 0) above = larger(above, Upper::of(over));
        below = smaller(below, Upper::of(facts.gaps[n]) + delta);
    }
    shift_ = larger(weak(Term::maximum_above, above), weak(Term::maximum_below, below));

    Upper split_share, gamma_split;
    if (model_.split()) {
        const Upper log_count = Upper::of(Real(log(Real(static_cast<double>(count_)))));
        gamma_split =
            weak(Term::split_argument, Model::gamma(4, larger(model_.unit_scale(), model_.unit_softmax())));
        split_share = gamma_split * (shift_ + log_count) +
                      weak(Term::split_logarithm, Upper(8.0) * model_.unit_softmax() * log_count) +
                      weak(Term::split_sums, Upper(2.0) * model_.gamma_accumulate(height_));
    }
    merged_ = gamma_split * widest_score_ + split_share;
    arguments_.reserve(count_);
    for (std::size_t n = 0; n < count_; ++n) {
        const Upper delta = facts.deltas[n];
        const Upper apart = larger(facts.scores[n], facts.maximum) + delta;
        Upper x = weak(Term::argument_score, delta) +
                  weak(Term::argument_difference, gamma_a * (Upper::of(facts.gaps[n]) + delta + shift_)) +
                  weak(Term::argument_apart, gamma_z_ * (apart + shift_));
        if (model_.split()) x += gamma_split * apart + split_share;
        arguments_.push_back(x);
    }
}

RowBound::Weighing RowBound::weigh(const RowFacts& facts, bool stored_before, bool stored_after) const {
    const Counts& counts = model_.counts();
    const Upper unit_weights = model_.unit_weights();
    Weighing w;

    // G⁺ − 1 and G⁻: exp's relative error at the weight itself and at each rescaling.
    w.growth = compounded(model_.exp_error(), 1 + rescalings_);
    Lower shrink = shrunk(model_.exp_error(), 1 + rescalings_);
    Upper floor = model_.exp_floor();
    if (stored_before) {
        w.growth = compose(w.growth, weak(Term::weight_unit_before, unit_weights));
        shrink = shrink * (Lower(1.0) - weak(Term::weight_unit_before, unit_weights));
        floor += weak(Term::weight_omega_before, model_.omega());
    }
    const Upper grown = Upper(1.0) + w.growth;
    w.least_denominator = shrink * exp_minus_down(gamma_z_ * (facts.maximum + shift_));

    // τ: what exp may lose or gain absolutely, relative to the exact denominator.
    const Upper drift = Upper(1.0) + weak(Term::floor_drift, expm1_up(shift_ + gamma_z_ * widest_score_));
    const Upper times = Upper(1.0) + weak(Term::floor_rescaled, Upper(static_cast<double>(rescalings_)));
    const Upper tau = floor * times * grown * drift / Lower::of(facts.denominator);

    for (std::size_t n = 0; n < count_; ++n) {
        const Upper x = arguments_[n];
        Upper stray;
        Lower low;
        if (x.value() <= kSeriesLimit) {
            // p⁺ − p = p·(e^x·G⁺ − 1) + τ; p − p⁻ is never more, since 1 − e^−x ≤ e^x − 1 and 1 − G⁻ ≤ G⁺
            // − 1.
            const Upper p = Upper::of(facts.weights[n]);
            stray = p * compose(expm1_up(x), weak(Term::stray_growth, w.growth)) + tau;
            low = Lower::of(facts.weights[n]) * exp_minus_down(x) * shrink - tau;
            w.highest.push_back(p + stray);
        } else {
            // One exponent, so that a weight of 0 and a factor of ∞ never meet.
            const Real up = exp(Real(x.value()) - facts.gaps[n]) / facts.denominator;
            const Real down = exp(-facts.gaps[n] - Real(x.value())) / facts.denominator;
            const Upper high = Upper::of(up) * grown + tau;
            low = Lower::of(down) * shrink - tau;
            stray = Upper::of(Real(up - facts.weights[n])) +
                    Upper::of(up) * weak(Term::stray_growth, w.growth) + tau;
            w.highest.push_back(high);
        }
        w.lowest.push_back(low);
        w.strays.push_back(stray);
        w.stray_sum += stray;
        w.lowest_sum += low;
    }
    for (std::size_t n = 0; n < count_; ++n) {
        // p̃ = p⁺/(p⁺ + Σ_{i≠n} p⁻): the quotient grows with p⁺.
        const Upper high = w.highest[n];
        const Lower rest = w.lowest_sum - Upper(w.lowest[n].value());
        Upper share(1.0);
        if (high.finite()) share = smaller(share, high / (Lower(high.value()) + rest));
        w.shares.push_back(share);
    }

    // The most a computed weight can be, in that quotient's own units.
    w.most = grown * exp_up(gamma_z_ * widest_score_);
    const Upper summed = weak(Term::denominator_rounding, model_.gamma_accumulate(height_ + rescalings_));
    Upper per_value =
        compose(model_.gamma_accumulate(height_ + 1 + rescalings_), model_.gamma_softmax(counts.w));
    if (stored_after) {
        per_value = compose(per_value, weak(Term::weight_unit_after, unit_weights));
        w.weights_omega = weak(Term::weight_omega_after, model_.omega());
    }
    w.per_value = weak(Term::mix_rounding, per_value);
    // The denominator may be less by this part of it, so the quotient more by r/(1 − r).
    Upper times_lost = weak(Term::denominator_lost, Upper(static_cast<double>(rescalings_)));
    if (model_.flushed()) times_lost += weak(Term::denominator_flushed, Upper(static_cast<double>(count_)));
    const Upper lost = times_lost * model_.omega_accumulate() / w.least_denominator;
    w.whole = compose(compose(summed, model_.gamma_softmax(counts.o)), lost / (Lower(1.0) - lost));
    return w;
}

Upper RowBound::mix_as(const Weighing& w, const Values& values) const {
    Upper strayed, hull, kept, plain, inherited;
    for (std::size_t n = 0; n < count_; ++n) {
        strayed += w.strays[n] * values.distance[n];
        hull = larger(hull, values.distance[n]);
        kept += w.shares[n] * values.total[n];
        plain += values.total[n];
        inherited += w.shares[n] * values.error[n];
    }
    const Upper grown = Upper(1.0) + w.growth;
    // Partials are divided, then merged by products and sums of their own.
    const double split = model_.split() ? 2.0 : 1.0;
    const double merged = model_.flushed() ? split : 1.0;
    const Upper terms(2.0 * merged * static_cast<double>(count_) + static_cast<double>(rescalings_));
    const Upper moved = smaller(weak(Term::strays, strayed / w.lowest_sum), weak(Term::hull, hull));  // A
    // Divided weights, and a reciprocal for each.
    const Upper quotients = Upper(1.0) + (model_.reciprocals() ? w.most : Upper());
    const Upper underflows =
        weak(Term::mix_omega_sums, model_.omega_accumulate() * terms * grown / w.least_denominator) +
        weak(Term::mix_omega_values, model_.omega_softmax() * Upper(split) * quotients * plain) +
        w.weights_omega * plain * grown / w.least_denominator;
    const Upper before_division = moved + weak(Term::value_error, inherited) + w.per_value * kept +
                                  (Upper(1.0) + weak(Term::mix_growth, w.per_value)) * underflows;  // F
    const Upper error = before_division + w.whole * (values.mixed + before_division) +
                        weak(Term::mix_omega_division, Upper(2.0) * model_.omega());
    return model_.stored(values.mixed, error);
}

Upper RowBound::mix(const Values& values, NoBound& reason) const {
    reason = reason_;
    if (reason != NoBound::none) return Upper::infinity();
    Upper sum(static_cast<double>(count_));
    for (const Upper& value : values.total)
        sum += value;
    Upper error;
    for (const Weighing& w : weighings_) {
        const Upper weighed = Upper(2.0) * sum * w.most;
        if (!(weighed.value() < std::min(model_.largest_accumulated(), model_.largest_stored())) ||
            !((Upper(2.0 * static_cast<double>(count_)) * w.most).value() < model_.largest_softmax())) {
            reason = NoBound::mix_overflow;
            return Upper::infinity();
        }
        error = larger(error, mix_as(w, values));
    }
    if (!error.finite()) reason = NoBound::unbounded;
    if (error.finite() && !((values.mixed + error).value() < model_.largest_stored())) {
        reason = NoBound::mix_overflow;
        return Upper::infinity();
    }
    return error;
}

Upper RowBound::weight(std::size_t n) const {
    if (reason_ != NoBound::none) return Upper::infinity();
    const Real& p = weights_[n];
    const Upper magnitude = Upper::of(p);
    const Upper others = Upper::of(Real(1 - p));
    Upper error;
    for (const Weighing& w : weighings_) {
        // Where keys are met in one pass, answered weights are formed anew, and stray apart from those the
        // denominator summed: then the stray of weight n counts whole, and nothing caps the quotient at 1 but
        // the least denominator. Otherwise it counts in numerator and denominator alike.
        const bool anew = model_.told().passes.kind != Passes::Kind::two_pass;
        const double rest = w.stray_sum.value() - w.strays[n].value();
        // The other strays' sum: the whole sum, rounded up, less this one, rounded down.
        const Upper rest_up = w.stray_sum.finite() ? Upper(step_up(std::max(rest, 0.0))) : Upper::infinity();
        const Upper strayed = weak(Term::answer_stray, anew ? w.strays[n] + magnitude * w.stray_sum
                                                            : w.strays[n] * others + magnitude * rest_up) /
                              w.lowest_sum;
        // Where a weight or their sum may leave the range, the quotient is no number.
        const Upper largest = (Upper(1.0) + w.growth) * exp_up(gamma_z_ * widest_score_ + merged_);
        if (!((Upper(2.0 * static_cast<double>(count_)) * largest).value() < model_.largest_anywhere()))
            return Upper::infinity();
        const Upper highest = largest / w.least_denominator;
        const Upper moved =
            smaller(strayed, weak(Term::answer_cap, larger(magnitude, anew ? highest : others)));
        Upper one = moved + w.whole * (magnitude + moved) +
                    weak(Term::answer_omega,
                         model_.omega() * (Upper(2.0) + (model_.reciprocals() ? w.most : Upper())));
        // Formed as exp(score − log-sum-exp), a weight meets exp's floor undivided.
        if (anew) one += weak(Term::answer_floor, model_.exp_floor());
        if (w.weights_omega.value() != 0 || model_.unit_weights().value() != 0)
            one += weak(Term::answer_unit, model_.unit_weights() * (magnitude + one) + model_.omega());
        error = larger(error, model_.stored(magnitude, one));
    }
    if (!((magnitude + error).value() < model_.largest_anywhere())) return Upper::infinity();
    return error;
}

}  // namespace attest::reference
