#include "attest/case/words.hpp"

#include "edits.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <array>

namespace attest::fuzzing {
namespace {

using cases::Step;
using cases::Verb;

// Verbs by how often a new step is one: rows first, for without them nothing is cached.
constexpr std::array<Verb, 28> kVerbs = {
    Verb::append,  Verb::append,           Verb::append,  Verb::append, Verb::append,     Verb::append,
    Verb::prefill, Verb::prefill,          Verb::prefill, Verb::reset,  Verb::update,     Verb::update,
    Verb::adamw,   Verb::update_nonfinite, Verb::layer,   Verb::layer,  Verb::cache,      Verb::cache,
    Verb::prepare, Verb::prepare,          Verb::commit,  Verb::commit, Verb::commit_all, Verb::discard,
    Verb::copy,    Verb::snapshot,         Verb::fail,    Verb::fail};

constexpr std::array<cases::Tensor, 4> kWeights = {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv,
                                                   cases::Tensor::wo};

std::ptrdiff_t signed_position(std::size_t position) {
    return static_cast<std::ptrdiff_t>(position);
}

// The arguments that the verb takes, and no others.
void fill_arguments(Random& random, const cases::Case& one, Step& step) {
    switch (step.verb) {
        case Verb::prefill: {
            step.count = random.chance(1, 4) ? new_count(random, one, step.count) : random.between(1, 6);
            break;
        }
        case Verb::skip:
        case Verb::rewind:
            step.count = random.between(1, 3);
            break;
        case Verb::cache:
            step.count = random.below(3);
            if (random.chance(1, 3)) step.batch = random.between(1, 3);
            break;
        case Verb::commit:
            step.count = random.chance(2, 3) ? 0 : random.below(3);
            break;
        case Verb::fail:
            step.count = random.between(1, 6);
            break;
        case Verb::update:
        case Verb::update_nonfinite:
            step.tensor = random.pick(kWeights);
            break;
        case Verb::layer:
            step.variant = cases::all_variants()[random.position(cases::all_variants().size())];
            break;
        default:
            break;
    }
}

Step any_step(Random& random, const cases::Case& one) {
    Step step;
    step.verb =
        random.chance(1, 24) ? (random.chance(1, 2) ? Verb::skip : Verb::rewind) : random.pick(kVerbs);
    fill_arguments(random, one, step);
    return step;
}

// A stretch of at least one step; `size` must not be 0.
struct Stretch {
    std::size_t first;
    std::size_t last;  // one beyond
};

Stretch any_stretch(Random& random, std::size_t size) {
    const std::size_t first = random.position(size);
    const std::size_t most = random.chance(3, 4) ? std::min<std::size_t>(size - first, 3) : size - first;
    return {first, first + 1 + random.position(most)};
}

}  // namespace

void insert_step(Random& random, cases::Case& one) {
    const std::size_t position = random.position(one.steps.size() + 1);
    one.steps.insert(one.steps.begin() + signed_position(position), any_step(random, one));
}

void remove_steps(Random& random, cases::Case& one) {
    if (one.steps.empty()) {
        return;
    }
    const Stretch stretch = any_stretch(random, one.steps.size());
    one.steps.erase(one.steps.begin() + signed_position(stretch.first),
                    one.steps.begin() + signed_position(stretch.last));
}

void duplicate_steps(Random& random, cases::Case& one) {
    if (one.steps.empty()) {
        return;
    }
    const Stretch stretch = any_stretch(random, one.steps.size());
    const std::vector<Step> again(one.steps.begin() + signed_position(stretch.first),
                                  one.steps.begin() + signed_position(stretch.last));
    const std::size_t position = random.chance(1, 2) ? stretch.last : random.position(one.steps.size() + 1);
    one.steps.insert(one.steps.begin() + signed_position(position), again.begin(), again.end());
}

void swap_steps(Random& random, cases::Case& one) {
    if (one.steps.size() < 2) {
        return;
    }
    const std::size_t left = random.position(one.steps.size());
    const std::size_t right =
        random.chance(1, 2) ? (left + 1) % one.steps.size() : random.position(one.steps.size());
    std::swap(one.steps[left], one.steps[right]);
}

void edit_step(Random& random, cases::Case& one) {
    if (one.steps.empty()) {
        return;
    }
    Step& step = one.steps[random.position(one.steps.size())];
    if (random.chance(1, 2)) {
        const Verb verb = step.verb;
        step = any_step(random, one);
        if (random.chance(1, 2)) {
            step = Step{};
            step.verb = verb;
            fill_arguments(random, one, step);
        }
    } else {
        step.count = nudged(random, step.count);
    }
}

void edit_words(Random& random, cases::Case& one) {
    if (one.steps.empty()) {
        return;
    }
    Step& step = one.steps[random.position(one.steps.size())];
    switch (random.below(5)) {
        case 0:
            step.rank = random.below(cases::kMaxRank + 1);
            break;
        case 1:
            step.rows = random.below(4);
            break;
        case 2:
            step.batch = random.chance(3, 4) ? nudged(random, one.batch) : random.below(4);
            break;
        case 3:
            step.width = random.chance(3, 4) ? nudged(random, one.width) : random.below(4);
            break;
        default:
            step.rank = step.rows = step.batch = step.width = std::nullopt;
    }
}

void edit_chunks(Random& random, cases::Case& one) {
    if (one.steps.empty()) {
        return;
    }
    const std::size_t position = random.position(one.steps.size());
    Step& step = one.steps[position];
    if (step.verb == Verb::prefill && step.count >= 2) {
        Step rest = step;
        rest.count = random.between(1, step.count - 1);
        step.count -= rest.count;
        one.steps.insert(one.steps.begin() + signed_position(position), rest);
    } else if (step.verb == Verb::append) {
        // This row and the appends behind it become one prefill.
        std::size_t last = position + 1;
        while (last < one.steps.size() && one.steps[last] == step) {
            ++last;
        }
        step.verb = Verb::prefill;
        step.count = last - position;
        step.rows.reset();
        one.steps.erase(one.steps.begin() + signed_position(position + 1),
                        one.steps.begin() + signed_position(last));
    }
}

void cross_steps(Random& random, cases::Case& one, const cases::Case& other) {
    if (other.steps.empty()) {
        return;
    }
    const Stretch theirs = any_stretch(random, other.steps.size());
    std::size_t position = random.position(one.steps.size() + 1);
    if (!one.steps.empty() && random.chance(1, 2)) {
        const Stretch ours = any_stretch(random, one.steps.size());
        one.steps.erase(one.steps.begin() + signed_position(ours.first),
                        one.steps.begin() + signed_position(ours.last));
        position = ours.first;
    }
    one.steps.insert(one.steps.begin() + signed_position(position),
                     other.steps.begin() + signed_position(theirs.first),
                     other.steps.begin() + signed_position(theirs.last));
}

}  // namespace attest::fuzzing
