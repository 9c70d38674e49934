#include "mutate.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"

#include "attest/properties/draw.hpp"
#include "attest/properties/laws.hpp"

#include "edits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attest::fuzzing {
namespace {

// The generator of the laws draws from our random numbers.
class RandomChoices final : public properties::Choices {
  public:
    explicit RandomChoices(Random& random) : random_(random) {}
    std::uint64_t below(std::uint64_t n) override { return random_.below(n); }

  private:
    Random& random_;
};

struct Edit {
    unsigned weight;
    void (*apply)(Random&, cases::Case&);
};

void edit_as_the_laws_do(Random& random, cases::Case& one) {
    RandomChoices choices(random);
    properties::mutate(one, choices);
}

constexpr std::array<Edit, 18> kEdits = {{
    {10, insert_step},
    {6, remove_steps},
    {5, duplicate_steps},
    {5, swap_steps},
    {8, edit_step},
    {3, edit_words},
    {5, edit_chunks},
    {7, edit_count},
    {5, edit_heads},
    {6, edit_rope},
    {5, edit_capacity},
    {2, edit_type},
    {2, edit_storage},
    {6, edit_values},
    {6, edit_fill},
    {6, edit_set},
    {4, repair_geometry},
    {8, edit_as_the_laws_do},
}};

void apply_any(Random& random, cases::Case& one) {
    unsigned total = 0;
    for (const Edit& edit : kEdits) {
        total += edit.weight;
    }
    std::uint64_t ticket = random.below(total);
    for (const Edit& edit : kEdits) {
        if (ticket < edit.weight) {
            edit.apply(random, one);
            return;
        }
        ticket -= edit.weight;
    }
}

// What a case expects is right for its own steps; of a mutant it is often wrong, and a case that contradicts
// itself tests nothing. An expectation also keeps the row for a retry, so now and then it stays.
void forget_expectations(Random& random, cases::Case& one) {
    if (random.chance(1, 4)) {
        return;
    }
    one.expect.clear();
    for (cases::Step& step : one.steps) {
        step.expect.clear();
    }
}

// Drops steps, sets and fills from the end until the text fits.
std::string fit(cases::Case& one, std::size_t bytes_max) {
    std::string text = cases::print(one);
    while (text.size() > bytes_max && !(one.steps.empty() && one.sets.empty() && one.fills.empty())) {
        // Half of the longest list goes, so that a long case is cut in few rounds.
        if (one.steps.size() >= one.sets.size() && !one.steps.empty()) {
            one.steps.resize(one.steps.size() / 2);
        } else if (!one.sets.empty()) {
            one.sets.resize(one.sets.size() / 2);
        } else {
            one.fills.pop_back();
        }
        cases::normalise(one);
        text = cases::print(one);
    }
    return text;
}

}  // namespace

bool Mutator::knows(std::string_view law) const {
    return std::ranges::find(laws_, law) != laws_.end();
}

cases::Case Mutator::fresh(Random& random) const {
    RandomChoices choices(random);
    const std::string& law = laws_[random.position(laws_.size())];
    const auto size = [&] { return static_cast<unsigned>(random.between(5, 60)); };
    cases::Case one = properties::draw(choices, law, size());
    // A session goes on where an ordinary case ends: with the steps of others, in the first one's geometry.
    if (budget_.steps > kForBits.steps) {
        for (std::uint64_t more = random.below(12); more > 0; --more) {
            const cases::Case next = properties::draw(choices, law, size());
            one.steps.insert(one.steps.end(), next.steps.begin(), next.steps.end());
        }
        one.steps.resize(std::min(one.steps.size(), budget_.steps));
        cases::normalise(one);
    }
    return one;
}

std::optional<Mutant> Mutator::finish(Random& random, cases::Case one, std::size_t bytes_max) const {
    if (!knows(one.law)) {
        one.law = laws_[random.position(laws_.size())];
    }
    one.comments.clear();
    cases::normalise(one);
    if (!affordable(one, budget_) || (!usual(one, budget_) && !random.chance(1, 32))) {
        return std::nullopt;
    }
    std::string text = fit(one, bytes_max);
    if (text.size() > bytes_max) {
        return std::nullopt;
    }
    return Mutant{std::move(text), std::move(one)};
}

void Mutator::edit(Random& random, cases::Case& one) const {
    do {
        apply_any(random, one);
        cases::normalise(one);
    } while (random.chance(1, 2));
    // The same steps under another law are a new question.
    if (laws_.size() > 1 && random.chance(1, 8)) {
        one.law = laws_[random.position(laws_.size())];
    }
    if (random.chance(3, 4)) {
        repair_geometry(random, one);
    }
    forget_expectations(random, one);
}

std::optional<Mutant> Mutator::mutate(const cases::Case* parent, std::size_t bytes_max,
                                      std::uint64_t seed) const {
    Random random(seed);
    std::optional<cases::Case> drawn_parent;
    if (parent == nullptr || random.chance(1, 200)) {
        // A fresh case as it was drawn: it is different enough.
        drawn_parent = fresh(random);
        if (auto child = finish(random, *drawn_parent, bytes_max)) {
            return child;
        }
    }
    const cases::Case& from = parent != nullptr ? *parent : *drawn_parent;
    // An edit may make a case too dear or change nothing; a few tries find another.
    constexpr unsigned kTries = 8;
    for (unsigned attempt = 0; attempt < kTries; ++attempt) {
        cases::Case child = from;
        edit(random, child);
        auto mutant = finish(random, std::move(child), bytes_max);
        if (mutant && mutant->one != from) {
            return mutant;
        }
    }
    // A large parent has large children; something else is tried.
    for (unsigned attempt = 0; attempt < kTries; ++attempt) {
        if (auto drawn = finish(random, fresh(random), bytes_max)) {
            return drawn;
        }
    }
    return finish(random, cases::Case{}, bytes_max);
}

std::optional<Mutant> Mutator::cross(const cases::Case* left, const cases::Case* right, std::size_t bytes_max,
                                     std::uint64_t seed) const {
    Random random(seed);
    cases::Case child = left != nullptr ? *left : fresh(random);
    std::optional<cases::Case> drawn_other;
    const cases::Case& other = right != nullptr ? *right : drawn_other.emplace(fresh(random));
    switch (random.below(5)) {
        case 0:
            child.values = other.values;
            child.fills = other.fills;
            break;
        case 1:
            child.sets.insert(child.sets.end(), other.sets.begin(), other.sets.end());
            break;
        case 2:
            child.rope = other.rope;
            child.capacity = other.capacity;
            break;
        default:
            cross_steps(random, child, other);
    }
    cases::normalise(child);
    repair_geometry(random, child);
    forget_expectations(random, child);
    auto mutant = finish(random, std::move(child), bytes_max);
    return mutant ? std::move(mutant) : mutate(left, bytes_max, random.next());
}

Mutator mutator_of(std::string_view law) {
    const properties::Law* row = properties::find_law(law);
    const bool oracle = row != nullptr && row->kind == properties::LawKind::oracle;
    return Mutator({std::string(law)}, oracle ? kForTheOracle : kForBits);
}

Mutator session_mutator() {
    return Mutator(
        {"cached_equals_full_prefix", "snapshot_equals_projected_prefix", "reset_then_replay_is_identical",
         "refusal_changes_nothing", "retry_equals_never_failed", "update_or_rebuild_unbinds",
         "stale_ticket_is_refused", "commit_all_is_all_or_nothing", "copies_are_independent"},
        kForSessions);
}

}  // namespace attest::fuzzing
