// good(bad(state)) = good(state): refused calls, of whatever kind, leave no trace in what follows, by bits.
//
// Kills failures that leave half (B13), a position or state that a refused row moves (B04, B29), and stale
// scratch that a later row reads.
//
// Stays although others see its bugs as well: it tries each kind of bad call beside a cache that was never
// called badly, where others meet a few by drawing.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Two caches take the same rows; before each, one of them is called badly.
void beside_each_other(Scene& scene, Cache& tried, Cache& calm) {
    const std::uint64_t rows = scene.playable_rows();
    for (std::uint64_t t = 0; t < rows && !scene.checks.failed(); ++t) {
        const Array row = scene.x_rows(t, 1);
        const Input x = scene.input(row, 1);
        const bool finite = largest_finite(row).has_value();
        for (std::uint64_t i = 0; i < 3 && finite && !scene.checks.failed(); ++i) {
            const BadCall kind = static_cast<BadCall>((3 * t + i + scene.one.values.seed) % kBadCalls);
            call_badly(scene, *scene.layer, tried, kind, row);
        }
        const Answer got = append(*scene.layer, tried, x);
        const Answer want = append(*scene.layer, calm, x);
        scene.checks.tested();
        scene.checks.equal([&] { return fmt::format("row {} after bad calls", t); }, got.code, want.code);
        scene.checks.bits([&] { return fmt::format("row {} after bad calls: answer", t); }, got.y, want.y);
    }
    if (scene.subject.can(Capability::copy)) {
        scene.checks.that("both caches", tried.same_bytes(calm), "differ", "the same bytes");
    }
    scene.checks.bits("keys", tried.live_keys(), calm.live_keys());
    scene.checks.bits("values", tried.live_values(), calm.live_values());
}

// The rows that a played cache holds in the end, offered to a fresh one without anything in between.
void again_without_failures(Player& player, const CacheTrack& track) {
    Scene& scene = player.scene();
    Outcome<std::unique_ptr<Cache>> fresh =
        track.bound->layer->make_cache(track.batch, scene.one.capacity, scene.one.rope.first);
    scene.checks.equal("a fresh cache", code_of(fresh), "");
    for (std::size_t t = 0; t < track.rows.size() && !scene.checks.failed(); ++t) {
        const Input x = {.shape = {track.batch, 1, track.bound->geometry.width}, .values = track.rows[t]};
        const Answer answer = append(*track.bound->layer, **fresh, x);
        scene.checks.equal([&] { return fmt::format("row {} without failures", t); }, answer.code, "");
        scene.checks.bits([&] { return fmt::format("row {} without failures: answer", t); }, track.answers[t],
                          answer.y);
    }
    if (scene.checks.failed()) return;
    scene.checks.tested();
    scene.checks.bits("keys without failures", track.cache->live_keys(), (*fresh)->live_keys());
    scene.checks.bits("values without failures", track.cache->live_values(), (*fresh)->live_values());
    if (scene.subject.can(Capability::copy)) {
        scene.checks.that("the cache without failures", track.cache->equals(**fresh), "another",
                          "an equal one");
    }
}

}  // namespace

Verdict retry_equals_never_failed(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 6);
    if (!scene) return scene.verdict();
    const std::unique_ptr<Cache> tried = scene.make_cache();
    const std::unique_ptr<Cache> calm = tried == nullptr ? nullptr : scene.make_cache();
    if (calm == nullptr) return scene.verdict();
    beside_each_other(scene, *tried, *calm);
    if (checks.failed()) return checks.verdict();

    Player player(scene);
    bool refused = false;
    while (player.next()) {
        refused = refused || player.last().refused();
    }
    for (const auto& track : player.caches()) {
        if (refused && track != nullptr && track->current() && !checks.failed()) {
            again_without_failures(player, *track);
        }
    }
    return player.verdict("no row was appended");
}

}  // namespace attest::properties::law
