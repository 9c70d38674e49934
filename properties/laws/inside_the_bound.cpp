// |y − y*| ≤ E[y], |k − k*| ≤ E[k], |v − v*| ≤ E[v] for every element, y*, k*, v* exact and E the proved
// bound, for the rows that a cache holds after all steps, however they came in.
//
// Kills what both sides of a bit law share: narrow angles (B01), a base ignored (B05), a wrong scale (B11),
// exchanged axes (B14), a wrong rotation width (B16), head groups (B22), pair conventions (B23), a maximum
// not subtracted (B24), the newest key dropped (B27).
//
// Stays although others see its bugs as well: it alone compares every answer, key and value with the exact
// one, where the others that ask the oracle look at weights, hulls or single relations.

#include "oracle.hpp"
#include "support.hpp"

#include <attest/reference/judge.hpp>

#include <fmt/format.h>

namespace attest::properties::law {

Verdict inside_the_bound(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 1, kOracleWork);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    Player player(scene);
    while (player.next()) {
    }
    for (std::size_t i = 0; i < player.caches().size() && !checks.failed(); ++i) {
        const CacheTrack* const track = player.caches()[i].get();
        if (track == nullptr || track->rows.empty()) continue;
        const cases::Case geometry = track->geometry();
        if (multiply_adds(geometry, track->rows.size()) > kOracleWork) continue;
        const Array x = player.prefix(*track);
        const Problem problem = {.geometry = geometry,
                                 .weights = track->weights,
                                 .x = x,
                                 .batch = track->batch,
                                 .rows = track->rows.size(),
                                 .foreign = !subject.can(Capability::arithmetic)};
        const reference::LayerOptions options;
        const auto judgement = judged(checks, problem, options);
        if (!judgement) break;
        std::uint64_t compared = inside(checks, "y", judgement->y, player.answers(*track));
        compared += inside(checks, "keys", judgement->keys, track->cache->live_keys());
        compared += inside(checks, "values", judgement->values, track->cache->live_values());
        if (compared == 0 || checks.failed()) continue;
        checks.tested();
        note_blindness(checks, problem, *judgement, options);
    }
    return player.verdict("no row was appended, or none has a bound");
}

}  // namespace attest::properties::law
