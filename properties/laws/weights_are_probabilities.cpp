// 0 ≤ p_j ≤ 1, |p_j − p_j*| ≤ E[p_j] and |Σ_j p_j − 1| ≤ Σ_j E[p_j] for every row of weights.
//
// p_j ≤ 1 needs no allowance: the denominator is a sum of terms that are not negative, so rounded it is never
// below any of them, and a rounded quotient of a number by one not below it is at most 1.
//
// Kills a maximum not subtracted (B24), a denominator that misses a key or counts one twice (B27), and
// weights of a row that sees too much or too little (B06).
//
// Stays although others see its bugs as well: it looks at weights themselves, which values that are alike
// hide from an answer.

#include "oracle.hpp"
#include "support.hpp"

#include <attest/reference/exact.hpp>
#include <attest/reference/judge.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Appends row by row; weights [B, H, T, T] with zeros for keys that a row does not see.
std::optional<Array> all_weights(Scene& scene, Cache& cache, std::uint64_t rows) {
    const cases::Case& one = scene.one;
    Array weights(one.batch * one.heads * rows * rows, 0.0);
    for (std::uint64_t t = 0; t < rows; ++t) {
        const Array row = scene.x_rows(t, 1);
        const Outcome<Evidence> step = scene.layer->append_with_evidence(cache, scene.input(row, 1));
        as_predicted(
            scene.checks, scene.subject, [&] { return fmt::format("row {}", t); }, code_of(step),
            predict_numbers(one, scene.weights, scene.x_rows(0, t + 1), one.batch, t + 1, t, 1));
        if (!step) return std::nullopt;
        if (!scene.checks.equal("weights of a row", step->weights.size(), one.batch * one.heads * (t + 1))) {
            return std::nullopt;
        }
        for (std::uint64_t lane = 0; lane < one.batch * one.heads; ++lane) {
            for (std::uint64_t j = 0; j <= t; ++j) {
                weights[(lane * rows + t) * rows + j] = step->weights[lane * (t + 1) + j];
            }
        }
    }
    return weights;
}

// The weights with their bounds, without those that allow everything from 0 to 1. Such a bound is where
// scores are more in doubt than they differ; a weight of 0 or 1 may meet it exactly, which says nothing of
// the numbers, and that a weight lies from 0 to 1 is looked at apart.
reference::Judged telling(reference::Judged weights) {
    for (std::size_t n = 0; n < weights.exact.size(); ++n) {
        const double farthest =
            std::max(reference::error_of(weights.exact[n], 0.0), reference::error_of(weights.exact[n], 1.0));
        if (weights.allowed[n] >= farthest) weights.allowed[n] = std::numeric_limits<double>::infinity();
    }
    return weights;
}

}  // namespace

Verdict weights_are_probabilities(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::evidence}, 2, kOracleWork);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();
    const std::optional<Array> weights = all_weights(scene, *cache, rows);
    if (!weights) return checks.failed() ? checks.verdict() : vacuous("a row is refused", checks.counters());

    const Array x = scene.x_rows(0, rows);
    const Problem problem = {
        .geometry = one, .weights = scene.weights, .x = x, .batch = one.batch, .rows = rows};
    reference::LayerOptions options;
    options.y = options.keys = options.values = false;
    options.weights = true;
    const auto judgement = judged(checks, problem, options);
    if (!judgement) return checks.verdict();
    if (inside(checks, "weights", telling(judgement->weights), *weights) > 0) checks.tested();
    for (std::uint64_t row = 0; row < one.batch * one.heads * rows && !checks.failed(); ++row) {
        const auto place = [&] { return fmt::format("row {} of weights", row); };
        long double sum = 0;
        double allowed = 0;
        for (std::uint64_t j = 0; j < rows; ++j) {
            const double weight = (*weights)[row * rows + j];
            checks.that(
                place, weight >= 0 && weight <= 1, [&] { return number_text(weight); }, "from 0 to 1");
            sum += static_cast<long double>(weight);
            allowed += judgement->weights.allowed[row * rows + j];
        }
        // A row without a bound allows infinity, and is not compared.
        if (!std::isfinite(allowed)) continue;
        // Adding a few thousand doubles in long double errs by less than a double's unit.
        const double error = static_cast<double>(std::abs(sum - 1));
        const double slack = static_cast<double>(rows) * 0x1p-63;
        checks.inside([&] { return place() + ": sum"; }, static_cast<double>(sum), 1, error, allowed + slack);
    }
    if (!checks.failed()) note_blindness(checks, problem, *judgement, options);
    return checks.verdict("no weight has a bound");
}

}  // namespace attest::properties::law
