#include <attest/case/number.hpp>
#include <attest/case/parse.hpp>
#include <attest/case/print.hpp>
#include <attest/case/words.hpp>

#include "defaults.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace attest::cases {

namespace {

template <typename Enum>
void known(Enum& value) {
    if (to_text(value).empty()) value = Enum{};
}

void normalise_name(std::string& name) {
    if (is_name(name)) return;
    std::erase_if(name, [](char c) { return !is_name(std::string("a") + c); });
    while (!name.empty() && !is_name(name.substr(0, 1)))
        name.erase(0, 1);
    if (name.size() > kMaxNameBytes) name.resize(kMaxNameBytes);
}

void normalise_comment(std::string& text) {
    if (text.size() > kMaxLineBytes - 2) text.resize(kMaxLineBytes - 2);
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) c = ' ';
    }
    while (text.ends_with(' '))
        text.pop_back();
}

void normalise_step(Step& step) {
    known(step.verb);
    const Form form = form_of(step.verb);
    step.count = form.count == CountUse::none ? 0 : std::clamp(step.count, form.count_min, form.count_max);
    if (!form.tensor || !is_weight(step.tensor)) step.tensor = Step{}.tensor;
    if (!form.variant) step.variant = Step{}.variant;
    known(step.variant);
    if (!form.shape) step.rank = step.width = std::nullopt;
    if (!form.batch) step.batch = std::nullopt;
    if (!form.rows) step.rows = std::nullopt;
    if (step.rank) step.rank = std::min(*step.rank, kMaxRank);
    if (!form.expect) step.expect.clear();
    normalise_name(step.expect);
}

// The nearest float in magnitude not above: cutting is enough for a mutation.
void normalise_set(Set& set, ElementType type) {
    known(set.tensor);
    if (!is_family(set.tensor) || !is_weight(set.of)) set.of = Set{}.of;
    if (set.tensor != Tensor::x) set.index[2] = 0;
    if (type == ElementType::float32) set.bits = widen(narrow(set.bits));
}

void normalise_fills(std::vector<Fill>& fills) {
    std::vector<Fill> kept;
    for (Fill fill : fills) {
        known(fill.tensor);
        known(fill.filling);
        const auto same = [&](const Fill& other) { return other.tensor == fill.tensor; };
        if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(fill);
    }
    fills = std::move(kept);
}

}  // namespace

void normalise(Case& one) {
    normalise_name(one.law);
    if (one.law.empty()) one.law = Case{}.law;
    normalise_name(one.expect);
    known(one.type);
    known(one.storage);
    known(one.rope.pairs);
    known(one.values.filling);
    normalise_fills(one.fills);
    if (one.comments.size() > kMaxComments) one.comments.resize(kMaxComments);
    if (one.sets.size() > kMaxSets) one.sets.resize(kMaxSets);
    if (one.steps.size() > kMaxSteps) one.steps.resize(kMaxSteps);
    for (std::string& comment : one.comments)
        normalise_comment(comment);
    for (Step& step : one.steps)
        normalise_step(step);
    for (Set& set : one.sets)
        normalise_set(set, one.type);
    // What makes the text too long goes before the sets, because fewer steps need fewer rows.
    if (print_may_be_too_long(one) && print(one).size() > kMaxTextBytes) {
        one.comments.resize(std::min<std::size_t>(one.comments.size(), 1));
        while (print(one).size() > kMaxTextBytes) {
            one.sets.resize(one.sets.size() / 2);
            one.steps.resize(one.steps.size() / 2);
        }
    }
    const SetBounds bounds(one);
    std::erase_if(one.sets, [&](const Set& set) { return !bounds.contains(set); });
}

}  // namespace attest::cases
