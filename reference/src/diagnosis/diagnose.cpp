#include "diagnosis/kernel.hpp"
#include "diagnosis/pattern.hpp"
#include "diagnosis/suspect.hpp"

#include <attest/reference/diagnosis.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

namespace attest::reference {
namespace {

using namespace diagnosis;

class Search {
  public:
    Search(const Problem& problem, double bias_lowest, const std::vector<Evidence>& evidence)
        : problem_(problem), bias_lowest_(bias_lowest) {
        for (const Evidence& one : evidence)
            yardsticks_.emplace_back(one);
        // Refused answers first: most suspects are cleared there.
        for (const bool refused : {true, false})
            for (const Yardstick& yardstick : yardsticks_)
                if (yardstick.refused() == refused) order_.push_back(&yardstick);
    }

    // try_one gives what a suspect explains of the refused answers; `all` tells whether nothing is left over.
    std::optional<Explanation> try_one(const std::string& cause, const Suspect& suspect, bool& all) {
        ++tried_;
        const Kernel kernel(problem_, suspect, bias_lowest_, stock_);
        Explanation explanation{.cause = cause, .tensors = {}, .worst_ratio = 0};
        all = true;
        bool explains_refused = false;
        for (const Yardstick* const yardstick : order_) {
            const auto fit = kernel.explains(*yardstick);
            if (!fit) {
                all = false;
                continue;
            }
            explains_refused = explains_refused || yardstick->refused();
            explanation.tensors.push_back(yardstick->evidence().name);
            explanation.worst_ratio = std::max(explanation.worst_ratio, fit->ratio);
        }
        if (!explains_refused) return std::nullopt;
        return explanation;
    }

    std::size_t tried() const { return tried_; }

  private:
    const Problem& problem_;
    double bias_lowest_;
    std::vector<Yardstick> yardsticks_;
    std::vector<const Yardstick*> order_;
    Stock stock_;
    std::size_t tried_ = 0;
};

// Pairs of a large problem take long to form; a single fault is by far the likelier.
constexpr std::size_t kMostForPairs = std::size_t{1} << 16;

std::size_t size_of(const Problem& problem) {
    if (const auto* layer = std::get_if<Layer>(&problem))
        return layer->batch * layer->length * (layer->heads + 2 * layer->kv_heads) * layer->head_width;
    if (const auto* core = std::get_if<Core>(&problem))
        return core->q.size() + core->k.size() + core->v.size() + core->past_k.size() + core->past_v.size();
    return std::get<Rotary>(problem).x.size();
}

// Whatever comes this near is the kernel, to its last bits: among such the plainer is named first.
constexpr double kSame = 0.01;

// The best fit first, the plainer of two that fit alike; what is far worse than it came near by chance.
void rank(std::vector<Explanation>& found) {
    std::vector<std::pair<double, std::size_t>> order;
    for (const Explanation& one : found)
        order.emplace_back(std::max(one.worst_ratio, kSame), order.size());
    std::sort(order.begin(), order.end());
    std::vector<Explanation> ranked;
    for (const auto& [distance, index] : order)
        if (distance <= 10 * order.front().first) ranked.push_back(std::move(found[index]));
    found = std::move(ranked);
}

// The constant that brings the right answer nearest to what was got, if y is wrong and finite.
std::optional<double> factor_of(const std::vector<Evidence>& evidence) {
    double across = 0, along = 0;
    for (const Evidence& one : evidence)
        for (std::size_t n = 0; one.name == "y" && n < one.got.size(); ++n) {
            across += one.got[n] * one.want[n];
            along += one.want[n] * one.want[n];
        }
    const double factor = across / along;
    return std::isfinite(factor) ? std::optional(factor) : std::nullopt;
}

}  // namespace

Diagnosis diagnose(const std::variant<Layer, Core, Rotary>& problem, double bias_lowest,
                   const std::vector<Evidence>& evidence) {
    Diagnosis result;
    bool any_wrong = false;
    std::vector<Explanation> moved_rows;
    bool all_moved = true;
    for (const Evidence& one : evidence) {
        std::string pattern = pattern_of(one);
        if (pattern.empty()) continue;
        any_wrong = true;
        const std::string moved = displaced(one);
        all_moved = all_moved && !moved.empty();
        if (!moved.empty())
            moved_rows.push_back(
                {.cause = "rows out of place: " + moved, .tensors = {one.name}, .worst_ratio = 1});
        result.patterns.push_back(std::move(pattern));
    }
    if (!any_wrong) return result;

    Search search(problem, bias_lowest, evidence);
    std::vector<const Fault*> suspects;
    for (const Fault& fault : faults())
        if (fault.applies(problem)) suspects.push_back(&fault);
    std::vector<Explanation> whole, partial;
    for (const Fault* const fault : suspects) {
        bool all = false;
        auto found = search.try_one(fault->text, fault->plant({}, problem), all);
        if (found) (all ? whole : partial).push_back(std::move(*found));
    }
    if (const auto factor = factor_of(evidence); whole.empty() && factor) {
        char text[64];
        (void)std::snprintf(text, sizeof text, "the answer times %.6g (weights that do not sum to 1?)",
                            *factor);
        Suspect suspect;
        suspect.factor = *factor;
        bool all = false;
        auto found = search.try_one(text, suspect, all);
        if (found) (all ? whole : partial).push_back(std::move(*found));
    }
    if (whole.empty() && size_of(problem) <= kMostForPairs)
        for (std::size_t one = 0; one < suspects.size(); ++one)
            for (std::size_t two = one + 1; two < suspects.size(); ++two) {
                const Fault &first = *suspects[one], &second = *suspects[two];
                if (!first.pairs || !second.pairs || first.group == second.group) continue;
                bool all = false;
                auto found = search.try_one(std::string(first.text) + " + " + second.text,
                                            second.plant(first.plant({}, problem), problem), all);
                if (found && all) whole.push_back(std::move(*found));
            }
    // Rows that are other rows: what a stale slot or a lost index leaves.
    if (whole.empty() && all_moved) whole = std::move(moved_rows);
    rank(whole);
    rank(partial);
    result.complete = !whole.empty();
    result.explanations = result.complete ? std::move(whole) : std::move(partial);
    result.tried = search.tried();
    return result;
}

}  // namespace attest::reference
