// faults i < j of the documented order in one call ⇒ the refusal names i. Every adjacent pair, for rows
// offered to a cache, for numbers that leave the finite ones at two stages, and for making ropes, layers and
// caches; then the case's own steps.
//
// Kills checks in another order (B28), one of two lengths trusted (B15), room that is looked for too late
// (B12), and a stage whose check is missing (B29).

#include "faults.hpp"

namespace attest::properties::law {

Verdict refusals_come_in_order(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::typed_refusals}, 2);
    // A geometry that must be refused, and was with the right code, is what this law is about.
    if (!scene) {
        if (checks.failed() || checks.counters().checks == 0) return scene.verdict();
        checks.tested();
        return checks.verdict();
    }
    if (!fault_geometry(one)) return vacuous("the layer is too large for this law", checks.counters());
    call_faults(scene);
    if (!checks.failed()) number_faults(scene);
    if (!checks.failed()) making_faults(scene);
    if (!checks.failed() && subject.can(Capability::full_prefix)) full_prefix_faults(scene);
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
    }
    return player.verdict("");
}

}  // namespace attest::properties::law
