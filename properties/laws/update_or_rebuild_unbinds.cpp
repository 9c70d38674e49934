// layer' ≠ layer(cache) ⇒ every call is refused, before and after reset: CacheLayerRevisionMismatch when a
// weight was updated (by the same values, too), CacheLayerMismatch when the layer was rebuilt (from the same
// values, at the same address, too), CacheRopeMismatch when its rope differs. A refused update unbinds
// nothing, and a new cache is accepted.
//
// Kills a skipped revision check and identities told by address or value (B02), and a reset that refreshes
// the binding (B32).
//
// Stays although others see its bugs as well: it tries every change of a layer on every entry, before and
// after reset, where others meet some by drawing.

#include "support.hpp"

#include "attest/case/rows.hpp"

#include <limits>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

class Trial {
  public:
    Trial(Scene& scene, Layer& layer) : scene_(scene), layer_(layer), row_(scene.x_rows(0, 1)) {}

    // A cache with as many of the case's rows as fit, one slot left free.
    bool fill() {
        cache_ = scene_.make_cache(layer_, scene_.one.batch, scene_.one.capacity);
        if (cache_ == nullptr) return false;
        const std::uint64_t rows = std::min<std::uint64_t>(scene_.playable_rows(), scene_.one.capacity - 1);
        for (std::uint64_t t = 0; t < std::min<std::uint64_t>(rows, 2); ++t) {
            const Array row = scene_.x_rows(t, 1);
            append(layer_, *cache_, scene_.input(row, 1));
        }
        return true;
    }

    // Every entry refuses, nothing moves, and reset does not help.
    void refused_by(Layer& layer, std::string_view code, Text what) {
        for (const bool after_reset : {false, true}) {
            if (after_reset) cache_->reset();
            const auto place = [&] {
                return fmt::format("{}{}", what(), after_reset ? ", after reset" : "");
            };
            const CacheImage before = image_of(scene_.subject, *cache_);
            const Input x = scene_.input(row_, 1);
            expect([&] { return place() + ": append"; }, append(layer, *cache_, x).code, code);
            if (scene_.subject.can(Capability::prefill)) {
                expect([&] { return place() + ": prefill"; }, prefill(layer, *cache_, x).code, code);
            }
            if (scene_.subject.can(Capability::tickets)) {
                Output y;
                y.values.assign(row_.size(), kUntouched);
                expect([&] { return place() + ": prepare"; }, code_of(layer.prepare(*cache_, x, y)), code);
            }
            if (scene_.subject.can(Capability::evidence)) {
                expect([&] { return place() + ": evidence"; },
                       code_of(layer.append_with_evidence(*cache_, x)), code);
            }
            unchanged(scene_.checks, scene_.subject, place, *cache_, before);
        }
        scene_.checks.tested();
    }

    void accepted_by(Layer& layer, std::string_view what) {
        if (cache_->length() == cache_->capacity()) cache_->reset();
        const Answer answer = append(layer, *cache_, scene_.input(row_, 1));
        const bool bound = answer.code.empty() || is_non_finite(answer.code);
        scene_.checks.that(what, bound, answer.code, "accepted");
        scene_.checks.tested();
    }

  private:
    void expect(Text place, std::string_view got, std::string_view code) {
        as_predicted(scene_.checks, scene_.subject, place, got, {code});
    }

    Scene& scene_;
    Layer& layer_;
    Array row_;
    std::unique_ptr<Cache> cache_;
};

Lengths weight_shape(const cases::Case& one, std::uint64_t which) {
    const std::uint64_t queries = one.heads * one.head_width;
    const std::uint64_t keys = one.kv_heads * one.head_width;
    if (which == 0) return {queries, one.width};
    if (which == 3) return {one.width, queries};
    return {keys, one.width};
}

