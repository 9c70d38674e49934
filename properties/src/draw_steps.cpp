#include "attest/case/parse.hpp"
#include "attest/case/rows.hpp"
#include "attest/case/words.hpp"
#include "draw_parts.hpp"

#include <algorithm>

namespace attest::properties {

namespace detail {

namespace {

using cases::Step;
using cases::Variant;
using cases::Verb;

Step step_of(Verb verb, std::uint64_t count = 0) {
    Step step;
    step.verb = verb;
    step.count = count;
    return step;
}

// A call of the wrong shape.
Step misshapen(const cases::Case& one, Choices& choices) {
    Step step = step_of(pick(choices, {Verb::append, Verb::prepare, Verb::prefill}), 1);
    if (step.verb != Verb::prefill) step.count = 0;
    switch (choices.below(5)) {
        case 0:
            step.width = pick(choices, {one.width + 1, std::uint64_t{0}, one.width * 2, UINT64_MAX});
            break;
        case 1:
            step.batch = pick(choices, {one.batch + 1, std::uint64_t{0}});
            break;
        case 2:
            step.rank =
                pick(choices, {std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{1}, std::uint64_t{0}});
            break;
        case 3:
            if (step.verb == Verb::prefill) {
                step.count = pick(choices, {std::uint64_t{0}, one.capacity + 1, std::uint64_t{1} << 40});
            } else {
                step.rows = pick(choices, {std::uint64_t{2}, std::uint64_t{0}, std::uint64_t{1} << 62});
            }
            break;
        default:
            step.width = one.width + 1;
            step.batch = one.batch + 1;
            break;
    }
    return step;
}

struct Weighted {
    Verb verb;
    std::uint64_t weight;
};

Verb draw_verb(Choices& choices, const Wish& wish) {
    const std::uint64_t ticket = wish.tickets ? 8 : 3;
    const Weighted verbs[] = {
        {Verb::append, 24},
        {Verb::prefill, 10},
        {Verb::prepare, ticket},
        {Verb::commit, ticket},
        {Verb::commit_all, ticket / 2},
        {Verb::reset, 3},
        {Verb::snapshot, 3},
        {Verb::copy, wish.copies ? std::uint64_t{8} : std::uint64_t{2}},
        {Verb::layer, 5},
        {Verb::cache, wish.history ? std::uint64_t{8} : std::uint64_t{3}},
        {Verb::update, 2},
        {Verb::update_nonfinite, 2},
        {Verb::adamw, 1},
        {Verb::discard, 1},
        {Verb::fail, wish.failures ? std::uint64_t{10} : std::uint64_t{2}},
        {Verb::rewind, 2},
        {Verb::skip, 1},
    };
    std::uint64_t total = 0;
    for (const Weighted& one : verbs) {
        total += one.weight;
    }
    std::uint64_t choice = choices.below(total);
    for (const Weighted& one : verbs) {
        if (choice < one.weight) return one.verb;
        choice -= one.weight;
    }
    return Verb::append;
}

// How many rows the steps offer, when only that matters.
void draw_rows(cases::Case& one, Choices& choices) {
    std::uint64_t rows = one.capacity;
    if (rows > 1) rows -= choices.below(std::min<std::uint64_t>(3, rows));
    while (rows > 0) {
        const std::uint64_t chunk = rows > 12 ? rows - choices.below(3) : 1 + choices.below(rows);
        one.steps.push_back(chunk == 1 ? step_of(Verb::append) : step_of(Verb::prefill, chunk));
        rows -= chunk;
    }
}

}  // namespace

Step draw_step(const cases::Case& one, Choices& choices, const Wish& wish) {
    if (once_in(choices, 12)) return misshapen(one, choices);
    Step step = step_of(draw_verb(choices, wish));
    switch (step.verb) {
        case Verb::prefill:
            step.count = 1 + choices.below(4);
            break;
        case Verb::skip:
        case Verb::rewind:
            step.count = 1 + choices.below(2);
            break;
        case Verb::fail:
            step.count = 1 + choices.below(6);
            break;
        case Verb::cache:
            step.count = choices.below(3);
            // Another batch than the case's now and then; of a cache that is there already it says nothing.
            if (once_in(choices, 3)) step.batch = 1 + choices.below(3);
            break;
        case Verb::commit:
            step.count =
                pick(choices, {std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}});
            break;
        case Verb::update:
        case Verb::update_nonfinite:
            step.tensor =
                pick(choices, {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv, cases::Tensor::wo});
            break;
        case Verb::layer:
            step.variant = once_in(choices, 3) ? Variant::original : pick(choices, cases::all_variants());
            break;
        default:
            break;
    }
    return step;
}

void draw_steps(cases::Case& one, Choices& choices, const Wish& wish, unsigned size) {
    if (!wish.steps) return draw_rows(one, choices);
    // A case at a block's edge fills up first, so that its steps happen there.
    if (one.capacity > 32) one.steps.push_back(step_of(Verb::prefill, one.capacity - 3 - choices.below(3)));
    if (wish.tickets && choices.below(2) == 1) {
        one.steps.push_back(step_of(Verb::prepare));
        one.steps.push_back(step_of(Verb::commit));
    }
    const std::uint64_t count = 2 + choices.below(4 + size / (wish.history ? 4 : 8));
    bool foreign = false;
    for (std::uint64_t i = 0; i < count; ++i) {
        Step step = draw_step(one, choices, wish);
        if (step.verb == Verb::layer) foreign = step.variant != Variant::original;
        one.steps.push_back(step);
        // Most excursions to another layer end soon, or every later call would be refused.
        if (foreign && step.verb != Verb::layer && choices.below(3) != 2) {
            Step back = step_of(Verb::layer);
            one.steps.push_back(back);
            foreign = false;
        }
        if (step.verb == Verb::prepare && choices.below(2) == 0) one.steps.push_back(step_of(Verb::commit));
    }
}

}  // namespace detail

void mutate(cases::Case& one, Choices& choices) {
    const detail::Wish wish = detail::wish_of(one.law);
    const std::uint64_t edits = 1 + choices.below(3);
    for (std::uint64_t i = 0; i < edits; ++i) {
        const std::size_t steps = one.steps.size();
        const auto some_step = [&] {
            return one.steps.begin() + static_cast<std::ptrdiff_t>(choices.below(steps));
        };
        switch (choices.below(10)) {
            case 0:
            case 1:
                if (steps < 64) {
                    one.steps.insert(
                        one.steps.begin() + static_cast<std::ptrdiff_t>(choices.below(steps + 1)),
                        detail::draw_step(one, choices, wish));
                }
                break;
            case 2:
                if (steps > 0) one.steps.erase(some_step());
                break;
            case 3:
                if (steps > 0) *some_step() = detail::draw_step(one, choices, wish);
                break;
            case 4:
                if (steps > 1) std::iter_swap(some_step(), some_step());
                break;
            case 5:
                one.fills.clear();
                one.sets.clear();
                detail::draw_values(one, choices, wish);
                break;
            case 6:
                if (one.sets.size() < 16) detail::add_special_set(one, choices);
                break;
            case 7: {
                cases::Case other = one;
                detail::draw_geometry(other, choices, wish, 40);
                if (choices.below(2) == 0) other.type = one.type;
                one = other;
                break;
            }
            case 8:
                detail::spoil_geometry(one, choices);
                break;
            default:
                one.values.seed = choices.below(std::uint64_t{1} << 32);
                break;
        }
    }
    cases::normalise(one);
}

}  // namespace attest::properties
