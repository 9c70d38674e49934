#include "attest/properties/play.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/case/rows.hpp"
#include "attest/case/values.hpp"
#include "attest/case/words.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using cases::Step;
using cases::Variant;
using cases::Verb;

// Calls whose shape counts more elements than this are made by one element that stands for all.
constexpr std::uint64_t kMostOffered = std::uint64_t{1} << 20;

}  // namespace

cases::Case CacheTrack::geometry() const {
    cases::Case one = bound->geometry;
    one.batch = batch;
    return one;
}

std::string Event::place() const {
    return fmt::format("step {} ({})", index, cases::print(*step));
}

Player::Player(Scene& scene)
    : scene_(scene), steps_(scene.one.steps), cursors_(cases::row_cursors(scene.one)) {
    auto original = std::make_shared<LayerTrack>();
    original->layer = std::move(scene.layer);
    original->geometry = scene.one;
    original->nodes = std::make_shared<Nodes>();
    original->nodes->weights = scene.weights;
    layers_.push_back(original);
    current_ = original.get();
    std::unique_ptr<Cache> cache = scene.make_cache(*current_->layer, scene.one.batch, scene.one.capacity);
    if (cache == nullptr) {
        stopped_ = scene.verdict();
        return;
    }
    caches_.push_back(make_track(scene.one.batch));
    caches_[0]->cache = std::move(cache);
}

std::unique_ptr<CacheTrack> Player::make_track(std::uint64_t batch) {
    auto track = std::make_unique<CacheTrack>();
    track->batch = batch;
    track->bound = current_;
    track->updates = current_->nodes->updates;
    track->weights = current_->nodes->weights;
    return track;
}

CacheTrack* Player::cache() {
    return caches_.empty() ? nullptr : caches_[cache_number_].get();
}

Verdict Player::verdict(std::string_view if_none) const {
    if (scene_.checks.failed() || !stopped_) return scene_.checks.verdict(if_none);
    Verdict early = *stopped_;
    early.counters = scene_.checks.counters();
    return early;
}

Array Player::prefix(const CacheTrack& track) const {
    return joined(track.rows, track.batch, track.bound->geometry.width);
}

Array Player::answers(const CacheTrack& track) const {
    return joined(track.answers, track.batch, track.bound->geometry.width);
}

bool Player::can(Capability capability) {
    if (scene_.subject.can(capability)) return true;
    stopped_ = unable(scene_.subject, capability);
    return false;
}

Array Player::x_row(const CacheTrack& track, std::uint64_t t) const {
    Array row;
    if (scene_.x.empty()) return row;
    for (std::uint64_t b = 0; b < track.batch; ++b) {
        const auto start =
            scene_.x.begin() +
            static_cast<std::ptrdiff_t>(((b % scene_.one.batch) * scene_.rows + t) * scene_.one.width);
        row.insert(row.end(), start, start + static_cast<std::ptrdiff_t>(scene_.one.width));
    }
    return row;
}

void Player::begin() {
    if (!scene_.subject.can(Capability::allocation)) return;
    allocations_before_ = scene_.subject.allocations();
    scene_.subject.fail_allocation(armed_);
}

void Player::end(std::string_view code) {
    event_.code = code;
    if (!scene_.subject.can(Capability::allocation)) return;
    scene_.subject.fail_allocation(0);
    event_.allocations = scene_.subject.allocations() - allocations_before_;
    event_.allocation_failed = armed_ != 0 && event_.allocations >= armed_;
}

