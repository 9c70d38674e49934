// K_{1:t} = (R_p Wk x_1, …, R_{p+t−1} Wk x_t) and V_{1:t} = (Wv x_1, …, Wv x_t): a snapshot, the storage and
// the views hold each row's own key, turned to its position, and its value as projected, by bits; rounded
// where they are stored narrow.
//
// Kills keys rotated twice or not at all and rotated values (B25), lengths of keys and values that differ
// (B15), an exchanged token and head axis (B14), and a snapshot that shares or misreads storage (B20).
//
// Stays although others see its bugs as well: it says which row's key or value is wrong, where others see
// only that an answer is.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Row t of a [B, Hkv, rows, d] array, as [B, Hkv, 1, d].
Array head_row(const Array& heads, std::uint64_t lanes, std::uint64_t rows, std::uint64_t width,
               std::uint64_t row) {
    return rows_of(heads, lanes, rows, width, row, 1);
}

// Projects every row anew, one by one, and compares its key and value with the cache's.
void compare(Player& player, const CacheTrack& track) {
    Scene& scene = player.scene();
    Checks& checks = scene.checks;
    const cases::Case& geometry = track.bound->geometry;
    const std::uint64_t rows = track.rows.size();
    const std::uint64_t lanes = track.batch * geometry.kv_heads;
    const std::uint64_t d = geometry.head_width;

    const Outcome<Array> keys = track.cache->keys();
    const Outcome<Array> values = track.cache->values();
    checks.equal("the snapshot of keys", code_of(keys), "");
    checks.equal("the snapshot of values", code_of(values), "");
    if (checks.failed()) return;
    checks.bits("keys read in place", track.cache->live_keys(), *keys);
    checks.bits("values read in place", track.cache->live_values(), *values);
    if (scene.subject.can(Capability::storage)) {
        const Storage storage = track.cache->storage();
        const std::uint64_t capacity = track.cache->capacity();
        checks.bits("keys in storage", rows_of(storage.keys, lanes, capacity, d, 0, rows), *keys);
        checks.bits("values in storage", rows_of(storage.values, lanes, capacity, d, 0, rows), *values);
    }
    if (!track.current() || rows == 0) return;

    Outcome<std::unique_ptr<Cache>> fresh =
        track.bound->layer->make_cache(track.batch, scene.one.capacity, scene.one.rope.first);
    checks.equal("a fresh cache", code_of(fresh), "");
    for (std::uint64_t t = 0; t < rows && !checks.failed(); ++t) {
        const Input x = {.shape = {track.batch, 1, geometry.width}, .values = track.rows[t]};
        const Outcome<Evidence> step = track.bound->layer->append_with_evidence(**fresh, x);
        if (!checks.equal([&] { return fmt::format("row {} again", t); }, code_of(step), "")) return;
        checks.tested();
        checks.bits([&] { return fmt::format("row {}: key", t); }, head_row(*keys, lanes, rows, d, t),
                    step->rotated_keys);
        const cases::KvStorage storage = geometry.storage;
        checks.bits([&] { return fmt::format("row {}: value", t); }, head_row(*values, lanes, rows, d, t),
                    as_stored(storage, step->projected_values));
        checks.bits([&] { return fmt::format("row {}: answer", t); }, track.answers[t], step->output);
        // Position 0 turns by nothing, and features at and beyond the rope width are never turned.
        const Array projected_keys = as_stored(storage, step->projected_keys);
        for (std::uint64_t i = 0; i < step->rotated_keys.size(); ++i) {
            const bool turned = i % d < geometry.rope.width && scene.one.rope.first + t != 0;
            if (!turned) {
                const bool same = step->rotated_keys[i] == projected_keys[i];
                checks.that([&] { return fmt::format("row {}: unturned feature {}", t, i); }, same,
                            [&] { return number_text(step->rotated_keys[i]); },
                            [&] { return number_text(projected_keys[i]); });
            }
        }
    }
}

}  // namespace

Verdict snapshot_equals_projected_prefix(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::evidence, Capability::same_bits}, 4);
    if (!scene) return scene.verdict();
    Player player(scene);
    while (player.next()) {
    }
    for (const auto& track : player.caches()) {
        if (track != nullptr && !checks.failed()) compare(player, *track);
    }
    return player.verdict("no row was appended under the weights that the layer still has");
}

}  // namespace attest::properties::law
