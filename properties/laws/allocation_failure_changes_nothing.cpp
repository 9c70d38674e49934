// For every call and every n: if its n-th allocation fails, it is refused with AllocationFailed, nothing has
// changed, and the same call made again succeeds with the bits of a call that never failed.
//
// Kills failures that leave half (B13): a prefill that moved the length, a copy that was half made, an
// optimiser that stepped two of four parameters; and an allocation whose failure nobody looks at.
//
// Stays although others see its bugs as well: it alone lets every allocation of every call fail in its turn.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// More allocations than any call makes; a call that never succeeds is found here.
constexpr std::uint64_t kMostAllocations = 64;

// fail_each lets every allocation of a call fail once. `call` returns its code, `look` what must not change.
template <class Call, class Look>
void fail_each(Scene& scene, std::string_view what, Call call, Look look) {
    Checks& checks = scene.checks;
    // What every failing call must leave is what the first found: each is checked before the next is made.
    const auto before = look();
    for (std::uint64_t n = 1; n <= kMostAllocations && !checks.failed(); ++n) {
        const std::uint64_t count = scene.subject.allocations();
        scene.subject.fail_allocation(n);
        const std::string code = call();
        scene.subject.fail_allocation(0);
        const bool fired = scene.subject.allocations() - count >= n;
        const auto place = [&] { return fmt::format("{}, allocation {} failing", what, n); };
        if (!fired) {
            checks.equal([&] { return fmt::format("{} in the end", what); }, code, "");
            return;
        }
        checks.tested();
        checks.equal(place, code, "AllocationFailed");
        checks.that([&] { return place() + ": what was there before"; }, look() == before, "changed",
                    "unchanged");
    }
    if (!checks.failed()) checks.fail(std::string(what), "never succeeds", "success", "64 allocations");
}

// What a cache and a layer are, as one comparable thing. NaN does not occur in either.
struct Look {
    Array keys, values, live;
    std::uint64_t length = 0;
    std::array<Array, 4> weights;
    std::array<std::uint64_t, 4> revisions = {};
    bool operator==(const Look&) const = default;
};

void cache_calls(Scene& scene, Layer& layer) {
    Checks& checks = scene.checks;
    std::unique_ptr<Cache> cache;
    const auto look_at_layer = [&] {
        Look look;
        look.weights = layer.weights();
        look.revisions = layer.revisions();
        return look;
    };
    fail_each(
        scene, "making a cache",
        [&] {
            auto made = layer.make_cache(scene.one.batch, scene.one.capacity, scene.one.rope.first);
            if (made) cache = std::move(*made);
            return std::string(code_of(made));
        },
        look_at_layer);
    if (checks.failed() || cache == nullptr) return;
    const auto look = [&] {
        Look now = look_at_layer();
        const Storage storage = cache->storage();
        now.keys = storage.keys;
        now.values = storage.values;
        now.live = cache->live_keys();
        now.length = cache->length();
        return now;
    };
    const std::uint64_t rows = scene.playable_rows();
    const Array all = scene.x_rows(0, rows);
    Answer answer;
    fail_each(
        scene, "prefill",
        [&] {
            answer = prefill(layer, *cache, scene.input(all, rows));
            return answer.code;
        },
        look);
    if (checks.failed()) return;
    const std::unique_ptr<Cache> calm = scene.make_cache(layer, scene.one.batch, scene.one.capacity);
    const Answer want = prefill(layer, *calm, scene.input(all, rows));
    checks.bits("prefill that succeeded after all", answer.y, want.y);
    checks.that("its cache", cache->same_bytes(*calm), "differs", "the bytes of one that never failed");

    const auto snapshot_call = [&](auto read) { return [&, read] { return std::string(code_of(read())); }; };
    fail_each(scene, "a snapshot of keys", snapshot_call([&] { return cache->keys(); }), look);
    fail_each(scene, "a snapshot of values", snapshot_call([&] { return cache->values(); }), look);
    fail_each(scene, "a copy", snapshot_call([&] { return cache->copy(); }), look);
    fail_each(scene, "a full prefix",
              snapshot_call([&] { return layer.forward(scene.input(all, rows), scene.one.rope.first); }),
              look);
    if (rows >= scene.one.capacity) return;
    const Array row = scene.x_rows(rows - 1, 1);
    Evidence evidence;
    fail_each(
        scene, "evidence",
        [&] {
            const Outcome<Evidence> step = layer.append_with_evidence(*cache, scene.input(row, 1));
            if (step) evidence = *step;
            return std::string(code_of(step));
        },
        look);
    if (checks.failed()) return;
    const Answer plain = append(layer, *calm, scene.input(row, 1));
    checks.bits("evidence that succeeded after all", evidence.output, plain.y);
}

void layer_calls(Scene& scene) {
    Checks& checks = scene.checks;
    LayerSpec spec = spec_of(scene.one);
    spec.weights = scene.weights;
    std::unique_ptr<Layer> layer;
    const auto nothing = [] { return 0; };
    fail_each(
        scene, "making a layer",
        [&] {
            auto made = scene.subject.make_layer(spec);
            if (made) layer = std::move(*made);
            return std::string(code_of(made));
        },
        nothing);
    if (checks.failed() || layer == nullptr) return;
    fail_each(
        scene, "making a seeded layer",
        [&] { return std::string(code_of(scene.subject.make_seeded_layer(spec, scene.one.values.seed))); },
        nothing);
    cache_calls(scene, *layer);
    if (checks.failed() || !scene.subject.can(Capability::adamw)) return;
    std::array<Array, 4> gradients;
    for (std::size_t i = 0; i < 4; ++i) {
        gradients[i].assign(scene.weights[i].size(), 0.5);
    }
    if (!predict_adamw(scene.one, scene.weights, gradients).success()) return;
    fail_each(
        scene, "an optimiser step", [&] { return std::string(code_of(layer->adamw(gradients))); },
        [&] {
            Look look;
            look.weights = layer->weights();
            look.revisions = layer->revisions();
            return look;
        });
}

}  // namespace

Verdict allocation_failure_changes_nothing(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks,
                {Capability::allocation, Capability::typed_refusals, Capability::storage, Capability::copy,
                 Capability::prefill, Capability::full_prefix, Capability::evidence, Capability::identity,
                 Capability::seeded_geometry},
                32);
    if (!scene) return scene.verdict();
    if (scene.make_cache() == nullptr) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const bool clean = far_from_overflow(one, scene.weights, scene.x, one.capacity);
    if (clean) layer_calls(scene);
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
        if (player.last().allocation_failed) checks.tested();
    }
    return player.verdict("no allocation was made to fail");
}

}  // namespace attest::properties::law
