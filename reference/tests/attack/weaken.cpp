#include "weaken.hpp"

#include "attack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace attest::reference::attack {
namespace {

constexpr NamedTerm counted(Term term, std::string_view name, std::string_view section) {
    return {term, name, section, true};
}
constexpr NamedTerm part(Term term, std::string_view name, std::string_view section) {
    return {term, name, section, false};
}

constexpr std::array kTerms{
    part(Term::input_unit, "input: u|x|", "1.1"),
    part(Term::input_omega, "input: ω", "1.1"),
    part(Term::input_flushed, "input: ν, flushed", "1.1"),
    part(Term::store_unit, "store: u|a|⁺", "1.1"),
    part(Term::store_omega, "store: ω", "1.1"),
    counted(Term::height_dot, "h of a dot", "1.2"),
    counted(Term::height_positions, "h over positions", "1.2"),
    counted(Term::height_split, "h: the merge of partials", "1.2"),
    counted(Term::count_q, "q", "1.3"),
    counted(Term::count_s, "s", "1.3"),
    counted(Term::count_s_store, "s: a dot stored narrower", "1.3"),
    counted(Term::count_s_width, "s: d that can't be held", "1.3"),
    counted(Term::count_a, "a", "1.3"),
    counted(Term::count_z, "z", "1.3"),
    counted(Term::count_w, "w", "1.3"),
    counted(Term::count_w_split, "w: shares of partials", "1.3"),
    counted(Term::count_o, "o", "1.3"),
    counted(Term::count_o_store, "o: sums stored narrower", "1.3"),
    counted(Term::count_o_split, "o: partials", "1.3"),
    counted(Term::count_rescalings, "R", "1.3"),
    part(Term::exp_relative, "e", "1.3"),
    part(Term::exp_floor, "θ", "1.3"),
    part(Term::projection_weight, "projection: E[W]|x|⁺", "2.1"),
    part(Term::projection_input, "projection: |W|E[x]", "2.1"),
    part(Term::projection_rounding, "projection: Γ Σ|W|⁺|x|⁺", "2.1"),
    part(Term::projection_omega, "projection: 2Dω", "2.1"),
    part(Term::rotation_inherited, "rotation: |c|E[a] + |s|E[b]", "2.2"),
    part(Term::rotation_kappa, "rotation: κ(|a|⁺ + |b|⁺)", "2.2"),
    counted(Term::rotation_products, "rotation: γ_2", "2.2"),
    part(Term::rotation_omega, "rotation: 3ω", "2.2"),
    part(Term::angle_table, "κ: 2u of a cosine", "2.2"),
    counted(Term::angle_exponent, "κ: γ_3 of the exponent", "2.2"),
    counted(Term::angle_roundings, "κ: γ_6", "2.2"),
    counted(Term::angle_base, "κ: a base that can't be held", "2.2"),
    counted(Term::angle_position, "κ: a position that can't be held", "2.2"),
    part(Term::score_query, "score: E[q]|k|⁺", "2.3"),
    part(Term::score_key, "score: |q|E[k]", "2.3"),
    part(Term::score_rounding, "score: (Γ∘γ_q) Σ|q|⁺|k|⁺", "2.3"),
    part(Term::score_scale_subnormal, "score: ω of a scale below ν", "2.3"),
    part(Term::score_omega_terms, "score: 2ω·2d max(1, |σ|)", "2.3"),
    part(Term::score_omega_product, "score: 2ω·2", "2.3"),
    part(Term::score_omega_features, "score: 2ω·max(1, √|σ|) Σ(|q|⁺ + |k|⁺)", "2.3"),
    part(Term::score_omega_square, "score: 2ω·dω", "2.3"),
    part(Term::score_omega_growth, "score: 1 + Γ∘γ_q beyond 2", "2.3"),
    part(Term::score_finished_inherited, "score: γ_s·δ", "2.3"),
    counted(Term::softcap_roundings, "softcap: γ_4", "2.3"),
    part(Term::softcap_relative, "softcap: e_tanh", "2.3"),
    part(Term::softcap_absolute, "softcap: c·e_abs", "2.3"),
    part(Term::softcap_omega, "softcap: 2ω(2c + 1)", "2.3"),
    part(Term::softcap_reciprocal, "softcap: cω|s|", "2.3"),
    part(Term::bias_input, "bias: E[b]", "2.3"),
    part(Term::bias_sum, "bias: u(|s + b| + δ + E[b])", "2.3"),
    part(Term::bias_flushed, "bias: ω, flushed", "2.3"),
    part(Term::maximum_above, "Δ: max(s + δ) − m", "2.4"),
    part(Term::maximum_below, "Δ: m − max(s − δ)", "2.4"),
    part(Term::argument_score, "x: δ", "2.4"),
    part(Term::argument_difference, "x: γ_a", "2.4"),
    part(Term::argument_apart, "x: γ_z", "2.4"),
    part(Term::split_argument, "x, split: γ_4", "2.4"),
    part(Term::split_logarithm, "x, split: 8u ln S", "2.4"),
    part(Term::split_sums, "x, split: 2Γ", "2.4"),
    part(Term::weight_unit_before, "G: u_w, stored before", "2.4"),
    part(Term::weight_omega_before, "θ: ω_w, stored before", "2.4"),
    part(Term::floor_rescaled, "τ: θR", "2.4"),
    part(Term::floor_drift, "τ: exp(Δ + γ_z s̄)", "2.4"),
    part(Term::stray_growth, "β: G⁺ − 1", "2.4"),
    part(Term::strays, "A: Σβ|v − o|/P⁻", "2.4"),
    part(Term::hull, "A: max|v − o|", "2.4"),
    part(Term::value_error, "F: Σp̃E[v]", "2.4"),
    part(Term::mix_rounding, "F: g·V", "2.4"),
    part(Term::weight_unit_after, "g: u_w, stored after", "2.4"),
    part(Term::weight_omega_after, "F: ω_w Y G⁺/L⁻", "2.4"),
    part(Term::mix_omega_sums, "F: ω_a(2S + R)G⁺/L⁻", "2.4"),
    part(Term::mix_omega_values, "F: ω_x Y(1 + G⁺e^{γ_z s̄})", "2.4"),
    part(Term::mix_growth, "F: (1 + g) on ω", "2.4"),
    part(Term::denominator_rounding, "E[o]: Γ_{h+R}", "2.4"),
    part(Term::denominator_lost, "E[o]: Rω_a/L⁻", "2.4"),
    part(Term::denominator_flushed, "E[o]: Sω_a/L⁻, flushed", "2.4"),
    part(Term::mix_omega_division, "E[o]: 2ω", "2.4"),
    part(Term::answer_stray, "E[p]: strays", "2.4"),
    part(Term::answer_cap, "E[p]: the cap", "2.4"),
    part(Term::answer_floor, "E[p]: θ, formed anew", "2.4"),
    part(Term::answer_unit, "E[p]: u_w and ω_w", "2.4"),
    part(Term::answer_omega, "E[p]: ω(2 + G⁺e^{γ_z s̄})", "2.4"),
};
static_assert(kTerms.size() == static_cast<std::size_t>(Term::count_));

constexpr bool in_order() {
    for (std::size_t n = 0; n < kTerms.size(); ++n)
        if (kTerms[n].term != static_cast<Term>(n)) return false;
    return true;
}
static_assert(in_order());

// What the climb weakens; the bound itself is weakened only while it is evaluated.
Weakening chosen{};

// weakened_judgement judges under the weakened bound. Elements that the term has little share in have no
// bound here: that the attack comes near their bound says nothing of the term.
std::vector<Judged> weakened_judgement(const Setup& setup) {
    const std::vector<Judged> whole = judgement_of(setup);
    weakening = &chosen;
    std::vector<Judged> less = judgement_of(setup);
    weakening = nullptr;
    if (whole.size() != less.size()) return {};
    for (std::size_t tensor = 0; tensor < less.size(); ++tensor)
        for (std::size_t n = 0; n < less[tensor].allowed.size(); ++n) {
            const double allowed = whole[tensor].allowed[n];
            if (!std::isfinite(allowed) || !(less[tensor].allowed[n] < allowed * 0.995))
                less[tensor].allowed[n] = std::numeric_limits<double>::infinity();
        }
    return less;
}

Setup draw_for(Random& random) {
    const Number number = random.one_of(
        {Number::f32, Number::f32, Number::bf16, Number::f16, Number::f16, Number::tf32, Number::f64});
    Setup setup = draw(random.chance(3) ? Target::layer : Target::core, number, random);
    if (number != Number::f64 && !random.chance(8)) setup.conduct.nature = Nature::model;
    return setup;
}

// How much of some element's bound the term is.
double influence(const Setup& setup) {
    const std::vector<Judged> whole = judgement_of(setup), less = weakened_judgement(setup);
    double most = 0;
    for (std::size_t tensor = 0; tensor < less.size(); ++tensor)
        for (std::size_t n = 0; n < less[tensor].allowed.size(); ++n)
            if (std::isfinite(less[tensor].allowed[n]) && whole[tensor].allowed[n] > 0)
                most = std::max(most, 1 - less[tensor].allowed[n] / whole[tensor].allowed[n]);
    return most;
}

}  // namespace

