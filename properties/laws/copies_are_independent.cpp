// copy(c) = c; then step(c) does not move copy(c), step(copy(c)) does not move c, and each goes on as a fresh
// cache with its rows would.
//
// Kills a copy that shares storage or state (B20), and one that forgets a field (B19).
//
// Stays although the law of any history sees its bugs as well: it looks at the original after each step of
// the copy, and at the copy after each step of the original, where a history only may.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Appends row t of x and returns the answer.
Array step(Scene& scene, Layer& layer, Cache& cache, std::uint64_t t) {
    const Array row = scene.x_rows(t % scene.rows, 1);
    Answer answer = append(layer, cache, scene.input(row, 1));
    scene.checks.equal([&] { return fmt::format("row {}", t); }, answer.code, "");
    return answer.y;
}

void fork_after(Scene& scene, std::uint64_t shared) {
    Checks& checks = scene.checks;
    std::unique_ptr<Cache> original = scene.make_cache();
    for (std::uint64_t t = 0; t < shared; ++t) {
        step(scene, *scene.layer, *original, t);
    }
    Outcome<std::unique_ptr<Cache>> copied = original->copy();
    if (!checks.equal("copying", code_of(copied), "")) return;
    Cache& copy = **copied;
    checks.tested();
    checks.that("the copy", copy.equals(*original) && original->equals(copy), "differs", "equal");
    checks.that("the copy's bytes", copy.same_bytes(*original), "differ", "the same");

    // One goes on, the other stands still; then the other way round.
    const CacheImage still = image_of(scene.subject, *original);
    const Array next = step(scene, *scene.layer, copy, shared);
    unchanged(checks, scene.subject, "the original while its copy moved", *original, still);
    const CacheImage moved = image_of(scene.subject, copy);
    const Array other = step(scene, *scene.layer, *original, shared + 1);
    unchanged(checks, scene.subject, "the copy while its original moved", copy, moved);

    // Each is what a fresh cache with its rows is.
    for (const bool of_copy : {true, false}) {
        const std::unique_ptr<Cache> fresh = scene.make_cache();
        for (std::uint64_t t = 0; t < shared; ++t) {
            step(scene, *scene.layer, *fresh, t);
        }
        const Array want = step(scene, *scene.layer, *fresh, of_copy ? shared : shared + 1);
        checks.bits(of_copy ? "the copy's answer" : "the original's answer", of_copy ? next : other, want);
        checks.that(of_copy ? "the copy in the end" : "the original in the end",
                    fresh->equals(of_copy ? copy : *original), "differs", "equal to a fresh cache");
    }
    original->reset();
    checks.equal("the copy's length after the original's reset", copy.length(), shared + 1);
    original.reset();
    unchanged(checks, scene.subject, "the copy after its original is gone", copy, moved);
}

}  // namespace

Verdict copies_are_independent(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::copy, Capability::same_bits}, 8);
    if (!scene) return scene.verdict();
    {
        const std::unique_ptr<Cache> probe = scene.make_cache();
        if (probe == nullptr) return scene.verdict();
        const std::uint64_t rows = scene.playable_rows();
        const bool clean = rows > 0 && far_from_overflow(one, scene.weights, scene.x, one.capacity);
        if (clean) {
            const std::uint64_t most = std::min<std::uint64_t>(rows, one.capacity - 1);
            fork_after(scene, most);
            if (most > 0 && !checks.failed()) fork_after(scene, one.values.seed % most);
        }
    }
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
        if (player.last().step->verb == cases::Verb::copy) checks.tested();
    }
    for (const Player::Left& left : player.left()) {
        checks.equal("the original's length in the end", left.track->cache->length(), left.length);
        if (!subject.can(Capability::storage)) continue;
        const Storage now = left.track->cache->storage();
        checks.bits("the original's keys in the end", now.keys, left.storage.keys);
        checks.bits("the original's values in the end", now.values, left.storage.values);
    }
    return player.verdict("nothing was copied");
}

}  // namespace attest::properties::law
