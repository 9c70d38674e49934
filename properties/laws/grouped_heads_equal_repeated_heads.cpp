// attention with Hkv groups = attention with H key/value heads, head h being a copy of head h ÷ (H/Hkv), by
// bits.
//
// Kills h mod Hkv, a wrong division, and groups that are not repeated (B22), and exchanged axes (B14).
//
// Stays although others see its bugs as well: it compares by bits and needs no oracle, so that no fault of
// the oracle's groups can hide one of the library's.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Rows of a [Hkv · d, D] weight repeated for each head of their group: [H · d, D].
Array repeated(const Array& weight, const cases::Case& one) {
    const std::uint64_t group = one.heads / one.kv_heads;
    const std::uint64_t block = one.head_width * one.width;
    Array all;
    for (std::uint64_t h = 0; h < one.heads; ++h) {
        const auto start = weight.begin() + static_cast<std::ptrdiff_t>(h / group * block);
        all.insert(all.end(), start, start + static_cast<std::ptrdiff_t>(block));
    }
    return all;
}

}  // namespace

Verdict grouped_heads_equal_repeated_heads(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 4);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (one.kv_heads == one.heads) return vacuous("no heads are grouped", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();

    cases::Case wide = one;
    wide.kv_heads = one.heads;
    LayerSpec spec = spec_of(wide);
    spec.weights = {scene.weights[0], repeated(scene.weights[1], one), repeated(scene.weights[2], one),
                    scene.weights[3]};
    if (!predict_cache(wide, one.batch, one.capacity, one.rope.first).success()) {
        return vacuous("repeated heads would be too large", checks.counters());
    }
    const Outcome<std::unique_ptr<Layer>> layer = subject.make_layer(spec);
    if (!checks.equal("the layer with repeated heads", code_of(layer), "")) return checks.verdict();
    Outcome<std::unique_ptr<Cache>> other = (*layer)->make_cache(one.batch, one.capacity, one.rope.first);
    if (!checks.equal("its cache", code_of(other), "")) return checks.verdict();

    const Run got = run_rows(scene, *scene.layer, *cache, 0, rows);
    const Run want = run_rows(scene, **layer, **other, 0, rows);
    checks.tested();
    checks.equal("refusal", got.code, want.code);
    checks.bits("answers", got.y, want.y);
    // Head h of the wide cache is head h ÷ group of the narrow one.
    const std::uint64_t group = one.heads / one.kv_heads;
    const std::uint64_t lane = cache->length() * one.head_width;
    for (std::uint64_t b = 0; b < one.batch; ++b) {
        for (std::uint64_t h = 0; h < one.heads && !checks.failed(); ++h) {
            const std::span<const double> narrow =
                std::span(got.keys).subspan((b * one.kv_heads + h / group) * lane, lane);
            checks.bits([&] { return fmt::format("keys of head {}", h); }, narrow,
                        std::span(want.keys).subspan((b * one.heads + h) * lane, lane));
        }
    }
    if (subject.can(Capability::full_prefix) && got.code.empty()) {
        const Array x = scene.x_rows(0, rows);
        const Outcome<Array> full = (*layer)->forward(scene.input(x, rows), one.rope.first);
        checks.equal("the full prefix with repeated heads", code_of(full), "");
        if (full) checks.bits("the full prefix with repeated heads", *full, got.y);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