std::span<const NamedTerm> all_terms() noexcept {
    return kTerms;
}

Missed weaken_and_attack(const NamedTerm& named, std::uint64_t seed, std::uint64_t climbs) {
    constexpr int kDraws = 48, kSteps = 400;
    const std::array factors{0.0, 0.5, 0.75, 0.9};
    Missed missed;
    Random random(seed + static_cast<std::uint64_t>(named.term) * 0x9e3779b97f4a7c15U);
    std::size_t next = 0;
    for (; missed.climbs < climbs && next < factors.size(); ++missed.climbs) {
        std::optional<Setup> start;
        double most = 0.005;
        chosen = {named.term, 0};
        for (int n = 0; n < kDraws; ++n) {
            Setup setup = draw_for(random);
            const double found = influence(setup);
            if (found <= most) continue;
            most = found;
            start = std::move(setup);
        }
        if (!start) continue;
        // The climb goes on with each factor that it can still catch.
        Setup reached = std::move(*start);
        while (next < factors.size()) {
            chosen = {named.term, factors[next]};
            Climb climb(reached, weakened_judgement);
            for (int step = 0; step < kSteps && !climb.best().violated; ++step)
                (void)climb.step(random);
            if (next == 0) missed.best = std::max(missed.best, climb.best().ratio);
            if (!climb.best().violated) break;
            reached = climb.setup();
            if (!missed.caught) missed.violation = climb.best().violation + ": " + describe(reached);
            missed.caught = true;
            missed.factor = factors[next];
            next = named.counted ? factors.size() : next + 1;
        }
    }
    return missed;
}

}  // namespace attest::reference::attack
