// run(x, C) = run(x, C') for all C, C' ≥ rows: the capacity moves rows in memory and changes no bit.
//
// Kills an order of summation by capacity or tile (B08), a layout whose stride is the length (B07), and a
// cache that is full one too early or one too late (B12).
//
// Stays although others see its bugs as well: it alone runs the same rows in six capacities, from the exact
// one to beyond a block.

#include "support.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace attest::properties::law {

Verdict capacity_does_not_matter(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 6);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> own = scene.make_cache();
    if (own == nullptr) return scene.verdict();
    const Run want = run_rows(scene, *scene.layer, *own, 0, rows);

    const std::uint64_t room = one.rope.positions - one.rope.first;
    for (const std::uint64_t wanted :
         {rows, rows + 1, 2 * rows, rows + 63, std::uint64_t{64}, one.capacity + 1}) {
        const std::uint64_t capacity = std::clamp(wanted, rows, room);
        if (capacity == one.capacity || checks.failed()) continue;
        if (!predict_cache(one, one.batch, capacity, one.rope.first).success()) continue;
        const std::unique_ptr<Cache> cache = scene.make_cache(*scene.layer, one.batch, capacity);
        if (cache == nullptr) return scene.verdict();
        const Run got = run_rows(scene, *scene.layer, *cache, 0, rows);
        checks.tested();
        checks.equal([&] { return fmt::format("capacity {}: refusal", capacity); }, got.code, want.code);
        const auto told = [&] { return fmt::format("capacity {}", capacity); };
        if (want.code.empty()) same_run(checks, told, got, want);
        if (!want.code.empty() || checks.failed()) continue;
        // The exact capacity is full now, any other is not.
        const Array row = scene.x_rows(0, 1);
        const Answer more = append(*scene.layer, *cache, scene.input(row, 1));
        as_predicted(checks, subject, [&] { return fmt::format("one more row at capacity {}", capacity); },
                     is_non_finite(more.code) ? "" : more.code, {capacity == rows ? "CacheFull" : ""});
    }
    return checks.verdict("there is no other capacity that the rope table allows");
}

}  // namespace attest::properties::law
