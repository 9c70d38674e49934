// commit(ticket) succeeds ⇔ since its prepare the cache has neither moved, been reset, nor prepared again,
// the weights have not been updated, and it is that cache. A refused commit changes nothing; an accepted one
// gives the bits of append.
//
// Kills a row committed to a cache that moved on (B30), a revision looked at too early (B02), an identity
// told by address, and a length checked where a state number is due: reset and refilled to the same length.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

class Desk {
  public:
    Desk(Scene& scene, Layer& layer) : scene_(scene), layer_(layer) {}

    std::unique_ptr<Cache> cache() {
        return scene_.make_cache(layer_, scene_.one.batch, scene_.one.capacity);
    }

    Array row(std::uint64_t t) const { return scene_.x_rows(t % scene_.rows, 1); }

    bool take(Cache& cache, std::uint64_t t) {
        const Array values = row(t);
        return !append(layer_, cache, scene_.input(values, 1)).refused();
    }

    std::unique_ptr<Ticket> prepare(Cache& cache, std::uint64_t t, Array* answer = nullptr) {
        const Array values = row(t);
        Output y;
        y.values.assign(values.size(), kUntouched);
        const CacheImage before = image_of(scene_.subject, cache);
        Outcome<std::unique_ptr<Ticket>> ticket = layer_.prepare(cache, scene_.input(values, 1), y);
        if (!ticket) return nullptr;
        unchanged(scene_.checks, scene_.subject, "after prepare", cache, before);
        if (answer != nullptr) *answer = y.values;
        return std::move(*ticket);
    }

    void stale(Cache& cache, const Ticket& ticket, std::string_view reason, Text what) {
        const CacheImage before = image_of(scene_.subject, cache);
        const Outcome<void> done = cache.commit(ticket);
        scene_.checks.tested();
        as_predicted(scene_.checks, scene_.subject, what, code_of(done), {"StaleTicket"});
        if (!done && scene_.subject.can(Capability::typed_refusals)) {
            scene_.checks.equal([&] { return fmt::format("{}: reason", what()); }, done.error().reason,
                                reason);
        }
        unchanged(scene_.checks, scene_.subject, what, cache, before);
    }

    void good(Cache& cache, const Ticket& ticket, Text what) {
        scene_.checks.tested();
        scene_.checks.equal(what, code_of(cache.commit(ticket)), "");
    }

    Scene& scene_;
    Layer& layer_;
};

void moved_on(Desk& desk) {
    const std::unique_ptr<Cache> cache = desk.cache();
    const std::unique_ptr<Ticket> ticket = desk.prepare(*cache, 0);
    if (ticket == nullptr || !desk.take(*cache, 1)) return;
    desk.stale(*cache, *ticket, "moved_on", "after another row");
}

void refilled_to_the_same_length(Desk& desk) {
    const std::unique_ptr<Cache> cache = desk.cache();
    if (!desk.take(*cache, 0) || cache->capacity() < 2) return;
    const std::unique_ptr<Ticket> ticket = desk.prepare(*cache, 1);
    if (ticket == nullptr) return;
    cache->reset();
    desk.stale(*cache, *ticket, "moved_on", "after reset");
    if (!desk.take(*cache, 0)) return;
    desk.stale(*cache, *ticket, "moved_on", "after reset and refilling to the same length");
}

void prepared_twice(Desk& desk) {
    const std::unique_ptr<Cache> cache = desk.cache();
    const std::unique_ptr<Cache> plain = desk.cache();
    const std::unique_ptr<Ticket> first = desk.prepare(*cache, 0);
    Array answer;
    const std::unique_ptr<Ticket> second = desk.prepare(*cache, 1, &answer);
    if (first == nullptr || second == nullptr) return;
    desk.stale(*cache, *first, "superseded", "the first of two prepared rows");
    desk.good(*cache, *second, "the second of two prepared rows");
    // What was committed is what append would have done.
    const Array values = desk.row(1);
    const Answer want = append(desk.layer_, *plain, desk.scene_.input(values, 1));
    Checks& checks = desk.scene_.checks;
    checks.equal("the same row appended", want.code, "");
    checks.bits("the answer of prepare", answer, want.y);
    if (desk.scene_.subject.can(Capability::copy)) {
        checks.that("the committed cache", cache->same_bytes(*plain), "differs", "the bytes of append");
    }
    desk.stale(*cache, *second, "moved_on", "a ticket committed twice");
}

