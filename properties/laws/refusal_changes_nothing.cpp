// call(state) refused ⇒ state' = state: every byte of every cache, every length, weight and revision, and the
// storage of the answer.
//
// Kills half-done failures (B13): a length moved before the values, keys without values, one parameter of
// four updated; a full cache that is written to (B12); an answer written before the check.

#include "support.hpp"

#include "attest/case/values.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

struct World {
    std::vector<CacheImage> caches;
    std::array<Array, 4> weights;
    std::array<std::uint64_t, 4> revisions = {};
};

std::array<std::uint64_t, 4> revisions_of(Player& player) {
    const bool known = player.scene().subject.can(Capability::identity);
    return known ? player.layer().layer->revisions() : std::array<std::uint64_t, 4>{};
}

World world_of(Player& player) {
    World world;
    const Subject& subject = player.scene().subject;
    for (const auto& track : player.caches()) {
        world.caches.push_back(track == nullptr ? CacheImage() : image_of(subject, *track->cache));
    }
    world.weights = player.layer().layer->weights();
    world.revisions = revisions_of(player);
    return world;
}

void compare(Player& player, const World& before, Text place) {
    Checks& checks = player.scene().checks;
    checks.tested();
    for (std::size_t i = 0; i < player.caches().size() && i < before.caches.size(); ++i) {
        const CacheTrack* track = player.caches()[i].get();
        if (track != nullptr) {
            unchanged(
                checks, player.scene().subject, [&] { return fmt::format("{}: cache {}", place(), i); },
                *track->cache, before.caches[i]);
        }
    }
    const Layer& layer = *player.layer().layer;
    const std::array<Array, 4> weights = layer.weights();
    const std::array<std::uint64_t, 4> revisions = revisions_of(player);
    for (std::size_t i = 0; i < 4; ++i) {
        checks.bits([&] { return fmt::format("{}: weight {}", place(), i); }, weights[i], before.weights[i]);
        checks.equal([&] { return fmt::format("{}: revision {}", place(), i); }, revisions[i],
                     before.revisions[i]);
    }
}

// Every way to call badly, on the cache as it stands.
void call_badly_in_every_way(Player& player) {
    Scene& scene = player.scene();
    CacheTrack& track = *player.cache();
    if (track.bound != &player.layer() || !track.current() || scene.x.empty() ||
        track.bound->geometry.width != scene.one.width || track.bound->variant != cases::Variant::original) {
        return;
    }
    const Array row = player.x_row(track, 0);
    if (!std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); })) return;
    // One world for all: each call is seen to have left it before the next is made.
    const World before = world_of(player);
    for (std::uint64_t kind = 0; kind < kBadCalls && !scene.checks.failed(); ++kind) {
        // The overflow is built for the weights of the case, which an update replaces.
        const BadCall bad = static_cast<BadCall>(kind);
        if (bad == BadCall::overflow && track.updates != std::array<std::uint64_t, 4>{}) continue;
        if (call_badly(scene, *player.layer().layer, *track.cache, bad, row)) {
            compare(player, before, to_text(bad));
        }
        track.workspace_uncertain = track.workspace_uncertain || bad >= BadCall::nan_input;
    }
}

// Updates of which the last number alone is refused.
void update_badly(Player& player) {
    Scene& scene = player.scene();
    LayerTrack& layer = player.layer();
    constexpr std::array tensors = {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv,
                                    cases::Tensor::wo};
    const World before = world_of(player);
    for (std::size_t i = 0; i < 4 && !scene.checks.failed(); ++i) {
        const auto shape = cases::shape_of(layer.geometry, tensors[i]);
        Array values(layer.nodes->weights[i].size(), 0.5);
        if (!shape || values.empty()) return;
        values.back() = std::numeric_limits<double>::quiet_NaN();
        const Outcome<void> done =
            layer.layer->update(i, {.shape = {shape->sizes[0], shape->sizes[1]}, .values = values});
        const auto place = [&] { return fmt::format("an update of weight {} whose last number is NaN", i); };
        as_predicted(scene.checks, scene.subject, place, code_of(done), {"NonFiniteUpdate"});
        compare(player, before, place);
    }
}

// An optimiser step that goes well for three weights and overflows in the fourth.
void step_badly(Player& player) {
    Scene& scene = player.scene();
    LayerTrack& layer = player.layer();
    std::array<Array, 4> gradients;
    for (std::size_t i = 0; i < 4; ++i) {
        gradients[i].assign(layer.nodes->weights[i].size(), 0.25);
    }
    if (gradients[3].empty()) return;
    gradients[3].back() = largest_of(layer.geometry.type);
    const World before = world_of(player);
    const Outcome<void> done = layer.layer->adamw(gradients);
    as_predicted(scene.checks, scene.subject, "an optimiser step that overflows", code_of(done),
                 {"NonFiniteUpdate"});
    compare(player, before, "an optimiser step that overflows");
}

}  // namespace

Verdict refusal_changes_nothing(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 8);
    if (!scene) return scene.verdict();
    Player player(scene);
    if (player.stopped()) return player.verdict("");
    std::uint64_t rounds = 0;
    while (!player.done() && !checks.failed()) {
        // Bad calls before a few of the steps, so that long cases stay cheap.
        if (rounds < 4 || player.upcoming().verb == cases::Verb::commit) {
            call_badly_in_every_way(player);
            ++rounds;
        }
        if (checks.failed()) break;
        const World before = world_of(player);
        const LayerTrack* const layer = &player.layer();
        if (!player.next()) break;
        const Event& event = player.last();
        if (event.idle || !event.refused() || layer != &player.layer()) continue;
        compare(player, before, [&] { return event.place(); });
        for (const double value : event.y) {
            checks.that([&] { return event.place() + ": the answer's storage"; },
                        same_bits(value, kUntouched), [&] { return number_text(value); }, "untouched");
        }
    }
    if (!checks.failed() && !player.stopped()) call_badly_in_every_way(player);
    if (!checks.failed() && !player.stopped() && subject.can(Capability::update)) update_badly(player);
    if (!checks.failed() && !player.stopped() && subject.can(Capability::adamw)) step_badly(player);
    return player.verdict("nothing was refused");
}

}  // namespace attest::properties::law
