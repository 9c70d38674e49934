// |y(x at p) − y(x at p')| ≤ E[y at p] + E[y at p']: scores depend on the distance of positions alone, so a
// sequence shifted as a whole has the same exact answers. Values are not turned at all and keep their bits.
//
// Kills angles, positions or inverse frequencies formed in a narrow type, which are off by more the farther a
// position is (B01), pair conventions mixed between table and rotation (B23), a query or key turned by
// another position than its own (B04, B25).
//
// Stays although others see its bugs as well: it compares two places of one layer, so that an angle that
// library and oracle have wrong alike is seen.

#include "oracle.hpp"
#include "support.hpp"

#include <attest/reference/judge.hpp>

#include <cmath>

#include <fmt/format.h>

namespace attest::properties::law {

Verdict positions_are_relative(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::first_position}, 2, kOracleWork);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (one.rope.width == 0) return vacuous("nothing is turned", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();
    const std::uint64_t last = one.rope.positions - one.capacity;
    const std::array<std::uint64_t, 2> firsts = {one.rope.first != 0 ? 0 : last, one.rope.first};
    if (firsts[0] == firsts[1])
        return vacuous("the rope table has room for one place only", checks.counters());

    std::array<Run, 2> runs;
    std::array<std::optional<reference::LayerJudgement>, 2> judgements;
    const Array x = scene.x_rows(0, rows);
    for (std::size_t i = 0; i < 2; ++i) {
        cases::Case placed = one;
        placed.rope.first = firsts[i];
        auto cache = scene.layer->make_cache(one.batch, one.capacity, firsts[i]);
        if (!checks.equal("a cache at another place", code_of(cache), "")) return checks.verdict();
        runs[i] = run_rows(scene, *scene.layer, **cache, 0, rows);
        as_predicted(
            checks, subject, [&] { return fmt::format("rows from position {}", firsts[i]); }, runs[i].code,
            predict_rows_one_by_one(placed, scene.weights, x, one.batch, rows));
        if (checks.failed()) return checks.verdict();
        if (!runs[i].code.empty()) return vacuous("a row is refused", checks.counters());
        const Problem problem = {.geometry = placed,
                                 .weights = scene.weights,
                                 .x = x,
                                 .batch = one.batch,
                                 .rows = rows,
                                 .foreign = !subject.can(Capability::arithmetic)};
        reference::LayerOptions options;
        options.keys = options.values = false;
        judgements[i] = judged(checks, problem, options);
        if (!judgements[i]) return checks.verdict();
    }
    checks.bits("values", runs[0].values, runs[1].values);
    const auto place = [&] { return fmt::format("from positions {} and {}", firsts[0], firsts[1]); };
    if (!checks.equal([&] { return place() + ": answers"; }, runs[0].y.size(), runs[1].y.size()))
        return checks.verdict();
    for (std::size_t i = 0; i < runs[0].y.size() && !checks.failed(); ++i) {
        const double allowed = judgements[0]->y.allowed[i] + judgements[1]->y.allowed[i];
        if (!std::isfinite(allowed)) continue;
        checks.tested();
        // The difference is exact or rounds by less than the sum of both bounds holds in reserve; rounding it
        // up keeps the comparison on the strict side.
        const double error = std::nextafter(std::abs(runs[0].y[i] - runs[1].y[i]), HUGE_VAL);
        const bool same = same_bits(runs[0].y[i], runs[1].y[i]);
        checks.inside([&] { return fmt::format("{}: y[{}]", place(), i); }, runs[0].y[i], runs[1].y[i],
                      same ? 0 : error, allowed);
    }
    return checks.verdict("no answer has a bound");
}

}  // namespace attest::properties::law