void updates(Scene& scene, Layer& layer) {
    for (std::uint64_t which = 0; which < 4 && !scene.checks.failed(); ++which) {
        Trial trial(scene, layer);
        if (!trial.fill()) return;
        // An update that is refused leaves the cache bound …
        Array values = layer.weights()[which];
        const double kept = values.back();
        values.back() = std::numeric_limits<double>::infinity();
        const Outcome<void> bad =
            layer.update(which, {.shape = weight_shape(scene.one, which), .values = values});
        as_predicted(scene.checks, scene.subject, "a non-finite update", code_of(bad), {"NonFiniteUpdate"});
        trial.accepted_by(layer, "a row after a refused update");
        // … one that changes no value does not.
        values.back() = kept;
        const Outcome<void> good =
            layer.update(which, {.shape = weight_shape(scene.one, which), .values = values});
        scene.checks.equal("an update", code_of(good), "");
        trial.refused_by(layer, "CacheLayerRevisionMismatch",
                         [&] { return fmt::format("weight {} updated", which); });
    }
}

void optimiser(Scene& scene, Layer& layer) {
    Trial trial(scene, layer);
    if (!trial.fill()) return;
    std::array<Array, 4> gradients;
    for (std::uint64_t which = 0; which < 4; ++which) {
        gradients[which].assign(scene.weights[which].size(), 0.25);
    }
    gradients[3].back() = std::numeric_limits<double>::quiet_NaN();
    as_predicted(scene.checks, scene.subject, "a NaN gradient", code_of(layer.adamw(gradients)),
                 {"NonFiniteGradient"});
    trial.accepted_by(layer, "a row after a refused step");
    gradients[3].back() = 0.25;
    const Prediction step = predict_adamw(scene.one, layer.weights(), gradients);
    const Outcome<void> done = layer.adamw(gradients);
    as_predicted(scene.checks, scene.subject, "an optimiser step", code_of(done), step);
    if (done) trial.refused_by(layer, "CacheLayerRevisionMismatch", "an optimiser step");
}

void rebuilds(Scene& scene, Layer& layer) {
    LayerSpec spec = spec_of(scene.one);
    spec.weights = scene.weights;
    Outcome<std::unique_ptr<Layer>> first = scene.subject.make_layer(spec);
    if (!scene.checks.equal("a rebuilt layer", code_of(first), "")) return;
    Trial trial(scene, layer);
    if (!trial.fill()) return;
    trial.refused_by(**first, "CacheLayerMismatch", "a rebuilt layer");
    trial.accepted_by(layer, "a row by the cache's own layer");

    // A layer made where another one stood, whose cache is still there.
    Trial orphan(scene, **first);
    if (!orphan.fill()) return;
    first->reset();
    Outcome<std::unique_ptr<Layer>> second = scene.subject.make_layer(spec);
    if (!scene.checks.equal("another rebuilt layer", code_of(second), "")) return;
    orphan.refused_by(**second, "CacheLayerMismatch", "a layer made after the first was freed");
}

void ropes(Scene& scene, Layer& layer) {
    for (const cases::Variant variant : {cases::Variant::rope_base, cases::Variant::rope_width,
                                         cases::Variant::rope_pairs, cases::Variant::positions}) {
        if (scene.checks.failed()) return;
        const cases::Case other = cases::variant_of(scene.one, variant);
        if (!predict_layer(other, nullptr).success()) continue;
        Outcome<std::unique_ptr<Layer>> shared = layer.share(other.heads, other.kv_heads, other.rope);
        if (!scene.checks.equal("a layer over the same weights", code_of(shared), "")) return;
        Trial trial(scene, layer);
        if (!trial.fill()) return;
        trial.refused_by(**shared, "CacheRopeMismatch", "another rope");
        trial.accepted_by(layer, "a row by the cache's own layer");
    }
}

}  // namespace

Verdict update_or_rebuild_unbinds(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks,
                {Capability::binding, Capability::identity, Capability::update, Capability::typed_refusals},
                8);
    if (!scene) return scene.verdict();
    if (scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    {
        LayerSpec spec = spec_of(one);
        spec.weights = scene.weights;
        Outcome<std::unique_ptr<Layer>> layer = subject.make_layer(spec);
        if (!checks.equal("the layer again", code_of(layer), "")) return checks.verdict();
        if (scene.make_cache(**layer, one.batch, one.capacity) == nullptr) return scene.verdict();
        rebuilds(scene, **layer);
        ropes(scene, **layer);
        updates(scene, **layer);
        if (subject.can(Capability::adamw)) optimiser(scene, **layer);
    }
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
    }
    return player.verdict("nothing was updated or rebuilt");
}

}  // namespace attest::properties::law
