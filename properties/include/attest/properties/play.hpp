// Playing a case's steps on a subject, beside a plain model: lists of rows, and what each call must answer.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/predict.hpp"
#include "attest/properties/scene.hpp"
#include "attest/properties/subject.hpp"
#include "attest/properties/verdict.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attest::properties {

// The four parameters that layers may share: how often each was updated, and what they hold.
struct Nodes {
    std::array<std::uint64_t, 4> updates = {};
    std::array<Array, 4> weights;
    std::optional<Reach> reach;  // of these weights, once somebody asked
};

struct LayerTrack {
    std::unique_ptr<Layer> layer;
    cases::Case geometry;
    std::shared_ptr<Nodes> nodes;
    cases::Variant variant = cases::Variant::original;
};

struct CacheTrack {
    std::unique_ptr<Cache> cache;
    std::uint64_t batch = 0;
    const LayerTrack* bound = nullptr;          // the layer it was made for …
    std::array<std::uint64_t, 4> updates = {};  // … its nodes' updates then …
    std::array<Array, 4> weights;               // … and what they held
    std::vector<Array> rows;                    // every row appended so far, each [batch, D]
    std::vector<Array> answers;                 // and its output, [batch, D]
    std::optional<double> largest = 0;          // magnitude among the rows; none where one is not finite
    std::uint64_t advances = 0;                 // commits and resets
    std::uint64_t preparations = 0;             // uses of its workspace
    bool workspace_uncertain = false;           // a refused computation may have used it

    // Whether the layer it is bound to has the weights that its rows were projected with.
    bool current() const { return updates == bound->nodes->updates; }
    // take notes one more row, which the cache accepted, and its answer.
    void take(Array row, Array answer);
    // The geometry it was made for, with its own batch.
    cases::Case geometry() const;
};

struct TicketTrack {
    std::unique_ptr<Ticket> ticket;
    CacheTrack* cache = nullptr;
    std::uint64_t advances = 0;
    std::uint64_t preparations = 0;
    std::array<std::uint64_t, 4> updates = {};
    Array row;
    Array answer;
};

// What one step did.
struct Event {
    std::size_t index = 0;  // of the step
    const cases::Step* step = nullptr;
    Prediction prediction;
    std::string code;                // "": not refused
    bool idle = false;               // nothing was called: no ticket to commit, a skip, a fail
    std::uint64_t first = 0;         // append, prefill, prepare: the length before
    std::uint64_t count = 0;         // … rows offered
    Array x;                         // … the numbers offered
    Array y;                         // … the answer, or what its storage holds after a refusal
    std::uint64_t allocations = 0;   // made by the call
    bool allocation_failed = false;  // one of them was made to fail
    bool refused() const { return !code.empty(); }
    // "step 3 (append)"
    std::string place() const;
};

// Player plays one step a call. It checks that every call ends as the model predicts, that an answer is
// finite, that decoding allocates nothing, and that lengths are the model's; laws look at the rest.
class Player {
  public:
    explicit Player(Scene& scene);

    // False when all steps are played, a check failed, or the case contradicts itself (see verdict).
    bool next();
    bool done() const { return position_ == steps_.size(); }
    const Event& last() const { return event_; }
    // The step that `next` will play.
    const cases::Step& upcoming() const { return steps_[position_]; }

    // Why playing stopped early, when no check failed: the case expects a code that the model rules out.
    const std::optional<Verdict>& stopped() const { return stopped_; }
    // The law's verdict after playing: stopped, or what the checks say.
    Verdict verdict(std::string_view if_none) const;

    LayerTrack& layer() { return *current_; }
    // The cache that steps speak to; made on first use, nullptr when it can't be made.
    CacheTrack* cache();
    std::span<const std::unique_ptr<CacheTrack>> caches() const { return caches_; }
    // Caches that a copy replaced, with their storage at that moment.
    struct Left {
        std::unique_ptr<CacheTrack> track;
        Storage storage;
        std::uint64_t length;
    };
    std::span<const Left> left() const { return left_; }

    // All rows of a cache as one prefix [batch, length, D], and their answers.
    Array prefix(const CacheTrack& track) const;
    Array answers(const CacheTrack& track) const;

    // Row t of x for a cache of any batch: sequence b has row b mod B. [batch, D]; empty where x is.
    Array x_row(const CacheTrack& track, std::uint64_t t) const;

    Scene& scene() { return scene_; }

  private:
    struct Call {
        Lengths shape;
        Array values;
        std::uint64_t rows = 0;
    };

    void play(const cases::Step& step);
    void offer_rows(const cases::Step& step);
    void take_rows(std::uint64_t count, CacheTrack& track);
    void switch_layer(const cases::Step& step);
    void switch_cache(const cases::Step& step);
    void update(const cases::Step& step);
    void adamw();
    void commit(const cases::Step& step);
    void commit_all();
    void discard();
    void copy();
    void snapshot();
    void reset();

    Call call_of(const cases::Step& step, std::uint64_t cache_batch) const;
    Prediction predict_rows(const Call& call, const CacheTrack& track);
    Prediction predict_call(const cases::Step& step, const Call& call, const CacheTrack& track) const;
    std::string_view binding_refusal(const CacheTrack& track) const;
    Prediction predict_commit(const TicketTrack& ticket, const CacheTrack& track) const;
    void commit_in_model(TicketTrack& ticket);
    std::unique_ptr<CacheTrack> make_track(std::uint64_t batch);
    std::shared_ptr<LayerTrack> make_variant(cases::Variant variant, std::string& code);

    // What the step just played met, as a number: the call, its answer, and where cache, layer and tickets
    // stand.
    std::uint64_t digest() const;

    // Stops where the subject can't do what the step asks for.
    bool can(Capability capability);
    // Around every call to the subject: arms the failure and counts allocations.
    void begin();
    void end(std::string_view code);

    Scene& scene_;
    std::vector<cases::Step> steps_;
    std::vector<std::uint64_t> cursors_;
    std::size_t position_ = 0;
    Event event_;
    std::optional<Verdict> stopped_;

    std::vector<std::shared_ptr<LayerTrack>> layers_;
    LayerTrack* current_ = nullptr;
    std::vector<std::unique_ptr<CacheTrack>> caches_;
    std::size_t cache_number_ = 0;
    std::vector<Left> left_;
    std::vector<std::unique_ptr<TicketTrack>> tickets_;
    std::uint64_t updates_ = 0;
    std::uint64_t gradients_ = 0;
    std::uint64_t armed_ = 0;
    std::uint64_t allocations_before_ = 0;
};

}  // namespace attest::properties
