// y_cached(x_t | K_{1:t−1}, V_{1:t−1}) = y_full(x_{1:t})_t, by bits, after every append, prefill and commit.
//
// Kills a wrong offset for the new row (B04), a causal frontier that the past does not move (B06), a row
// appended twice (B18), and a key rotated twice or not at all (B25).
//
// Stays although others see its bugs as well: it is the library's first promise, and compares every way in
// which a row can come in with the full prefix.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

bool compare(Player& player, const CacheTrack& track, Text place) {
    Scene& scene = player.scene();
    const Array prefix = player.prefix(track);
    const Input x = {.shape = {track.batch, track.rows.size(), track.bound->geometry.width},
                     .values = prefix};
    const Outcome<Array> full = track.bound->layer->forward(x, scene.one.rope.first);
    if (!scene.checks.equal([&] { return fmt::format("{}: the full prefix", place()); }, code_of(full), ""))
        return false;
    scene.checks.tested();
    return scene.checks.bits([&] { return fmt::format("{}: cached rows", place()); }, player.answers(track),
                             *full);
}

// A row whose numbers are refused by the cache is refused by the full prefix, with the same code.
bool compare_refusal(Player& player, const CacheTrack& track) {
    Scene& scene = player.scene();
    const Event& event = player.last();
    if (event.step->verb == cases::Verb::prepare || !is_non_finite(event.code)) return true;
    std::vector<Array> parts = track.rows;
    parts.push_back(event.x);
    const Array prefix = joined(parts, track.batch, track.bound->geometry.width);
    const Input x = {.shape = {track.batch, track.rows.size() + event.count, track.bound->geometry.width},
                     .values = prefix};
    const Outcome<Array> full = track.bound->layer->forward(x, scene.one.rope.first);
    scene.checks.tested();
    return scene.checks.equal([&] { return event.place() + ": the full prefix"; }, code_of(full), event.code);
}

}  // namespace

Verdict cached_equals_full_prefix(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::full_prefix, Capability::same_bits}, 4);
    if (!scene) return scene.verdict();
    Player player(scene);
    std::uint64_t spent = 0;
    const CacheTrack* compared = nullptr;  // with the full prefix, and nothing was called since
    while (player.next()) {
        if (!player.last().idle) compared = nullptr;
        const CacheTrack* track = player.cache();
        const cases::Verb verb = player.last().step->verb;
        const bool took_rows = verb == cases::Verb::append || verb == cases::Verb::prefill ||
                               verb == cases::Verb::commit || verb == cases::Verb::commit_all;
        if (track == nullptr || !took_rows || player.last().idle) continue;
        if (player.last().refused()) {
            if (!compare_refusal(player, *track)) break;
            continue;
        }
        // All caches that moved are compared at the end; here as long as it is cheap.
        spent += multiply_adds(track->bound->geometry, track->batch, track->rows.size());
        if (spent >= kSubjectWork / 2 || track->rows.empty()) continue;
        if (!compare(player, *track, [&] { return player.last().place(); })) break;
        compared = track;
    }
    for (const auto& track : player.caches()) {
        if (checks.failed() || track == nullptr || track->rows.empty() || !track->current()) continue;
        if (track.get() == compared) continue;
        compare(player, *track, "the end");
    }
    return player.verdict("no row was appended");
}

}  // namespace attest::properties::law
