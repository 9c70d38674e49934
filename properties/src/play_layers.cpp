// Player's steps that change layers and weights, and those that commit.

#include "attest/case/parse.hpp"
#include "attest/case/rows.hpp"
#include "attest/case/values.hpp"
#include "attest/properties/play.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using cases::Step;
using cases::Variant;
using cases::Verb;

bool shares_parameters(Variant variant) {
    return variant == Variant::rope_base || variant == Variant::rope_width ||
           variant == Variant::rope_pairs || variant == Variant::positions;
}

}  // namespace

std::shared_ptr<LayerTrack> Player::make_variant(Variant variant, std::string& code) {
    LayerTrack& original = *layers_[0];
    auto track = std::make_shared<LayerTrack>();
    track->variant = variant;
    track->geometry = cases::variant_of(scene_.one, variant);
    cases::normalise(track->geometry);
    if (shares_parameters(variant)) {
        track->nodes = original.nodes;
        event_.prediction = predict_layer(track->geometry, &original.nodes->weights);
        begin();
        Outcome<std::unique_ptr<Layer>> made =
            original.layer->share(track->geometry.heads, track->geometry.kv_heads, track->geometry.rope);
        end(code_of(made));
        if (made) track->layer = std::move(*made);
        code = event_.code;
        return track;
    }
    std::optional<std::array<Array, 4>> weights = weights_of(track->geometry);
    if (!weights) {
        stopped_ = vacuous("a variant of the layer is too large to play");
        return nullptr;
    }
    track->nodes = std::make_shared<Nodes>();
    track->nodes->weights = *weights;
    event_.prediction = predict_layer(track->geometry, &*weights);
    LayerSpec spec = spec_of(track->geometry);
    spec.weights = std::move(*weights);
    begin();
    Outcome<std::unique_ptr<Layer>> made = scene_.subject.make_layer(spec);
    end(code_of(made));
    if (made) track->layer = std::move(*made);
    code = event_.code;
    return track;
}

void Player::switch_layer(const Step& step) {
    if (step.variant != Variant::original && !can(Capability::binding)) return;
    if (shares_parameters(step.variant) && !can(Capability::identity)) return;
    // A rebuilt layer is new each time; another variant is made once.
    if (step.variant != Variant::rebuilt) {
        for (const std::shared_ptr<LayerTrack>& track : layers_) {
            if (track->variant == step.variant) {
                current_ = track.get();
                event_.idle = true;
                return;
            }
        }
    }
    std::string code;
    std::shared_ptr<LayerTrack> made = make_variant(step.variant, code);
    if (made == nullptr || !code.empty()) return;
    layers_.push_back(std::move(made));
    current_ = layers_.back().get();
}

void Player::switch_cache(const Step& step) {
    const std::size_t number = static_cast<std::size_t>(step.count);
    if (number < caches_.size() && caches_[number] != nullptr) {
        cache_number_ = number;
        event_.idle = true;
        return;
    }
    const cases::Case& one = scene_.one;
    const std::uint64_t batch = step.batch.value_or(one.batch);
    event_.prediction = predict_cache(current_->geometry, batch, one.capacity, one.rope.first);
    if (asks_for_too_much(event_.prediction) && !can(Capability::allocation)) return;
    begin();
    Outcome<std::unique_ptr<Cache>> made = current_->layer->make_cache(batch, one.capacity, one.rope.first);
    end(code_of(made));
    if (!made) return;
    if (number >= caches_.size()) caches_.resize(number + 1);
    caches_[number] = make_track(batch);
    caches_[number]->cache = std::move(*made);
    cache_number_ = number;
}

void Player::update(const Step& step) {
    if (!can(Capability::update)) return;
    const std::uint64_t which =
        static_cast<std::uint64_t>(step.tensor) - static_cast<std::uint64_t>(cases::Tensor::wq);
    const auto shape = cases::shape_of(current_->geometry, cases::Tensor::update, step.tensor);
    auto filled = cases::fill<double>(current_->geometry, cases::Tensor::update, step.tensor, updates_);
    if (!shape || !filled) {
        stopped_ = vacuous("an update is too large to fill");
        return;
    }
    Array values = std::move(*filled);
    if (step.verb == Verb::update_nonfinite && !values.empty()) {
        values[updates_ % values.size()] = std::numeric_limits<double>::quiet_NaN();
    }
    ++updates_;
    for (const double value : values) {
        if (!std::isfinite(value)) event_.prediction = {"NonFiniteUpdate"};
    }
    begin();
    end(code_of(
        current_->layer->update(which, {.shape = {shape->sizes[0], shape->sizes[1]}, .values = values})));
    if (event_.refused()) return;
    ++current_->nodes->updates[which];
    current_->nodes->weights[which] = std::move(values);
    current_->nodes->reach.reset();
}

