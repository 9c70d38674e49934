// Two layers of different geometry, each with its cache, used in turn, give the bits that each gives alone;
// also when the second is dropped half-way and made again, and when each prepares a row before either
// commits.
//
// Kills scratch, tables or settings that objects share (B21), a rotation table looked up by too little of its
// configuration (B05, B16), and state kept by address (B02).
//
// Stays, whoever else sees its bugs: it is the only one in which layers of two geometries live at
// once.

#include "support.hpp"

#include "attest/case/rows.hpp"
#include "attest/case/values.hpp"

#include <utility>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Another geometry: a variant of the case's layer, now and then in the other element type.
cases::Case other_geometry(const cases::Case& one) {
    constexpr std::array kVariants = {cases::Variant::head_width, cases::Variant::wider,
                                      cases::Variant::rope_base,  cases::Variant::heads,
                                      cases::Variant::rope_width, cases::Variant::kv_heads,
                                      cases::Variant::rope_pairs, cases::Variant::positions};
    cases::Case other = cases::variant_of(one, kVariants[one.values.seed % kVariants.size()]);
    if (one.values.seed % 3 == 0) other.batch = one.batch + 1;
    if (one.values.seed % 5 == 0) {
        other.type = one.type == cases::ElementType::float32 ? cases::ElementType::float64
                                                             : cases::ElementType::float32;
        other.storage = cases::KvStorage::computing;
        // What is overridden may be no number of the other type.
        other.sets.clear();
    }
    return other;
}

// One layer with its rows, played alone or in turn with another.
class Session {
  public:
    Session(Scene& scene, cases::Case geometry, std::array<Array, 4> weights, Array x, std::uint64_t rows)
        : scene_(scene),
          geometry_(std::move(geometry)),
          weights_(std::move(weights)),
          x_(std::move(x)),
          rows_(rows) {}

    // A new layer and an empty cache. False when either is refused.
    bool begin() {
        end();
        LayerSpec spec = spec_of(geometry_);
        spec.weights = weights_;
        auto layer = scene_.subject.make_layer(spec);
        if (!scene_.checks.equal("a layer beside another", code_of(layer), "")) return false;
        layer_ = std::move(*layer);
        auto cache = layer_->make_cache(geometry_.batch, geometry_.capacity, geometry_.rope.first);
        if (!scene_.checks.equal("a cache beside another", code_of(cache), "")) return false;
        cache_ = std::move(*cache);
        return true;
    }
    void end() {
        ticket_.reset();
        cache_.reset();
        layer_.reset();
        run_ = Run();
        answers_.clear();
        position_ = 0;
    }

    // The next row, if there is one and none was refused.
    void step() {
        if (position_ == rows_ || !run_.code.empty()) return;
        const Array row = rows_of(x_, geometry_.batch, rows_, geometry_.width, position_++, 1);
        Answer answer =
            append(*layer_, *cache_, {.shape = {geometry_.batch, 1, geometry_.width}, .values = row});
        run_.code = answer.code;
        if (run_.code.empty()) answers_.push_back(std::move(answer.y));
    }

    // The next row in two halves, between which others may work.
    void prepare() {
        ticket_.reset();
        if (position_ == rows_ || !run_.code.empty()) return;
        const Array row = rows_of(x_, geometry_.batch, rows_, geometry_.width, position_++, 1);
        prepared_.values.assign(row.size(), kUntouched);
        auto ticket = layer_->prepare(
            *cache_, {.shape = {geometry_.batch, 1, geometry_.width}, .values = row}, prepared_);
        run_.code = code_of(ticket);
        if (ticket) ticket_ = std::move(*ticket);
    }
    void commit() {
        if (ticket_ == nullptr) return;
        run_.code = code_of(cache_->commit(*ticket_));
        if (run_.code.empty()) answers_.push_back(prepared_.values);
    }

    Run result() {
        run_.y = joined(answers_, geometry_.batch, geometry_.width);
        run_.keys = cache_->live_keys();
        run_.values = cache_->live_values();
        return run_;
    }

    std::uint64_t rows() const { return rows_; }

  private:
    Scene& scene_;
    cases::Case geometry_;
    std::array<Array, 4> weights_;
    Array x_;
    std::uint64_t rows_;
    std::unique_ptr<Layer> layer_;
    std::unique_ptr<Cache> cache_;
    Run run_;
    std::vector<Array> answers_;
    std::unique_ptr<Ticket> ticket_;
    Output prepared_;
    std::uint64_t position_ = 0;
};

Run alone(Session& session) {
    if (!session.begin()) return {.code = "not made", .y = {}, .keys = {}, .values = {}};
    for (std::uint64_t t = 0; t < session.rows(); ++t) {
        session.step();
    }
    Run run = session.result();
    session.end();
    return run;
}

}  // namespace

Verdict objects_used_in_turn_do_not_mix(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 14);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();

    cases::Case other = other_geometry(one);
    const auto weights = weights_of(other);
    const auto x = cases::fill<double>(other, cases::Tensor::x);
    const std::uint64_t other_rows = cases::rows_needed(other);
    if (!weights || !x || !predict_layer(other, &*weights).success() ||
        !predict_cache(other, other.batch, other.capacity, other.rope.first).success() ||
        multiply_adds(other, other_rows) > kSubjectWork / 12 || other_rows < rows) {
        return vacuous("the other layer can't be made", checks.counters());
    }
    Session first(scene, one, scene.weights, scene.x_rows(0, rows), rows);
    Session second(scene, other, *weights, rows_of(*x, other.batch, other_rows, other.width, 0, rows), rows);
    const Run first_alone = alone(first);
    const Run second_alone = alone(second);
    if (checks.failed() || !first.begin() || !second.begin()) return checks.verdict();
    for (std::uint64_t t = 0; t < rows; ++t) {
        first.step();
        // Half-way the second is gone, and one like it takes its place, perhaps at its very address.
        if (t == rows / 2 && !second.begin()) return checks.verdict();
        second.step();
    }
    const Run first_in_turn = first.result();
    if (!second.begin()) return checks.verdict();
    for (std::uint64_t t = 0; t < rows; ++t) {
        second.step();
        first.step();
    }
    checks.tested();
    same_run(checks, "the first of two used in turn", first_in_turn, first_alone);
    same_run(checks, "the second of two used in turn", second.result(), second_alone);
    same_run(checks, "the first in the end", first.result(), first_alone);
    if (!subject.can(Capability::tickets) || checks.failed()) return checks.verdict();
    if (!first.begin() || !second.begin()) return checks.verdict();
    for (std::uint64_t t = 0; t < rows; ++t) {
        first.prepare();
        second.prepare();
        first.commit();
        second.commit();
    }
    same_run(checks, "the first, prepared in turn", first.result(), first_alone);
    same_run(checks, "the second, prepared in turn", second.result(), second_alone);
    return checks.verdict();
}

}  // namespace attest::properties::law