void of_another_cache(Desk& desk) {
    const std::unique_ptr<Cache> other = desk.cache();
    std::unique_ptr<Cache> cache = desk.cache();
    const std::unique_ptr<Ticket> ticket = desk.prepare(*cache, 0);
    if (ticket == nullptr || desk.prepare(*other, 0) == nullptr) return;
    desk.stale(*other, *ticket, "another_cache", "another cache");
    if (desk.scene_.subject.can(Capability::copy)) {
        const Outcome<std::unique_ptr<Cache>> copy = cache->copy();
        if (desk.scene_.checks.equal("a copy", code_of(copy), "")) {
            desk.stale(**copy, *ticket, "another_cache", "a copy of the cache");
        }
    }
    desk.good(*cache, *ticket, "the ticket's own cache after all that");
    // A cache made where the ticket's own one stood.
    const std::unique_ptr<Ticket> orphan = cache->capacity() > 1 ? desk.prepare(*cache, 1) : nullptr;
    cache.reset();
    const std::unique_ptr<Cache> later = desk.cache();
    if (orphan != nullptr && desk.take(*later, 0)) {
        desk.stale(*later, *orphan, "another_cache", "a cache made after the first was freed");
    }
}

void discarded(Desk& desk) {
    const std::unique_ptr<Cache> cache = desk.cache();
    const std::unique_ptr<Ticket> ticket = desk.prepare(*cache, 0);
    if (ticket == nullptr) return;
    cache->discard();
    desk.stale(*cache, *ticket, "superseded", "a discarded row");
}

// Calls that are refused for their shape compute nothing, so they take no prepared row's place.
void after_misshapen_calls(Desk& desk) {
    const std::unique_ptr<Cache> cache = desk.cache();
    const std::unique_ptr<Ticket> ticket = desk.prepare(*cache, 0);
    if (ticket == nullptr) return;
    const Array row = desk.row(0);
    for (const BadCall kind : {BadCall::rank, BadCall::tokens, BadCall::batch, BadCall::width}) {
        call_badly(desk.scene_, desk.layer_, *cache, kind, row);
    }
    desk.good(*cache, *ticket, "a ticket after misshapen calls");
}

void updated_in_between(Desk& desk) {
    for (std::uint64_t which = 0; which < 4; ++which) {
        const std::unique_ptr<Cache> cache = desk.cache();
        const std::unique_ptr<Ticket> ticket = cache == nullptr ? nullptr : desk.prepare(*cache, 0);
        if (ticket == nullptr) return;
        const Array values = desk.layer_.weights()[which];
        const cases::Case& one = desk.scene_.one;
        const std::uint64_t queries = one.heads * one.head_width;
        const std::uint64_t rows = which == 0   ? queries
                                   : which == 3 ? one.width
                                                : one.kv_heads * one.head_width;
        const std::uint64_t columns = which == 3 ? queries : one.width;
        const Outcome<void> done = desk.layer_.update(which, {.shape = {rows, columns}, .values = values});
        desk.scene_.checks.equal("an update", code_of(done), "");
        desk.stale(*cache, *ticket, "updated",
                   [&] { return fmt::format("weight {} updated in between", which); });
    }
}

}  // namespace

Verdict stale_ticket_is_refused(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::tickets}, 8);
    if (!scene) return scene.verdict();
    if (scene.rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    {
        LayerSpec spec = spec_of(one);
        spec.weights = scene.weights;
        const Outcome<std::unique_ptr<Layer>> layer = subject.make_layer(spec);
        if (!checks.equal("the layer again", code_of(layer), "")) return checks.verdict();
        if (scene.make_cache(**layer, one.batch, one.capacity) == nullptr) return scene.verdict();
        Desk desk(scene, **layer);
        moved_on(desk);
        refilled_to_the_same_length(desk);
        prepared_twice(desk);
        of_another_cache(desk);
        discarded(desk);
        after_misshapen_calls(desk);
        if (subject.can(Capability::update)) updated_in_between(desk);
    }
    if (checks.failed()) return checks.verdict();
    Player player(scene);
    while (player.next()) {
    }
    return player.verdict("no row could be prepared");
}

}  // namespace attest::properties::law