bool Player::next() {
    if (done() || stopped_ || scene_.checks.failed()) return false;
    const Step& step = steps_[position_];
    event_ = Event();
    event_.index = position_;
    event_.step = &step;
    event_.prediction = {""};
    try {
        play(step);
    } catch (const SubjectFault& fault) {
        scene_.checks.fail(event_.place(), fault.what(), kSoundSubject, "nothing else");
        return false;
    }
    if (stopped_) return false;
    if (step.verb != Verb::fail) armed_ = 0;
    ++position_;
    if (event_.idle) return true;
    scene_.checks.visit(digest());

    const Prediction expected = event_.allocation_failed ? Prediction{"AllocationFailed"} : event_.prediction;
    const auto place = [&] { return event_.place(); };
    as_predicted(scene_.checks, scene_.subject, place, event_.code, expected);
    if (scene_.checks.failed()) return false;
    if (!step.expect.empty() && step.expect != event_.code) {
        stopped_ = vacuous(fmt::format("{}: the case expects {} where {} is right", event_.place(),
                                       step.expect, expected.text()));
        return false;
    }
    if (const CacheTrack* track = cache(); track != nullptr) {
        scene_.checks.equal([&] { return event_.place() + ": length"; }, track->cache->length(),
                            track->rows.size());
    }
    return !scene_.checks.failed();
}

std::uint64_t Player::digest() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a (Fowler, Noll and Vo), over bytes and small numbers
    const auto mix = [&hash](std::uint64_t part) { hash = (hash ^ part) * 0x100000001b3; };
    mix(static_cast<std::uint64_t>(event_.step->verb));
    for (const char c : event_.code) {
        mix(static_cast<unsigned char>(c));
    }
    mix(static_cast<std::uint64_t>(current_->variant));
    mix(std::min<std::uint64_t>(tickets_.size(), 3));
    mix(std::min<std::uint64_t>(caches_.size(), 3));
    const CacheTrack* const track = caches_.empty() ? nullptr : caches_[cache_number_].get();
    if (track != nullptr) {
        const std::uint64_t rows = track->rows.size();
        mix(rows == track->cache->capacity() ? 3 : std::min<std::uint64_t>(rows, 2));
        mix(track->current() ? 1 : 0);
        mix(track->bound == current_ ? 1 : 0);
        mix(std::min<std::uint64_t>(track->advances, 3));
    }
    // FNV's lowest bits mix least.
    return hash >> 32;
}

void Player::play(const Step& step) {
    switch (step.verb) {
        case Verb::append:
        case Verb::prefill:
        case Verb::prepare:
            return offer_rows(step);
        case Verb::skip:
        case Verb::rewind:
            event_.idle = true;
            return;
        case Verb::fail:
            event_.idle = true;
            armed_ = step.count;
            return;
        case Verb::reset:
            return reset();
        case Verb::update:
        case Verb::update_nonfinite:
            return update(step);
        case Verb::adamw:
            return adamw();
        case Verb::layer:
            return switch_layer(step);
        case Verb::cache:
            return switch_cache(step);
        case Verb::commit:
            return commit(step);
        case Verb::commit_all:
            return commit_all();
        case Verb::discard:
            return discard();
        case Verb::copy:
            return copy();
        case Verb::snapshot:
            return snapshot();
    }
}

// Row i of the call is row cursor + i of x; a malformed call repeats the row at the cursor into its shape.
Player::Call Player::call_of(const Step& step, std::uint64_t cache_batch) const {
    const cases::Case& one = scene_.one;
    Call call;
    call.rows = step.rows.value_or(step.verb == Verb::prefill ? step.count : 1);
    const std::uint64_t batch = step.batch.value_or(cache_batch);
    const std::uint64_t width = step.width.value_or(one.width);
    call.shape = {batch, call.rows, width};
    const std::uint64_t rank = step.rank.value_or(3);
    if (rank == 4) call.shape.push_back(1);
    if (rank < 3) call.shape.erase_first(3 - rank);

    const std::uint64_t cursor = cursors_[position_];
    std::uint64_t count = 1;
    bool overflow = false;
    for (const std::uint64_t length : call.shape) {
        overflow = __builtin_mul_overflow(count, length, &count) || overflow;
    }
    const auto element = [&](std::uint64_t b, std::uint64_t t, std::uint64_t i) {
        return scene_.x[((b % one.batch) * scene_.rows + t % scene_.rows) * one.width + i % one.width];
    };
    // A call without elements may claim countless rows; none of them is walked along.
    const bool empty = std::find(call.shape.begin(), call.shape.end(), 0) != call.shape.end();
    if (scene_.x.empty() || empty) return call;
    if (overflow || count > kMostOffered) {
        call.values = {element(0, cursor, 0)};
        return call;
    }
    call.values.reserve(count);
    if (rank == 3) {
        for (std::uint64_t b = 0; b < batch; ++b) {
            for (std::uint64_t t = 0; t < call.rows; ++t) {
                for (std::uint64_t i = 0; i < width; ++i) {
                    call.values.push_back(element(b, cursor + t, i));
                }
            }
        }
        return call;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        call.values.push_back(element(0, cursor, i));
    }
    return call;
}

