#include "faults.hpp"

#include <limits>

#include <fmt/format.h>

namespace attest::properties {

namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

// A change of a geometry, and the refusal that it must cause.
struct Change {
    std::string_view code;
    void (*apply)(cases::Case&);
};

// In the documented orders of Rotary::make and from_seed; a later change leaves an earlier one in place.
// Faults that exclude each other (no key/value heads, and heads that they do not divide) make two lists.
constexpr std::array<Change, 3> kRope = {{
    {"RopeWidthOdd", [](cases::Case& g) { g.rope.width = 3; }},
    {"RopeBaseInvalid", [](cases::Case& g) { g.rope.base = -1; }},
    {"RopeZeroPositions", [](cases::Case& g) { g.rope.positions = 0; }},
}};

constexpr std::array<Change, 4> kLayer = {{
    {"ZeroHeads", [](cases::Case& g) { g.heads = 0; }},
    {"ZeroKvHeads", [](cases::Case& g) { g.kv_heads = 0; }},
    {"ZeroModelWidth", [](cases::Case& g) { g.width = 0; }},
    {"ZeroHeadWidth", [](cases::Case& g) { g.head_width = 0; }},
}};

constexpr std::array<Change, 3> kGroups = {{
    {"KvHeadsDoNotDivideHeads", [](cases::Case& g) { g.kv_heads = g.heads + 1; }},
    {"ZeroModelWidth", [](cases::Case& g) { g.width = 0; }},
    {"ZeroHeadWidth", [](cases::Case& g) { g.head_width = 0; }},
}};

constexpr std::array<Change, 2> kWidths = {{
    {"ZeroHeadWidth", [](cases::Case& g) { g.head_width = 0; }},
    {"RopeWidthExceedsHead", [](cases::Case& g) { g.rope.width = g.head_width / 2 * 2 + 2; }},
}};

// Each change alone, and with the next.
template <class Try>
void try_pairs(std::span<const Change> changes, const Try& attempt) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
        attempt(changes.subspan(i, 1));
        if (i + 1 < changes.size()) attempt(changes.subspan(i, 2));
    }
}

Array zeros(std::uint64_t rows, std::uint64_t columns) {
    return Array(rows * columns, 0.0);
}

void make_layers(Scene& scene, const cases::Case& geometry, std::span<const Change> changes) {
    try_pairs(changes, [&](std::span<const Change> chosen) {
        cases::Case changed = geometry;
        for (const Change& change : chosen) {
            change.apply(changed);
        }
        LayerSpec spec = spec_of(changed);
        const std::uint64_t queries = changed.heads * changed.head_width;
        const std::uint64_t keys = changed.kv_heads * changed.head_width;
        spec.weights = {zeros(queries, changed.width), zeros(keys, changed.width), zeros(keys, changed.width),
                        zeros(queries, changed.width)};
        const auto place = [&] {
            std::string text = "a layer with";
            for (const Change& change : chosen) {
                text += fmt::format(" {}", change.code);
            }
            return text;
        };
        scene.checks.tested();
        if (scene.subject.can(Capability::seeded_geometry)) {
            as_predicted(scene.checks, scene.subject, [&] { return place() + ", seeded"; },
                         code_of(scene.subject.make_seeded_layer(spec, 1)), {chosen.front().code});
        }
        as_predicted(scene.checks, scene.subject, place, code_of(scene.subject.make_layer(spec)),
                     {chosen.front().code});
    });
}

struct CacheCall {
    std::string_view code;
    std::uint64_t batch;
    std::uint64_t capacity;
    std::uint64_t first;
};

}  // namespace

void making_faults(Scene& scene) {
    const cases::Case geometry = *fault_geometry(scene.one);
    make_layers(scene, geometry, kRope);
    make_layers(scene, geometry, kLayer);
    make_layers(scene, geometry, kGroups);
    make_layers(scene, geometry, kWidths);

    LayerSpec spec = spec_of(geometry);
    spec.weights = scene.weights;
    const Outcome<std::unique_ptr<Layer>> layer = scene.subject.make_layer(spec);
    if (!scene.checks.equal("the layer on few positions", code_of(layer), "")) return;
    const std::uint64_t positions = geometry.rope.positions;
    const std::array<CacheCall, 9> calls = {{
        {"ZeroBatchSize", 0, 1, 0},
        {"ZeroBatchSize", 0, 0, 0},
        {"ZeroCapacity", 1, 0, 0},
        {"ZeroCapacity", 1, 0, positions + 1},
        {"CapacityExceedsPositions", 1, positions + 1, 0},
        {"CapacityExceedsPositions", kHuge, 1, positions},
        {"CapacityExceedsPositions", 1, UINT64_MAX, 1},
        {"ElementCountOverflow", UINT64_MAX, 2, 0},
        // A count that fits, of elements whose bytes do not.
        {"ElementCountOverflow", kHuge, 1, 0},
    }};
    for (const CacheCall& call : calls) {
        as_predicted(scene.checks, scene.subject,
                     [&] {
                         return fmt::format("a cache of batch {}, capacity {}, first {}", call.batch,
                                            call.capacity, call.first);
                     },
                     code_of((*layer)->make_cache(call.batch, call.capacity, call.first)), {call.code});
    }
}

void full_prefix_faults(Scene& scene) {
    const cases::Case geometry = *fault_geometry(scene.one);
    LayerSpec spec = spec_of(geometry);
    spec.weights = scene.weights;
    const Outcome<std::unique_ptr<Layer>> layer = scene.subject.make_layer(spec);
    if (!scene.checks.equal("the layer on few positions", code_of(layer), "")) return;
    const std::uint64_t d = geometry.width;
    const std::uint64_t b = geometry.batch;
    const std::uint64_t too_many = geometry.rope.positions + 1;
    struct Call {
        std::string_view code;
        Lengths shape;
        std::uint64_t first;
    };
    const std::array<Call, 11> calls = {{
        {"InputRank", {b, 1}, 0},
        {"InputRank", {0, 1, d, 1}, 0},
        {"ZeroBatchSize", {0, 1, d}, 0},
        {"ZeroBatchSize", {0, 0, d}, 0},
        {"ZeroRows", {b, 0, d}, 0},
        {"ZeroRows", {b, 0, d + 1}, 0},
        {"InputWidthMismatch", {b, 1, d + 1}, 0},
        {"InputWidthMismatch", {b, too_many, d + 1}, 0},
        {"PositionsExceeded", {b, too_many, d}, 0},
        {"PositionsExceeded", {b, 1, d}, geometry.rope.positions},
        {"PositionsExceeded", {b, 1, d}, UINT64_MAX},
    }};
    // One NaN stands for every element, so that each of these calls is wrong in its numbers as well.
    const std::array<double, 1> nan = {std::numeric_limits<double>::quiet_NaN()};
    for (const Call& call : calls) {
        const auto place = [&] {
            std::string text = "a full prefix of shape";
            for (const std::uint64_t length : call.shape) {
                text += fmt::format(" {}", length);
            }
            return text;
        };
        as_predicted(scene.checks, scene.subject, place,
                     code_of((*layer)->forward({.shape = call.shape, .values = nan}, call.first)),
                     {call.code});
    }
    as_predicted(scene.checks, scene.subject, "a full prefix of NaN",
                 code_of((*layer)->forward({.shape = {b, 1, d}, .values = nan}, 0)), {"NonFiniteInput"});
}

}  // namespace attest::properties
