#include "faults.hpp"

#include "attest/case/rows.hpp"
#include "attest/properties/draw.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace attest::properties {

std::optional<cases::Case> fault_geometry(const cases::Case& one) {
    cases::Case small = one;
    small.rope.first = 0;
    small.rope.positions = 4;
    small.capacity = 2;
    small.batch = std::max<std::uint64_t>(small.batch, 1);
    small.steps.clear();
    small.sets.clear();
    if (multiply_adds(small, 4) > kSubjectWork / 64) return std::nullopt;
    return small;
}

namespace {

// In the documented order of forward_incremental.
enum class Fault : std::uint8_t {
    rank,
    tokens,
    batch,
    width,
    cache_width,
    cache_heads,
    cache_kv_heads,
    cache_head_width,
    identity,
    revision,
    rope,
    full,
    answer_shape,
    answer_not_writable,
    input,
};

constexpr std::array<std::string_view, 15> kCodes = {
    "InputRank",
    "SingleTokenRequired",
    "InputBatchMismatch",
    "InputWidthMismatch",
    "CacheModelWidthMismatch",
    "CacheHeadCountMismatch",
    "CacheKvHeadCountMismatch",
    "CacheHeadWidthMismatch",
    "CacheLayerMismatch",
    "CacheLayerRevisionMismatch",
    "CacheRopeMismatch",
    "CacheFull",
    "ShapeMismatch",
    "ViewNotWritable",
    "NonFiniteInput",
};

class Calls {
  public:
    Calls(Scene& scene, const cases::Case& geometry, Layer& layer)
        : scene_(scene), geometry_(geometry), layer_(layer) {}

    // Faults that this geometry can have, in order.
    std::vector<Fault> available() const {
        std::vector<Fault> all;
        for (std::size_t i = 0; i < kCodes.size(); ++i) {
            const Fault fault = static_cast<Fault>(i);
            if (fault == Fault::cache_kv_heads && other_kv_heads() == geometry_.kv_heads) continue;
            if (fault == Fault::answer_not_writable &&
                (geometry_.batch * geometry_.width < 2 || !scene_.subject.can(Capability::strides))) {
                continue;
            }
            const bool binding = fault == Fault::identity || fault == Fault::revision || fault == Fault::rope;
            if (binding && !scene_.subject.can(Capability::identity)) continue;
            all.push_back(fault);
        }
        return all;
    }

    void call(std::span<const Fault> faults) {
        const auto has = [&](Fault fault) {
            return std::find(faults.begin(), faults.end(), fault) != faults.end();
        };
        Layer* const owner = owner_of(has);
        if (owner == nullptr) return;
        const std::uint64_t capacity = has(Fault::full) ? 1 : 2;
        auto cache = owner->make_cache(geometry_.batch, capacity, 0);
        if (!scene_.checks.equal("a cache for faulty calls", code_of(cache), "")) return;
        if (has(Fault::full)) {
            const std::uint64_t width = geometry_.width + (has(Fault::cache_width) ? 1 : 0);
            const Array zeros(geometry_.batch * width, 0.0);
            const Answer done =
                append(*owner, **cache, {.shape = {geometry_.batch, 1, width}, .values = zeros});
            if (!scene_.checks.equal("filling a cache with zeros", done.code, "")) return;
        }
        if (has(Fault::revision)) update_weights(*owner);

        Lengths shape = {geometry_.batch + (has(Fault::batch) ? 1 : 0),
                         has(Fault::tokens) ? std::uint64_t{2} : std::uint64_t{1},
                         geometry_.width + (has(Fault::width) ? 1 : 0)};
        Array values(shape[0] * shape[1] * shape[2], 0.0);
        if (has(Fault::rank)) shape.push_back(1);
        if (has(Fault::input)) values.back() = std::numeric_limits<double>::quiet_NaN();
        Output y;
        y.shape = shape;
        if (has(Fault::answer_shape)) y.shape.back() += 1;
        std::uint64_t count = 1;
        for (const std::uint64_t length : y.shape) {
            count *= length;
        }
        y.values.assign(count, kUntouched);
        y.not_writable = has(Fault::answer_not_writable);
        const CacheImage before = image_of(scene_.subject, **cache);
        const Outcome<void> done = layer_.append(**cache, {.shape = shape, .values = values}, y);

        const auto place = [&] {
            std::string text = "a row with";
            for (const Fault fault : faults) {
                text += fmt::format(" {}", kCodes[static_cast<std::size_t>(fault)]);
            }
            return text;
        };
        scene_.checks.tested();
        as_predicted(scene_.checks, scene_.subject, place, code_of(done),
                     {kCodes[static_cast<std::size_t>(faults.front())]});
        unchanged(scene_.checks, scene_.subject, place, **cache, before);
    }

