// softmax(s + c) = softmax(s): |y(s + c) − y(s)| ≤ E[y(s + c)] + E[y(s)], and keys and values keep their
// bits. x gets a feature that is always 1; the last feature of each key, which is not turned, becomes 1; the
// last feature of each query is 0 in one layer and c in the other, so that every score gains c/√d.
//
// Kills a maximum that is not subtracted (B24), one that starts at a finite sentinel above the scores, masked
// scores and real ones confused, and an exponent cut off where it must not be.
//
// Stays, whoever else sees its bugs: it moves scores past any sentinel, wherever that may lie.

#include "oracle.hpp"
#include "remade.hpp"
#include "support.hpp"

#include <attest/reference/judge.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Small enough for a bound at first; the last two are beyond every finite sentinel that kernels were seen to
// use, where often no bound can be proved, and an answer must still be a finite number.
constexpr std::array kConstants = {3.0,    -3.0,    100.0,   -100.0, -1000.0,
                                   0x1p12, -0x1p14, -0x1p20, 0x1p34, -0x1p34};

// Row `row` of a [rows, columns] matrix becomes 0 but for its last column.
void only_last_column(Array& matrix, std::uint64_t row, std::uint64_t columns, double value) {
    const auto start = matrix.begin() + static_cast<std::ptrdiff_t>(row * columns);
    std::fill(start, start + static_cast<std::ptrdiff_t>(columns), 0.0);
    *(start + static_cast<std::ptrdiff_t>(columns - 1)) = value;
}

Remade with_constant(const Scene& scene, std::uint64_t rows, double constant) {
    Remade layer = remade(scene, rows);
    add_constant_feature(layer);
    cases::Case& geometry = layer.geometry;
    const std::uint64_t d = geometry.head_width;
    geometry.rope.width = std::min(geometry.rope.width, (d - 1) / 2 * 2);
    for (std::uint64_t h = 0; h < geometry.heads; ++h) {
        only_last_column(layer.weights[0], h * d + d - 1, geometry.width, constant);
    }
    for (std::uint64_t g = 0; g < geometry.kv_heads; ++g) {
        only_last_column(layer.weights[1], g * d + d - 1, geometry.width, 1);
    }
    return layer;
}

std::optional<reference::LayerJudgement> judgement_of(Scene& scene, const Remade& layer) {
    const Problem problem = {.geometry = layer.geometry,
                             .weights = layer.weights,
                             .x = layer.x,
                             .batch = layer.geometry.batch,
                             .rows = layer.rows,
                             .foreign = !scene.subject.can(Capability::arithmetic)};
    reference::LayerOptions options;
    options.keys = options.values = false;
    return judged(scene.checks, problem, options);
}

}  // namespace

Verdict adding_to_all_scores_changes_nothing(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 3, kOracleWork);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();

    const double constant = kConstants[one.values.seed % kConstants.size()];
    const Remade plain = with_constant(scene, rows, 0);
    const Remade shifted = with_constant(scene, rows, constant);
    const auto place = [&] { return fmt::format("scores + {}/√d", constant); };
    const Run want = run(scene, plain, "scores as they are");
    const Run got = run(scene, shifted, place);
    if (checks.failed()) return checks.verdict();
    if (!want.code.empty() || !got.code.empty()) return vacuous("the rows are refused", checks.counters());
    checks.bits([&] { return place() + ": keys"; }, got.keys, want.keys);
    checks.bits([&] { return place() + ": values"; }, got.values, want.values);
    const auto want_bound = judgement_of(scene, plain);
    const auto got_bound = judgement_of(scene, shifted);
    if (!want_bound || !got_bound || checks.failed()) return checks.verdict();
    for (std::size_t i = 0; i < got.y.size() && !checks.failed(); ++i) {
        checks.that([&] { return fmt::format("{}: y[{}]", place(), i); }, std::isfinite(got.y[i]),
                    [&] { return number_text(got.y[i]); }, "a finite number");
        const double allowed = want_bound->y.allowed[i] + got_bound->y.allowed[i];
        if (!std::isfinite(allowed)) continue;
        checks.tested();
        const double error = std::nextafter(std::abs(got.y[i] - want.y[i]), HUGE_VAL);
        const bool same = same_bits(got.y[i], want.y[i]);
        checks.inside([&] { return fmt::format("{}: y[{}]", place(), i); }, got.y[i], want.y[i],
                      same ? 0 : error, allowed);
    }
    return checks.verdict("no answer has a bound");
}

}  // namespace attest::properties::law
