// min_j v_jf − E ≤ o_f ≤ max_j v_jf + E for every head's output, over the keys that the row sees; with one
// key, or all values equal, o is that value within E.
//
// E is the mix's own rounding, whatever the weights w_j ≥ 0 are. Exactly, Σ w_j v_j / Σ w_j lies in the hull.
// With h = h(S), V = max |v_j| and u the unit roundoff (BOUND.md, 4, with w = 0 and o = 1):
//     numerator    (Σ w_j v_j)(1 ± Γ_{h+1}) ± Sω: a product passes h additions and its own rounding;
//     denominator  (Σ w_j)(1 ± Γ_h): terms that are not negative;
//     quotient     one rounding, ± ω.
// The largest w_j is exp(0) = 1, so the denominator is at least 1 − Γ_h ≥ 1/2 and
//     E = V·((1 + Γ_{h+1})(1 + Γ_h')(1 + u) − 1) + 2Sω + ω,   Γ_h' = Γ_h/(1 − Γ_h).
//
// Kills weights that do not sum to one, a stale or dropped key beside a correct denominator (B27), and
// outputs mixed from another group's values (B22).
//
// Stays although others see its bugs as well: it needs no exact answer, so that no fault of the oracle can
// hide one of the mix.

#include "oracle.hpp"
#include "support.hpp"

#include <attest/reference/number.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// h(S) of a sum over positions: blocks of 64, folded pairwise.
std::uint64_t sum_height(std::uint64_t keys) {
    const std::uint64_t blocks = (keys + 63) / 64;
    return std::min<std::uint64_t>(keys, 64) - 1 + static_cast<std::uint64_t>(std::bit_width(blocks - 1));
}

double allowance(double largest_value, std::uint64_t keys, const reference::Format& format) {
    const long double u = static_cast<long double>(format.unit);
    const long double omega = static_cast<long double>(format.smallest) / 2;
    const auto gamma = [u](std::uint64_t n) {
        const long double nu = static_cast<long double>(n) * u;
        return nu / (1 - nu);
    };
    const long double up = gamma(sum_height(keys) + 1);
    const long double down = gamma(sum_height(keys));
    const long double relative = (1 + up) * (1 + down / (1 - down)) * (1 + u) - 1;
    const long double allowed =
        static_cast<long double>(largest_value) * relative + (2 * static_cast<long double>(keys) + 1) * omega;
    // Formed in long double and rounded up: never below the bound itself.
    return std::nextafter(static_cast<double>(allowed * (1 + 0x1p-50L)), HUGE_VAL);
}

void compare_row(Scene& scene, const Evidence& step, const Array& values, std::uint64_t keys) {
    const cases::Case& one = scene.one;
    const reference::Format format = reference::format_of(
        one.type == cases::ElementType::float32 ? reference::Number::f32 : reference::Number::f64);
    const std::uint64_t d = one.head_width;
    for (std::uint64_t b = 0; b < one.batch; ++b) {
        for (std::uint64_t h = 0; h < one.heads; ++h) {
            const std::uint64_t lane = b * one.kv_heads + h / (one.heads / one.kv_heads);
            for (std::uint64_t f = 0; f < d; ++f) {
                double least = values[lane * keys * d + f];
                double most = least;
                for (std::uint64_t j = 1; j < keys; ++j) {
                    least = std::min(least, values[(lane * keys + j) * d + f]);
                    most = std::max(most, values[(lane * keys + j) * d + f]);
                }
                const double got = step.head_outputs[(b * one.heads + h) * d + f];
                // The nearest point of the hull; the error is how far outside got lies.
                const double want = std::clamp(got, least, most);
                const double error = std::isfinite(got) ? std::abs(got - want) : got;
                const double allowed = allowance(std::max(std::abs(least), std::abs(most)), keys, format);
                scene.checks.inside(
                    [&] { return fmt::format("batch {} head {} feature {} over {} keys", b, h, f, keys); },
                    got, want, error, allowed);
            }
        }
    }
}

}  // namespace

Verdict output_inside_value_hull(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::evidence}, 2);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();
    for (std::uint64_t t = 0; t < rows && !checks.failed(); ++t) {
        const Array row = scene.x_rows(t, 1);
        const Outcome<Evidence> step = scene.layer->append_with_evidence(*cache, scene.input(row, 1));
        as_predicted(
            checks, subject, [&] { return fmt::format("row {}", t); }, code_of(step),
            predict_numbers(one, scene.weights, scene.x_rows(0, t + 1), one.batch, t + 1, t, 1));
        if (!step) break;
        checks.equal("head outputs", step->head_outputs.size(), one.batch * one.heads * one.head_width);
        checks.tested();
        if (!checks.failed()) compare_row(scene, *step, cache->live_values(), t + 1);
    }
    return checks.verdict("no row was appended");
}

}  // namespace attest::properties::law
