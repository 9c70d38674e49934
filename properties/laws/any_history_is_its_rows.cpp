// Whatever calls came before, in whatever order, refused or not: each cache is the plain list of rows that it
// accepted since its last reset. Its keys, values and answers are, by bits, those of a fresh cache given
// these rows by a fresh layer of the same weights, and its last answer lies within the proved bound; a call
// moves the cache it speaks to and no other, and never a row that was there before.
//
// Kills what only a history shows: offsets, lengths and bindings that a certain order of calls gets wrong
// (B02, B04, B13, B18, B19, B30, B32), and copies, tickets or caches that share something (B20, B21).
//
// Stays although others see its bugs as well: it is the model of all calls together, for the orders that no
// other law thinks of.

#include "attest/properties/history.hpp"

#include "oracle.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using cases::Verb;

class Historian {
  public:
    Historian(Player& player, HistoryDepth depth) : player_(player), scene_(player.scene()), depth_(depth) {}

    void play() {
        while (!player_.done() && !player_.stopped() && !scene_.checks.failed()) {
            if (depth_ == HistoryDepth::thorough) call_badly_once();
            const std::map<const CacheTrack*, CacheImage> before = images();
            const CacheTrack* const spoken_to = player_.cache();
            const Verb verb = player_.upcoming().verb;
            if (!player_.next()) return;
            ++steps_;
            for (const auto& [track, image] : before) {
                const bool moved = verb == Verb::commit_all || track == spoken_to;
                look_again(*track, image, moved && may_move(verb));
            }
        }
    }

    void compare_with_rows() {
        std::uint64_t number = 0;
        for (const auto& track : player_.caches()) {
            if (track != nullptr && !scene_.checks.failed()) compare(*track, fmt::format("cache {}", number));
            ++number;
        }
        for (const Player::Left& left : player_.left()) {
            if (!scene_.checks.failed()) compare(*left.track, "an original left behind");
        }
    }

    std::uint64_t steps() const { return steps_; }

  private:
    static bool may_move(Verb verb) {
        return verb == Verb::append || verb == Verb::prefill || verb == Verb::commit ||
               verb == Verb::commit_all || verb == Verb::reset;
    }

    std::map<const CacheTrack*, CacheImage> images() const {
        std::map<const CacheTrack*, CacheImage> all;
        for (const auto& track : player_.caches()) {
            if (track != nullptr) all[track.get()] = image_of(scene_.subject, *track->cache);
        }
        for (const Player::Left& left : player_.left()) {
            all[left.track.get()] = image_of(scene_.subject, *left.track->cache);
        }
        return all;
    }

    // A cache that may have moved has all its former rows, unless it was emptied; any other has not moved.
    void look_again(const CacheTrack& track, const CacheImage& before, bool moved) {
        const auto place = [&] { return player_.last().place(); };
        const bool refused = player_.last().refused() || player_.last().idle;
        if (!moved || refused) {
            unchanged(
                scene_.checks, scene_.subject, [&] { return place() + ": a cache that must not move"; },
                *track.cache, before);
            return;
        }
        const std::uint64_t now = track.rows.size();
        if (now < before.length || before.length == 0) return;
        const std::uint64_t lanes = track.batch * track.bound->geometry.kv_heads;
        const std::uint64_t d = track.bound->geometry.head_width;
        scene_.checks.bits([&] { return place() + ": keys that were there"; },
                           rows_of(track.cache->live_keys(), lanes, now, d, 0, before.length), before.keys);
        scene_.checks.bits([&] { return place() + ": values that were there"; },
                           rows_of(track.cache->live_values(), lanes, now, d, 0, before.length),
                           before.values);
    }