void Player::adamw() {
    if (!can(Capability::adamw)) return;
    std::array<Array, 4> gradients;
    constexpr std::array tensors = {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv,
                                    cases::Tensor::wo};
    for (std::size_t i = 0; i < 4; ++i) {
        auto filled =
            cases::fill<double>(current_->geometry, cases::Tensor::gradient, tensors[i], gradients_);
        if (!filled) {
            stopped_ = vacuous("a gradient is too large to fill");
            return;
        }
        gradients[i] = std::move(*filled);
    }
    ++gradients_;
    event_.prediction = predict_adamw(current_->geometry, current_->nodes->weights, gradients);
    begin();
    end(code_of(current_->layer->adamw(gradients)));
    if (event_.refused()) return;
    for (std::size_t i = 0; i < 4; ++i) {
        ++current_->nodes->updates[i];
    }
    current_->nodes->weights = current_->layer->weights();
    current_->nodes->reach.reset();
}

Prediction Player::predict_commit(const TicketTrack& ticket, const CacheTrack& track) const {
    if (ticket.cache != &track || ticket.advances != track.advances ||
        ticket.preparations != track.preparations || ticket.updates != track.bound->nodes->updates) {
        return {"StaleTicket"};
    }
    if (track.workspace_uncertain) return {"", "StaleTicket"};
    return {""};
}

void Player::commit_in_model(TicketTrack& ticket) {
    ticket.cache->take(ticket.row, ticket.answer);
    ++ticket.cache->advances;
}

void Player::commit(const Step& step) {
    if (step.count >= tickets_.size()) {
        event_.idle = true;
        return;
    }
    TicketTrack& ticket = *tickets_[tickets_.size() - 1 - static_cast<std::size_t>(step.count)];
    CacheTrack& track = *cache();
    event_.prediction = predict_commit(ticket, track);
    event_.first = track.rows.size();
    begin();
    end(code_of(track.cache->commit(*ticket.ticket)));
    scene_.checks.equal([&] { return event_.place() + ": allocations"; }, event_.allocations, 0);
    if (event_.refused() || !event_.prediction.allows("")) return;
    event_.count = 1;
    commit_in_model(ticket);
}

void Player::commit_all() {
    std::vector<Pending> pending;
    std::vector<TicketTrack*> chosen;
    event_.prediction = {""};
    for (const std::unique_ptr<CacheTrack>& track : caches_) {
        if (track == nullptr) continue;
        for (std::size_t i = tickets_.size(); i-- > 0;) {
            if (tickets_[i]->cache != track.get()) continue;
            pending.push_back({track->cache.get(), tickets_[i]->ticket.get()});
            chosen.push_back(tickets_[i].get());
            const Prediction one = predict_commit(*tickets_[i], *track);
            if (!one.allows("")) {
                event_.prediction = one;
            } else if (!one.certain() && event_.prediction.success()) {
                event_.prediction = one;
            }
            break;
        }
    }
    if (pending.empty()) {
        event_.idle = true;
        return;
    }
    begin();
    end(code_of(scene_.subject.commit_all(pending)));
    scene_.checks.equal([&] { return event_.place() + ": allocations"; }, event_.allocations, 0);
    if (event_.refused() || !event_.prediction.allows("")) return;
    event_.count = chosen.size();
    for (TicketTrack* const ticket : chosen) {
        commit_in_model(*ticket);
    }
}

void Player::copy() {
    if (!can(Capability::copy)) return;
    CacheTrack& track = *cache();
    const cases::Case& bound = track.bound->geometry;
    event_.prediction = predict_cache(bound, track.batch, scene_.one.capacity, scene_.one.rope.first);
    begin();
    Outcome<std::unique_ptr<Cache>> made = track.cache->copy();
    end(code_of(made));
    if (!made) return;
    auto copied = std::make_unique<CacheTrack>();
    copied->batch = track.batch;
    copied->bound = track.bound;
    copied->updates = track.updates;
    copied->weights = track.weights;
    copied->rows = track.rows;
    copied->answers = track.answers;
    copied->largest = track.largest;
    copied->cache = std::move(*made);
    scene_.checks.that([&] { return event_.place() + ": the copy"; }, copied->cache->equals(*track.cache),
                       "another cache", "an equal one");
    scene_.checks.that([&] { return event_.place() + ": the copy's bytes"; },
                       copied->cache->same_bytes(*track.cache), "other bytes", "the same bytes");
    Left left;
    if (scene_.subject.can(Capability::storage)) left.storage = track.cache->storage();
    left.length = track.cache->length();
    left.track = std::move(caches_[cache_number_]);
    left_.push_back(std::move(left));
    caches_[cache_number_] = std::move(copied);
}

void Player::snapshot() {
    CacheTrack& track = *cache();
    begin();
    const Outcome<Array> keys = track.cache->keys();
    const Outcome<Array> values = keys ? track.cache->values() : keys;
    end(code_of(values));
    if (event_.refused()) return;
    scene_.checks.bits([&] { return event_.place() + ": keys"; }, *keys, track.cache->live_keys());
    scene_.checks.bits([&] { return event_.place() + ": values"; }, *values, track.cache->live_values());
}

}  // namespace attest::properties
