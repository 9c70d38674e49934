// Row t of a cache: incremental = 1, reused = t, full = t + 1 = incremental + reused, keys read = t + 1,
// position = first + t; over n rows Σ full = n(n + 1)/2 and Σ reused = n(n − 1)/2 for keys and values alike.
//
// Kills reused counts that include the new row and full counts of one step only (B31), and refused rows that
// are counted.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

void history(Scene& scene, const std::vector<Evidence>& steps) {
    Checks& checks = scene.checks;
    const std::uint64_t n = steps.size();
    const Outcome<History> sums = scene.subject.history(steps);
    if (!checks.equal("the history", code_of(sums), "")) return;
    checks.equal("complete prefix rows", sums->complete_prefix_rows, n * (n + 1) / 2);
    checks.equal("incremental rows", sums->incremental_rows, n);
    checks.equal("reused key rows", sums->reused_key_rows, n * (n - 1) / 2);
    checks.equal("reused value rows", sums->reused_value_rows, n * (n - 1) / 2);

    // One count that contradicts the others is refused, whichever it is.
    std::vector<Evidence> wrong = steps;
    const std::size_t at = static_cast<std::size_t>(scene.one.values.seed % n);
    for (const auto member : {&Evidence::key_rows, &Evidence::cache_length, &Evidence::full_prefix_rows,
                              &Evidence::incremental_rows, &Evidence::reused_key_value_rows}) {
        wrong[at].*member += 1;
        as_predicted(checks, scene.subject, "a history with a wrong count",
                     code_of(scene.subject.history(wrong)), {"HistoryInconsistent"});
        wrong[at].*member -= 1;
    }
    as_predicted(checks, scene.subject, "an empty history", code_of(scene.subject.history({})),
                 {"HistoryEmpty"});
}

}  // namespace

Verdict work_counts_add_up(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::evidence, Capability::work}, 4);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();

    for (const bool after_reset : {false, true}) {
        if (after_reset) cache->reset();
        std::vector<Evidence> steps;
        for (std::uint64_t t = 0; t < rows && !checks.failed(); ++t) {
            const Array row = scene.x_rows(t, 1);
            // A refused row costs nothing: the next good one counts as if it had not been.
            call_badly(scene, *scene.layer, *cache, BadCall::width, row);
            const Outcome<Evidence> step = scene.layer->append_with_evidence(*cache, scene.input(row, 1));
            as_predicted(
                checks, subject, [&] { return fmt::format("row {}", t); }, code_of(step),
                predict_numbers(one, scene.weights, scene.x_rows(0, t + 1), one.batch, t + 1, t, 1));
            if (!step) break;
            checks.tested();
            checks.equal([&] { return fmt::format("row {}: position", t); }, step->position,
                         one.rope.first + t);
            checks.equal([&] { return fmt::format("row {}: full prefix rows", t); }, step->full_prefix_rows,
                         t + 1);
            checks.equal([&] { return fmt::format("row {}: incremental rows", t); }, step->incremental_rows,
                         1);
            checks.equal([&] { return fmt::format("row {}: reused rows", t); }, step->reused_key_value_rows,
                         t);
            checks.equal([&] { return fmt::format("row {}: keys read", t); }, step->key_rows, t + 1);
            checks.equal([&] { return fmt::format("row {}: weights", t); }, step->weights.size(),
                         one.batch * one.heads * (t + 1));
            checks.equal([&] { return fmt::format("row {}: cache length", t); }, step->cache_length, t + 1);
            checks.equal([&] { return fmt::format("row {}: length", t); }, cache->length(), t + 1);
            steps.push_back(*step);
        }
        if (!steps.empty() && !checks.failed()) history(scene, steps);
    }
    return checks.verdict("no row was appended");
}

}  // namespace attest::properties::law
