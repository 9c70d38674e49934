#include "diagnosis/kernel.hpp"
#include "diagnosis/pattern.hpp"
#include "diagnosis/suspect.hpp"

#include <attest/reference/diagnosis.hpp>

#include <algorithm>
#include <string>

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
            const auto ratio = kernel.explains(*yardstick);
            if (!ratio) {
                all = false;
                continue;
            }
            explains_refused = explains_refused || yardstick->refused();
            explanation.tensors.push_back(yardstick->evidence().name);
            explanation.worst_ratio = std::max(explanation.worst_ratio, *ratio);
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
    result.complete = !whole.empty();
    result.explanations = result.complete ? std::move(whole) : std::move(partial);
    result.tried = search.tried();
    return result;
}

}  // namespace attest::reference
