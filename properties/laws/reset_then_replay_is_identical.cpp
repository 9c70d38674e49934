// run(x); reset; run(x) gives the bits of run(x), in the storage of run(x), and reset itself writes nothing.
//
// Kills a reset that forgets a field or clears what it must keep (B19), and a reset that refreshes the
// binding (B32).

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

void replay(Player& player, CacheTrack& track) {
    Scene& scene = player.scene();
    Checks& checks = scene.checks;
    CacheImage before = image_of(scene.subject, *track.cache);
    const std::uint64_t allocations =
        scene.subject.can(Capability::allocation) ? scene.subject.allocations() : 0;
    track.cache->reset();
    if (scene.subject.can(Capability::allocation)) {
        checks.equal("allocations by reset", scene.subject.allocations(), allocations);
    }
    checks.equal("length after reset", track.cache->length(), 0);
    checks.equal("live keys after reset", track.cache->live_keys().size(), 0);
    const CacheImage after = image_of(scene.subject, *track.cache);
    checks.bits("key storage after reset", after.storage.keys, before.storage.keys);
    checks.bits("value storage after reset", after.storage.values, before.storage.values);
    checks.equal("where keys lie after reset", after.storage.key_address, before.storage.key_address);
    checks.equal("where values lie after reset", after.storage.value_address, before.storage.value_address);

    for (std::size_t t = 0; t < track.rows.size() && !checks.failed(); ++t) {
        const Input x = {.shape = {track.batch, 1, track.bound->geometry.width}, .values = track.rows[t]};
        const Answer again = append(*track.bound->layer, *track.cache, x);
        checks.tested();
        if (!track.current()) {
            as_predicted(checks, scene.subject, "a row after update and reset", again.code,
                         {"CacheLayerRevisionMismatch"});
            return;
        }
        if (!checks.equal([&] { return fmt::format("row {} again", t); }, again.code, "")) return;
        checks.bits([&] { return fmt::format("row {} again: answer", t); }, again.y, track.answers[t]);
    }
    if (!checks.failed() && track.current())
        unchanged(checks, scene.subject, "after replay", *track.cache, before);
}

}  // namespace

Verdict reset_then_replay_is_identical(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 2);
    if (!scene) return scene.verdict();
    Player player(scene);
    while (player.next()) {
    }
    for (const auto& track : player.caches()) {
        if (track != nullptr && !checks.failed()) replay(player, *track);
    }
    return player.verdict("no row was appended");
}

}  // namespace attest::properties::law