std::string_view Player::binding_refusal(const CacheTrack& track) const {
    const cases::Case& cached = track.bound->geometry;
    const cases::Case& now = current_->geometry;
    if (cached.width != now.width) return "CacheModelWidthMismatch";
    if (cached.heads != now.heads) return "CacheHeadCountMismatch";
    if (cached.kv_heads != now.kv_heads) return "CacheKvHeadCountMismatch";
    if (cached.head_width != now.head_width) return "CacheHeadWidthMismatch";
    if (track.bound->nodes != current_->nodes) return "CacheLayerMismatch";
    if (!track.current()) return "CacheLayerRevisionMismatch";
    cases::Rope rope = now.rope;
    rope.first = cached.rope.first;
    if (!(rope == cached.rope)) return "CacheRopeMismatch";
    return "";
}

Prediction Player::predict_call(const Step& step, const Call& call, const CacheTrack& track) const {
    std::optional<std::uint64_t> count = 1;
    for (const std::uint64_t length : call.shape) {
        count = count ? product({*count, length}) : std::nullopt;
    }
    const bool empty = std::find(call.shape.begin(), call.shape.end(), 0) != call.shape.end();
    // What can't be counted, or not be walked along, is refused when the view is made, before any call.
    if (!count && !empty) return {"ElementCountOverflow"};
    constexpr std::uint64_t kLongestAxis = std::uint64_t{1} << 63;
    const bool walkable = std::all_of(call.shape.begin(), call.shape.end(),
                                      [](std::uint64_t length) { return length <= kLongestAxis; });
    if (!empty && !walkable) return {"ViewOutOfStorage"};
    if (call.shape.size() != 3) return {"InputRank"};
    if (step.verb != Verb::prefill && call.rows != 1) return {"SingleTokenRequired"};
    if (call.rows == 0) return {"ZeroRows"};
    if (call.shape[0] != track.batch) return {"InputBatchMismatch"};
    if (call.shape[2] != current_->geometry.width) return {"InputWidthMismatch"};
    if (const std::string_view refusal = binding_refusal(track); !refusal.empty()) return {refusal};
    if (call.rows > track.cache->capacity() - track.rows.size()) return {"CacheFull"};
    return {""};
}

