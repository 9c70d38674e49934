// commit_all(t_1 … t_n) commits every row if no ticket is stale, and else none: ∃i stale(t_i) ⇒ state' =
// state.
//
// Kills a model of which layer 1 of 2 moved (B13), and a stale ticket found after the first commit (B30).

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

constexpr std::size_t kCaches = 3;

enum class Spoiling : std::uint8_t { moved_on, reset, discarded, prepared_again, named_twice };
constexpr std::uint64_t kSpoilings = 5;

class Stack {
  public:
    Stack(Scene& scene, Layer& layer) : scene_(scene), layer_(layer) {}

    bool make() {
        for (std::size_t i = 0; i < kCaches; ++i) {
            caches_.push_back(scene_.make_cache(layer_, scene_.one.batch, scene_.one.capacity));
            if (caches_.back() == nullptr) return false;
        }
        return true;
    }

    // Each cache prepares another row of x.
    bool prepare() {
        tickets_.clear();
        for (std::size_t i = 0; i < kCaches; ++i) {
            tickets_.push_back(prepare_one(i));
            if (tickets_.back() == nullptr) return false;
        }
        return true;
    }

    bool spoil(std::size_t which, Spoiling how) {
        Cache& cache = *caches_[which];
        spoiler_.reset();
        switch (how) {
            case Spoiling::moved_on: {
                const Array row = row_of(which);
                return !append(layer_, cache, scene_.input(row, 1)).refused();
            }
            case Spoiling::reset:
                cache.reset();
                return true;
            case Spoiling::discarded:
                cache.discard();
                return true;
            case Spoiling::prepared_again:
                spoiler_ = prepare_one(which);
                return spoiler_ != nullptr;
            case Spoiling::named_twice:
                return true;
        }
        return false;
    }

    std::vector<Pending> pending(std::size_t spoilt, Spoiling how) const {
        std::vector<Pending> all;
        for (std::size_t i = 0; i < kCaches; ++i) {
            all.push_back({caches_[i].get(), tickets_[i].get()});
        }
        if (how == Spoiling::named_twice) all.push_back(all[spoilt]);
        return all;
    }

    std::vector<CacheImage> images() const {
        std::vector<CacheImage> all;
        for (const auto& cache : caches_) {
            all.push_back(image_of(scene_.subject, *cache));
        }
        return all;
    }

    void refused_whole(std::size_t spoilt, Spoiling how) {
        const std::vector<CacheImage> before = images();
        const std::vector<Pending> all = pending(spoilt, how);
        const Outcome<void> done = scene_.subject.commit_all(all);
        scene_.checks.tested();
        const auto place = [&] { return fmt::format("ticket {} of {} stale", spoilt, kCaches); };
        as_predicted(scene_.checks, scene_.subject, place, code_of(done), {"StaleTicket"});
        for (std::size_t i = 0; i < kCaches; ++i) {
            unchanged(
                scene_.checks, scene_.subject, [&] { return fmt::format("{}: cache {}", place(), i); },
                *caches_[i], before[i]);
        }
    }

    // All good: each cache ends in the bytes that append gives.
    void committed_whole() {
        for (const auto& cache : caches_) {
            cache->reset();
        }
        if (!prepare()) return;
        const std::vector<Pending> all = pending(0, Spoiling::reset);
        scene_.checks.tested();
        if (!scene_.checks.equal("all tickets good", code_of(scene_.subject.commit_all(all)), "")) return;
        for (std::size_t i = 0; i < kCaches; ++i) {
            const std::unique_ptr<Cache> plain =
                scene_.make_cache(layer_, scene_.one.batch, scene_.one.capacity);
            const Array row = row_of(i);
            append(layer_, *plain, scene_.input(row, 1));
            const auto place = [&] { return fmt::format("cache {} committed", i); };
            scene_.checks.equal([&] { return place() + ": length"; }, caches_[i]->length(), 1);
            scene_.checks.bits([&] { return place() + ": keys"; }, caches_[i]->live_keys(),
                               plain->live_keys());
            scene_.checks.bits([&] { return place() + ": values"; }, caches_[i]->live_values(),
                               plain->live_values());
        }
    }

    void reset() {
        for (const auto& cache : caches_) {
            cache->reset();
        }
    }

  private:
    Array row_of(std::size_t i) const { return scene_.x_rows(i % scene_.rows, 1); }

    std::unique_ptr<Ticket> prepare_one(std::size_t i) {
        const Array row = row_of(i);
        Output y;
        y.values.assign(row.size(), kUntouched);
        Outcome<std::unique_ptr<Ticket>> ticket = layer_.prepare(*caches_[i], scene_.input(row, 1), y);
        return ticket ? std::move(*ticket) : nullptr;
    }

    Scene& scene_;
    Layer& layer_;
    std::vector<std::unique_ptr<Cache>> caches_;
    std::vector<std::unique_ptr<Ticket>> tickets_;
    std::unique_ptr<Ticket> spoiler_;
};

}  // namespace

Verdict commit_all_is_all_or_nothing(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::tickets}, 8);
    if (!scene) return scene.verdict();
    if (scene.rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    {
        LayerSpec spec = spec_of(one);
        spec.weights = scene.weights;
        const Outcome<std::unique_ptr<Layer>> layer = subject.make_layer(spec);
        if (!checks.equal("the layer again", code_of(layer), "")) return checks.verdict();
        Stack stack(scene, **layer);
        if (!stack.make()) return scene.verdict();
        for (std::uint64_t trial = 0; trial < kSpoilings && !checks.failed(); ++trial) {
            const std::size_t spoilt = static_cast<std::size_t>((trial + one.values.seed) % kCaches);
            stack.reset();
            if (!stack.prepare() || !stack.spoil(spoilt, static_cast<Spoiling>(trial))) continue;
            stack.refused_whole(spoilt, static_cast<Spoiling>(trial));
        }
        stack.committed_whole();
    }
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
    }
    return player.verdict("no row could be prepared");
}

}  // namespace attest::properties::law
