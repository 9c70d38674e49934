#include "faults.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace attest::properties {

namespace {

// Where a number leaves the finite ones, in the documented order.
enum class Leak : std::uint8_t {
    input,
    query_projection,
    key_projection,
    value_projection,
    query_rotation,
    key_rotation,
    score,
    mix,
    output,
};

struct Named {
    std::string_view code;
    std::string_view stage;
};

constexpr std::array<Named, 9> kLeaks = {{
    {"NonFiniteInput", ""},
    {"NonFiniteProjection", "query projection"},
    {"NonFiniteProjection", "key projection"},
    {"NonFiniteProjection", "value projection"},
    {"NonFiniteRotation", "query rotation"},
    {"NonFiniteRotation", "key rotation"},
    {"NonFiniteScore", ""},
    {"NonFiniteHeadOutput", ""},
    {"NonFiniteOutput", ""},
}};

// Two rows whose first feature is 2, so that every head is twice the first column of its weight: the weights
// say at which stages numbers leave.
class Leaks {
  public:
    Leaks(Scene& scene, const cases::Case& geometry)
        : scene_(scene), geometry_(geometry), largest_(largest_of(geometry.type)) {}

    bool available(Leak leak) const {
        const bool rotation = leak == Leak::query_rotation || leak == Leak::key_rotation;
        return !rotation || geometry_.rope.width >= 2;
    }

    void offer(std::span<const Leak> leaks) {
        const auto has = [&](Leak leak) {
            return std::find(leaks.begin(), leaks.end(), leak) != leaks.end();
        };
        LayerSpec spec = spec_of(geometry_);
        // Numbers this large are beyond f16, which is refused before the later stages are reached.
        spec.storage = cases::KvStorage::computing;
        const std::uint64_t queries = geometry_.heads * geometry_.head_width;
        const std::uint64_t keys = geometry_.kv_heads * geometry_.head_width;
        spec.weights = {Array(queries * geometry_.width, 0.0), Array(keys * geometry_.width, 0.0),
                        Array(keys * geometry_.width, 0.0), Array(queries * geometry_.width, 0.0)};
        // The order matters: an earlier leak's numbers replace a later one's.
        if (has(Leak::output)) {
            column(spec, 2, 0) = 1;
            spec.weights[3][0] = largest_;
        }
        if (has(Leak::mix)) column(spec, 2, 0) = largest_ * 0.375;
        if (has(Leak::score)) {
            const double half = geometry_.type == cases::ElementType::float32 ? 0x1p+64 : 0x1p+512;
            column(spec, 0, 0) = half;
            column(spec, 1, 0) = half;
        }
        if (has(Leak::key_rotation)) rotate(spec, 1);
        if (has(Leak::query_rotation)) rotate(spec, 0);
        if (has(Leak::value_projection)) column(spec, 2, keys - 1) = -largest_;
        if (has(Leak::key_projection)) column(spec, 1, keys - 1) = largest_;
        if (has(Leak::query_projection)) column(spec, 0, queries - 1) = -largest_;

        if (!take_weights(std::move(spec))) return;
        auto cache = layer_->make_cache(geometry_.batch, 2, 0);
        if (!scene_.checks.equal("its cache", code_of(cache), "")) return;
        Array x(geometry_.batch * 2 * geometry_.width, 0.0);
        for (std::uint64_t row = 0; row < geometry_.batch * 2; ++row) {
            x[row * geometry_.width] = 2;
        }
        if (has(Leak::input)) x.back() = std::numeric_limits<double>::infinity();
        const Input rows = {.shape = {geometry_.batch, 2, geometry_.width}, .values = x};
        Output y;
        y.values.assign(x.size(), kUntouched);
        const Outcome<void> cached = layer_->prefill(**cache, rows, y);
        judge("prefill", leaks, cached);
        if (!scene_.subject.can(Capability::full_prefix)) return;
        judge("a full prefix", leaks, layer_->forward(rows, 0));
    }

  private:
    // One layer for all, where its weights can be replaced: making its tables takes longer than the calls.
    bool take_weights(LayerSpec spec) {
        if (layer_ == nullptr || !scene_.subject.can(Capability::update)) {
            Outcome<std::unique_ptr<Layer>> made = scene_.subject.make_layer(spec);
            if (!scene_.checks.equal("a layer of extremes", code_of(made), "")) return false;
            layer_ = std::move(*made);
            return true;
        }
        const std::uint64_t queries = geometry_.heads * geometry_.head_width;
        const std::uint64_t keys = geometry_.kv_heads * geometry_.head_width;
        const std::uint64_t width = geometry_.width;
        const std::array<Lengths, 4> shapes = {
            {{queries, width}, {keys, width}, {keys, width}, {width, queries}}};
        for (std::uint64_t i = 0; i < 4; ++i) {
            const Outcome<void> done = layer_->update(i, {.shape = shapes[i], .values = spec.weights[i]});
            if (!scene_.checks.equal("a weight of extremes", code_of(done), "")) return false;
        }
        return true;
    }

    // The weight by which feature `row` of projection `which` is made.
    double& column(LayerSpec& spec, std::size_t which, std::uint64_t row) const {
        return spec.weights[which][row * geometry_.width];
    }

    // The first pair of the first head becomes (Ω, −Ω). At position 1 its first feature turns to
    // Ω (cos 1 + sin 1) = 1.38 Ω.
    void rotate(LayerSpec& spec, std::size_t which) const {
        const bool half = geometry_.rope.pairs == cases::Pairs::half;
        column(spec, which, 0) = largest_ / 2;
        column(spec, which, half ? geometry_.rope.width / 2 : 1) = -largest_ / 2;
    }

    template <class T>
    void judge(std::string_view call, std::span<const Leak> leaks, const Outcome<T>& got) {
        const Named& want = kLeaks[static_cast<std::size_t>(leaks.front())];
        const auto place = [&] {
            std::string text = fmt::format("{} with", call);
            for (const Leak leak : leaks) {
                const Named& named = kLeaks[static_cast<std::size_t>(leak)];
                text += fmt::format(" {} {}", named.code, named.stage);
            }
            return text;
        };
        scene_.checks.tested();
        as_predicted(scene_.checks, scene_.subject, place, code_of(got), {want.code});
        if (!got && !want.stage.empty()) {
            scene_.checks.equal([&] { return place() + ": stage"; }, got.error().reason, want.stage);
        }
    }

    Scene& scene_;
    const cases::Case& geometry_;
    double largest_;
    std::unique_ptr<Layer> layer_;
};

}  // namespace

void number_faults(Scene& scene) {
    if (!scene.subject.can(Capability::prefill)) return;
    const cases::Case geometry = *fault_geometry(scene.one);
    Leaks leaks(scene, geometry);
    std::vector<Leak> all;
    for (std::size_t i = 0; i < kLeaks.size(); ++i) {
        if (leaks.available(static_cast<Leak>(i))) all.push_back(static_cast<Leak>(i));
    }
    for (std::size_t i = 0; i < all.size() && !scene.checks.failed(); ++i) {
        leaks.offer(std::span(all).subspan(i, 1));
        if (i + 1 < all.size()) leaks.offer(std::span(all).subspan(i, 2));
    }
}

}  // namespace attest::properties
