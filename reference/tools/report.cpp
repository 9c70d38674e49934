#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace attest::reference::tool {
namespace {

void print_ranked(const Comparison& comparison) {
    fmt::print("    {:<18} {:>24} {:>24} {:>10} {:>10} {:>11}\n", "the worst at", "got", "want", "error",
               "allowed", "error/bound");
    for (const Finding& found : comparison.ranked) {
        fmt::print("    {:<18} {:>24.17g} {:>24.17g} {:>10.3g} {:>10.3g} {:>11.4g}\n",
                   place_text(found.place), found.got, found.want, found.error, found.allowed, found.ratio);
        fmt::print("    {:<18} {:>24a} {:>24a} {:>10.2a} {:>10.2a}\n", "", found.got, found.want, found.error,
                   found.allowed);
    }
}

// One bar a step of error/bound, the longest forty columns.
void print_histogram(const Comparison& comparison) {
    const auto most = *std::max_element(comparison.histogram.begin(), comparison.histogram.end());
    if (most == 0) return;
    std::size_t first = 0, last = comparison.histogram.size() - 1;
    while (comparison.histogram[first] == 0)
        ++first;
    while (comparison.histogram[last] == 0)
        --last;
    fmt::print("    {:<18} {:>9}\n", "error/bound", "elements");
    for (std::size_t n = first; n <= last; ++n) {
        const std::size_t count = comparison.histogram[n];
        const std::size_t length = (count * 40 + most - 1) / most;
        const std::string step = n == 0                    ? "exact"
                                 : n == kRatioEdges.size() ? fmt::format("above {:g}", kRatioEdges.back())
                                                           : fmt::format("up to {:g}", kRatioEdges[n]);
        fmt::print("    {:<18} {:>9} {}\n", step, count, std::string(length, n < 9 ? '#' : '!'));
    }
}

// The line that tells where an error comes from: the first stage that is wrong.
void print_stages(const Verdict& verdict) {
    const auto stages = stages_of(verdict);
    if (stages.size() < 2) return;
    std::string line;
    const TensorVerdict* first_wrong = nullptr;
    for (const TensorVerdict* const stage : stages) {
        line +=
            fmt::format("{}{} {:.3g}", line.empty() ? "" : ", ", stage->name, stage->comparison.worst.ratio);
        if (first_wrong == nullptr && stage->outcome == Outcome::wrong) first_wrong = stage;
    }
    fmt::print("  error/bound by stage: {}", line);
    if (first_wrong != nullptr) fmt::print("; the first that is wrong: {}", first_wrong->name);
    fmt::print("\n");
}

void print_diagnosis(const Diagnosis& diagnosis) {
    for (const std::string& pattern : diagnosis.patterns)
        fmt::print("  where: {}\n", pattern);
    if (diagnosis.explanations.empty()) {
        fmt::print("  diagnosis: none of {} suspected kernels reproduces it\n", diagnosis.tried);
        return;
    }
    constexpr std::size_t kMostShown = 4;
    std::size_t shown = 0;
    for (const Explanation& explanation : diagnosis.explanations) {
        if (shown++ == kMostShown) {
            fmt::print("    and {} more\n", diagnosis.explanations.size() - kMostShown);
            break;
        }
        std::string tensors;
        for (const std::string& tensor : explanation.tensors)
            tensors += (tensors.empty() ? "" : ", ") + tensor;
        fmt::print("  {} {} ({}: off by at most {:.2g} of what is allowed)\n",
                   shown != 1           ? "  or:      "
                   : diagnosis.complete ? "diagnosis: matches:"
                                        : "diagnosis: matches in part:",
                   explanation.cause, tensors, explanation.worst_ratio);
    }
}

}  // namespace

std::string blindness(const TensorVerdict& tensor) {
    std::string text;
    for (const Wrong wrong : tensor.blind)
        text += (text.empty() ? "" : ", ") + std::string(name_of(wrong));
    return text;
}

std::vector<const TensorVerdict*> stages_of(const Verdict& verdict) {
    constexpr std::array<std::string_view, 6> kOrder{"values",    "present_v", "keys",
                                                     "present_k", "weights",   "y"};
    std::vector<const TensorVerdict*> stages;
    for (const std::string_view name : kOrder)
        for (const TensorVerdict& tensor : verdict.tensors)
            if (tensor.name == name) stages.push_back(&tensor);
    return stages;
}

void print(const std::string& path, const Task& task, const Verdict& verdict, bool verbose) {
    fmt::print("{}: {} ({}, {})\n", path, name_of(verdict.outcome), verdict.kind,
               name_of(task.arithmetic().arithmetic));
    fmt::print("  {:<10} {:<9} {:>9} {:>7}  {:<16} {:>24} {:>24} {:>10} {:>10} {:>11}\n", "tensor", "verdict",
               "elements", "wrong", "worst at", "got", "want", "error", "allowed", "error/bound");
    for (const TensorVerdict& tensor : verdict.tensors) {
        const Comparison& c = tensor.comparison;
        const Finding& worst = c.worst;
        fmt::print("  {:<10} {:<9} {:>9} {:>7}  {:<16} {:>24.17g} {:>24.17g} {:>10.3g} {:>10.3g} {:>11.4g}\n",
                   tensor.name, name_of(tensor.outcome), c.compared, c.wrong, place_text(worst.place),
                   worst.got, worst.want, worst.error, worst.allowed, worst.ratio);
        if (c.unproved != 0)
            fmt::print("    no bound for {} elements: {}\n", c.unproved, name_of(tensor.no_bound));
        if (!tensor.blind.empty())
            fmt::print("    blind to {} of {} wrong kernels: {}\n", tensor.blind.size(), tensor.tried,
                       blindness(tensor));
        if (tensor.outcome == Outcome::wrong || verbose) {
            print_ranked(c);
            print_histogram(c);
        }
    }
    if (verdict.outcome == Outcome::wrong || verbose) print_stages(verdict);
    if (verdict.outcome == Outcome::wrong) print_diagnosis(verdict.diagnosis);
}

void print_expected(const Judged& judged) {
    for (std::size_t n = 0; n < judged.exact.size(); ++n) {
        std::vector<std::size_t> place(judged.shape.size());
        std::size_t index = n;
        for (std::size_t axis = place.size(); axis-- > 0;) {
            place[axis] = index % judged.shape[axis];
            index /= judged.shape[axis];
        }
        fmt::print("{}{} {} {:.17g}\n", judged.name, place_text(place), digits_of(judged.exact[n]),
                   judged.allowed[n]);
    }
}

}  // namespace attest::reference::tool