void Player::offer_rows(const Step& step) {
    if (step.verb == Verb::prefill && !can(Capability::prefill)) return;
    if (step.verb == Verb::prepare && !can(Capability::tickets)) return;
    CacheTrack& track = *cache();
    Call call = call_of(step, track.batch);
    event_.first = track.rows.size();
    event_.count = call.rows;
    event_.prediction = predict_call(step, call, track);
    const bool well_shaped = event_.prediction.success();
    if (well_shaped) {
        const std::uint64_t length = event_.first + call.rows;
        if (call.values.size() < call.rows ||
            multiply_adds(current_->geometry, track.batch, length) > kSubjectWork / 4) {
            stopped_ = vacuous("a call is too large to play");
            return;
        }
        event_.prediction = predict_rows(call, track);
    }
    Output y;
    y.values.assign(call.values.size(), kUntouched);
    const Input x = {.shape = call.shape, .values = call.values};
    Outcome<std::unique_ptr<Ticket>> ticket;
    begin();
    if (step.verb == Verb::append) {
        end(code_of(current_->layer->append(*track.cache, x, y)));
    } else if (step.verb == Verb::prefill) {
        end(code_of(current_->layer->prefill(*track.cache, x, y)));
    } else {
        ticket = current_->layer->prepare(*track.cache, x, y);
        end(code_of(ticket));
    }
    event_.x = std::move(call.values);
    event_.y = std::move(y.values);
    if (step.verb != Verb::prefill && scene_.subject.can(Capability::allocation)) {
        scene_.checks.equal([&] { return event_.place() + ": allocations"; }, event_.allocations, 0);
    }
    if (event_.refused()) {
        track.workspace_uncertain = track.workspace_uncertain || well_shaped;
        return;
    }
    for (const double value : event_.y) {
        scene_.checks.that([&] { return event_.place() + ": an answer"; }, std::isfinite(value),
                           [&] { return number_text(value); }, "a finite number");
    }
    if (step.verb == Verb::prefill) {
        ++track.advances;
        take_rows(call.rows, track);
        return;
    }
    ++track.preparations;
    track.workspace_uncertain = false;
    if (step.verb == Verb::append) {
        ++track.advances;
        take_rows(call.rows, track);
        return;
    }
    auto made = std::make_unique<TicketTrack>();
    made->ticket = std::move(*ticket);
    made->cache = &track;
    made->advances = track.advances;
    made->preparations = track.preparations;
    made->updates = track.updates;
    made->row = event_.x;
    made->answer = event_.y;
    scene_.checks.equal([&] { return event_.place() + ": slot"; }, made->ticket->slot(), track.rows.size());
    tickets_.push_back(std::move(made));
}

// Most rows stay so far from overflow that the largest number of the prefix shows it; else all is computed.
Prediction Player::predict_rows(const Call& call, const CacheTrack& track) {
    const cases::Case& geometry = current_->geometry;
    Nodes& nodes = *current_->nodes;
    const std::uint64_t length = event_.first + call.rows;
    const std::optional<double> largest = largest_finite(call.values);
    if (largest && track.largest) {
        if (!nodes.reach) nodes.reach = reach_of(geometry, nodes.weights);
        if (far_from_overflow(geometry, *nodes.reach, std::max(*largest, *track.largest), length))
            return {""};
    }
    std::vector<Array> prefix = track.rows;
    prefix.push_back(call.values);
    return predict_numbers(geometry, nodes.weights, joined(prefix, track.batch, geometry.width), track.batch,
                           length, event_.first, call.rows);
}

void Player::take_rows(std::uint64_t count, CacheTrack& track) {
    const std::uint64_t width = current_->geometry.width;
    for (std::uint64_t t = 0; t < count; ++t) {
        track.take(rows_of(event_.x, track.batch, count, width, t, 1),
                   rows_of(event_.y, track.batch, count, width, t, 1));
    }
}

void CacheTrack::take(Array row, Array answer) {
    const std::optional<double> of_row = largest_finite(row);
    largest = largest && of_row ? std::optional(std::max(*largest, *of_row)) : std::nullopt;
    rows.push_back(std::move(row));
    answers.push_back(std::move(answer));
}

void Player::reset() {
    CacheTrack& track = *cache();
    begin();
    track.cache->reset();
    end("");
    track.rows.clear();
    track.answers.clear();
    track.largest = 0;
    ++track.advances;
}

void Player::discard() {
    if (!scene_.subject.can(Capability::tickets)) {
        event_.idle = true;
        return;
    }
    begin();
    cache()->cache->discard();
    end("");
    ++cache()->preparations;
}

}  // namespace attest::properties