    // One bad call before the step, another kind each time.
    void call_badly_once() {
        CacheTrack& track = *player_.cache();
        if (track.bound != &player_.layer() || !track.current() || scene_.x.empty() ||
            track.bound->variant != cases::Variant::original) {
            return;
        }
        const Array row = player_.x_row(track, 0);
        if (!std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); })) return;
        const BadCall bad = static_cast<BadCall>((scene_.one.values.seed + steps_) % kBadCalls);
        // The overflow is built for the weights of the case, which an update replaces.
        if (bad == BadCall::overflow && track.updates != std::array<std::uint64_t, 4>{}) return;
        const std::map<const CacheTrack*, CacheImage> before = images();
        if (!call_badly(scene_, *player_.layer().layer, *track.cache, bad, row)) return;
        track.workspace_uncertain = track.workspace_uncertain || bad >= BadCall::nan_input;
        for (const auto& [other, image] : before) {
            unchanged(
                scene_.checks, scene_.subject, [&] { return fmt::format("{}: a cache", to_text(bad)); },
                *other->cache, image);
        }
    }

    void compare(const CacheTrack& track, Text place) {
        Checks& checks = scene_.checks;
        if (!checks.equal([&] { return place() + ": length"; }, track.cache->length(), track.rows.size()))
            return;
        if (track.rows.empty()) return;
        Layer* layer = track.bound->layer.get();
        std::unique_ptr<Layer> anew;
        if (depth_ == HistoryDepth::thorough || !track.current()) {
            LayerSpec spec = spec_of(track.bound->geometry);
            spec.weights = track.weights;
            auto made = scene_.subject.make_layer(spec);
            if (!checks.equal([&] { return place() + ": its layer anew"; }, code_of(made), "")) return;
            anew = std::move(*made);
            layer = anew.get();
        }
        const auto fresh = layer->make_cache(track.batch, scene_.one.capacity, scene_.one.rope.first);
        if (!checks.equal([&] { return place() + ": a fresh cache"; }, code_of(fresh), "")) return;
        for (std::size_t t = 0; t < track.rows.size(); ++t) {
            const Answer answer =
                append(*layer, **fresh,
                       {.shape = {track.batch, 1, track.bound->geometry.width}, .values = track.rows[t]});
            if (!checks.equal([&] { return fmt::format("{}: row {} anew", place(), t); }, answer.code, ""))
                return;
            checks.tested();
            checks.bits([&] { return fmt::format("{}: answer {}", place(), t); }, track.answers[t], answer.y);
        }
        checks.bits([&] { return place() + ": keys"; }, track.cache->live_keys(), (*fresh)->live_keys());
        checks.bits([&] { return place() + ": values"; }, track.cache->live_values(),
                    (*fresh)->live_values());
        if (depth_ == HistoryDepth::thorough && !checks.failed()) ask_the_oracle(track, place);
    }

    void ask_the_oracle(const CacheTrack& track, Text place) {
        const cases::Case geometry = track.geometry();
        const std::uint64_t rows = track.rows.size();
        // The last row alone: every row was the last of some history.
        if (is_narrow(geometry) || multiply_adds(geometry, rows) > kOracleWork / 4) return;
        const Array x = player_.prefix(track);
        const Problem problem = {.geometry = geometry,
                                 .weights = track.weights,
                                 .x = x,
                                 .batch = track.batch,
                                 .rows = rows,
                                 .foreign = !scene_.subject.can(Capability::arithmetic)};
        reference::LayerOptions options;
        options.rows = {.first = rows - 1, .count = 1};
        options.keys = options.values = false;
        if (const auto judgement = judged(scene_.checks, problem, options)) {
            const auto answer = [&] { return place() + ": y"; };
            inside(scene_.checks, answer, judgement->y, track.answers.back());
        }
    }

    Player& player_;
    Scene& scene_;
    HistoryDepth depth_;
    std::uint64_t steps_ = 0;
};

}  // namespace

Verdict play_history(const cases::Case& one, Subject& subject, HistoryDepth depth) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 4,
                depth == HistoryDepth::thorough ? kOracleWork * 4 : kSubjectWork);
    if (!scene) return scene.verdict();
    Player player(scene);
    if (player.stopped()) return player.verdict("");
    Historian historian(player, depth);
    historian.play();
    if (!checks.failed()) historian.compare_with_rows();
    return player.verdict("no cache has a row in the end");
}

namespace law {

Verdict any_history_is_its_rows(const cases::Case& one, Subject& subject) {
    return play_history(one, subject, HistoryDepth::thorough);
}

}  // namespace law

}  // namespace attest::properties
