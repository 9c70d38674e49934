// v_jf = a_f for every key j ⇒ |o_f − a_f| ≤ E[o_f], whatever the scores are. x gets a feature that is always
// 1, from which every value is made, and wo picks single features, so that y shows the mixed heads.
//
// Where numerator and denominator are summed in one order, as Attest's are, a power of two a_f ≥ 1 comes back
// to the last bit: Σ w_j·a_f is rounded where Σ w_j is, and their quotient is exact.
//
// Kills weights that do not sum to one, a denominator summed over other keys than the mix or in another
// order, a key dropped or seen twice (B27), a row past the frontier (B06), and dead slots mixed in (B09).
//
// Stays, whoever else sees its bugs: to the last bit it sees a denominator summed in another
// order than its mix.

#include "oracle.hpp"
#include "remade.hpp"
#include "support.hpp"

#include <attest/reference/judge.hpp>

#include <cmath>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// The value of a key/value head's feature: a power of two for every other one, else what the case drew for
// it.
double value_of(const Scene& scene, std::uint64_t feature) {
    if (feature % 2 == 0) return std::ldexp(feature % 4 == 0 ? 1.0 : -1.0, static_cast<int>(feature % 5));
    return scene.weights[2][feature * scene.one.width];
}

bool is_power_of_two(double value) {
    int exponent = 0;
    return std::abs(value) >= 1 && std::abs(std::frexp(value, &exponent)) == 0.5;
}

}  // namespace

Verdict equal_values_come_back(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 2, kOracleWork);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();

    Remade layer = remade(scene, rows);
    add_constant_feature(layer);
    const cases::Case& geometry = layer.geometry;
    const std::uint64_t d = one.head_width;
    layer.weights[2].assign(layer.weights[2].size(), 0);
    for (std::uint64_t f = 0; f < one.kv_heads * d; ++f) {
        layer.weights[2][f * geometry.width + one.width] = value_of(scene, f);
    }
    const std::uint64_t shift = one.values.seed;
    pick_features(layer, shift);
    const Run got = run(scene, layer, "equal values");
    if (checks.failed()) return checks.verdict();
    if (!got.code.empty()) return vacuous("the rows are refused", checks.counters());

    const Problem problem = {.geometry = geometry,
                             .weights = layer.weights,
                             .x = layer.x,
                             .batch = one.batch,
                             .rows = rows,
                             .foreign = !subject.can(Capability::arithmetic)};
    reference::LayerOptions options;
    options.keys = options.values = false;
    const auto judgement = judged(checks, problem, options);
    if (!judgement) return checks.verdict();
    for (std::size_t i = 0; i < got.y.size() && !checks.failed(); ++i) {
        const std::uint64_t feature = picked_feature(layer, shift, i % geometry.width);
        const std::uint64_t kv_head = feature / d / (one.heads / one.kv_heads);
        const double want = value_of(scene, kv_head * d + feature % d);
        const auto place = [&] {
            return fmt::format("y[{}], feature {} of {} keys", i, feature, 1 + i / geometry.width % rows);
        };
        if (subject.can(Capability::arithmetic) && is_power_of_two(want)) {
            checks.tested();
            checks.bits(place, got.y[i], want);
        }
        const double allowed = judgement->y.allowed[i];
        if (!std::isfinite(allowed)) continue;
        checks.tested();
        // a_f is exact, and so is the difference of two numbers so near to each other.
        checks.inside(place, got.y[i], want, std::abs(got.y[i] - want), allowed);
    }
    return checks.verdict("no answer has a bound");
}

}  // namespace attest::properties::law