  private:
    std::uint64_t other_kv_heads() const {
        if (geometry_.kv_heads != geometry_.heads) return geometry_.heads;
        return geometry_.heads > 1 ? 1 : geometry_.kv_heads;
    }

    // The layer that the cache is made from: the calling one, or one that differs by the faults.
    template <class Has>
    Layer* owner_of(const Has& has) {
        cases::Case other = geometry_;
        if (has(Fault::cache_width)) ++other.width;
        if (has(Fault::cache_head_width)) ++other.head_width;
        if (has(Fault::cache_kv_heads)) other.kv_heads = other_kv_heads();
        // More heads, so that both counts of key/value heads divide them.
        if (has(Fault::cache_heads)) other.heads *= 2;
        if (has(Fault::rope)) other.rope = cases::variant_of(geometry_, cases::Variant::rope_base).rope;
        const bool rebuilt = other.width != geometry_.width || other.heads != geometry_.heads ||
                             other.kv_heads != geometry_.kv_heads ||
                             other.head_width != geometry_.head_width || has(Fault::identity);
        if (!rebuilt && !has(Fault::rope)) return &layer_;
        unsigned key = 0;
        for (const Fault fault : {Fault::cache_width, Fault::cache_head_width, Fault::cache_kv_heads,
                                  Fault::cache_heads, Fault::rope, Fault::identity}) {
            key = 2 * key + (has(fault) ? 1 : 0);
        }
        std::unique_ptr<Layer>& slot = others_[key];
        if (slot != nullptr) return slot.get();
        Outcome<std::unique_ptr<Layer>> made = rebuilt
                                                   ? scene_.subject.make_layer(zero_layer(other))
                                                   : layer_.share(other.heads, other.kv_heads, other.rope);
        if (!scene_.checks.equal("another layer", code_of(made), "")) return nullptr;
        slot = std::move(*made);
        return slot.get();
    }

    static LayerSpec zero_layer(const cases::Case& geometry) {
        LayerSpec spec = spec_of(geometry);
        const std::uint64_t queries = geometry.heads * geometry.head_width * geometry.width;
        const std::uint64_t keys = geometry.kv_heads * geometry.head_width * geometry.width;
        spec.weights = {Array(queries, 0.0), Array(keys, 0.0), Array(keys, 0.0), Array(queries, 0.0)};
        return spec;
    }

    // One weight, another each time: the revision moves, the values stay.
    void update_weights(Layer& layer) {
        const std::uint64_t which = updates_++ % 4;
        const Array values = layer.weights()[which];
        // The owner may have another geometry; its width tells the other side of each weight.
        const std::uint64_t width = width_of(layer);
        const std::uint64_t outputs = values.size() / width;
        const Lengths shape = which == 3 ? Lengths{width, outputs} : Lengths{outputs, width};
        const Outcome<void> done = layer.update(which, {.shape = shape, .values = values});
        scene_.checks.equal("an update between", code_of(done), "");
    }

    std::uint64_t width_of(const Layer& layer) const {
        for (const auto& [key, other] : others_) {
            // The first bit of the key is the width's.
            if (other.get() == &layer) return geometry_.width + (key >> 5 & 1);
        }
        return geometry_.width;
    }

    Scene& scene_;
    const cases::Case& geometry_;
    Layer& layer_;
    std::map<unsigned, std::unique_ptr<Layer>> others_;
    std::uint64_t updates_ = 0;
};

}  // namespace

void call_faults(Scene& scene) {
    const cases::Case geometry = *fault_geometry(scene.one);
    LayerSpec spec = spec_of(geometry);
    spec.weights = scene.weights;
    const Outcome<std::unique_ptr<Layer>> layer = scene.subject.make_layer(spec);
    if (!scene.checks.equal("the layer on few positions", code_of(layer), "")) return;
    Calls calls(scene, geometry, **layer);
    const std::vector<Fault> faults = calls.available();
    for (std::size_t i = 0; i < faults.size() && !scene.checks.failed(); ++i) {
        calls.call(std::span(faults).subspan(i, 1));
        if (i + 1 < faults.size()) calls.call(std::span(faults).subspan(i, 2));
    }
    // Any number of faults, anywhere.
    SeededChoices choices(scene.one.values.seed);
    for (int round = 0; round < 6 && !scene.checks.failed(); ++round) {
        std::vector<Fault> chosen;
        for (const Fault fault : faults) {
            if (choices.below(4) == 0) chosen.push_back(fault);
        }
        if (!chosen.empty()) calls.call(chosen);
    }
}

}  // namespace attest::properties
