#include "report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace attest::reference::tool {
namespace {

// JSON has no infinity and no NaN: those become text.
Json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

Json finding(const Finding& found) {
    return {
        {"place", found.place},         {"got", number(found.got)},         {"want", number(found.want)},
        {"error", number(found.error)}, {"allowed", number(found.allowed)}, {"ratio", number(found.ratio)}};
}

std::string blindness(const TensorVerdict& tensor) {
    std::string text;
    for (const Wrong wrong : tensor.blind)
        text += (text.empty() ? "" : ", ") + std::string(name_of(wrong));
    return text;
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

}  // namespace

void print(const std::string& path, const Task& task, const Verdict& verdict) {
    fmt::print("{}: {} ({}, {})\n", path, name_of(verdict.outcome), verdict.kind,
               name_of(task.arithmetic().arithmetic));
    fmt::print("  {:<10} {:<9} {:>9} {:>7}  {:<16} {:>24} {:>24} {:>10} {:>10} {:>11}\n", "tensor", "verdict",
               "elements", "wrong", "worst at", "got", "want", "error", "allowed", "error/bound");
    for (const TensorVerdict& tensor : verdict.tensors) {
        const Comparison& c = tensor.comparison;
        const Finding& worst = c.worst;
        fmt::print("  {:<10} {:<9} {:>9} {:>7}  {} {:>24.17g} {:>24.17g} {:>10.3g} {:>10.3g} {:>11.4g}\n",
                   tensor.name, name_of(tensor.outcome), c.compared, c.wrong,
                   padded(place_text(worst.place), 16), worst.got, worst.want, worst.error, worst.allowed,
                   worst.ratio);
        if (c.unproved != 0)
            fmt::print("    no bound for {} elements: {}\n", c.unproved, name_of(tensor.no_bound));
        if (!tensor.blind.empty())
            fmt::print("    blind to {} of {} wrong kernels: {}\n", tensor.blind.size(), tensor.tried,
                       blindness(tensor));
    }
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

Json to_json(const std::string& path, const Task& task, const Verdict& verdict) {
    Json tensors = Json::array();
    for (const TensorVerdict& tensor : verdict.tensors) {
        Json one = {{"name", tensor.name},
                    {"verdict", name_of(tensor.outcome)},
                    {"elements", tensor.comparison.compared},
                    {"wrong", tensor.comparison.wrong},
                    {"unproved", tensor.comparison.unproved},
                    {"worst", finding(tensor.comparison.worst)}};
        if (tensor.comparison.wrong != 0) one["first_wrong"] = finding(tensor.comparison.first_wrong);
        if (tensor.comparison.unproved != 0) one["no_bound"] = name_of(tensor.no_bound);
        one["wrong_kernels_tried"] = tensor.tried;
        Json blind = Json::array();
        for (const Wrong wrong : tensor.blind)
            blind.push_back(name_of(wrong));
        one["blind"] = std::move(blind);
        tensors.push_back(std::move(one));
    }
    return {{"file", path},
            {"kind", verdict.kind},
            {"arithmetic", name_of(task.arithmetic().arithmetic)},
            {"verdict", name_of(verdict.outcome)},
            {"disagreement", number(verdict.disagreement)},
            {"tensors", std::move(tensors)}};
}

}  // namespace attest::reference::tool
