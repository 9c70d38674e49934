#include "diagnosis/pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

namespace attest::reference::diagnosis {
namespace {

bool is_wrong(const Evidence& evidence, std::size_t n) {
    const double error = std::fabs(evidence.got[n] - evidence.want[n]);
    const bool alike = std::isnan(evidence.got[n]) && std::isnan(evidence.want[n]);
    return !alike && !(error <= evidence.allowed[n]);
}

// The axes of an answer by rank, from the last.
std::vector<std::string> axes_of(const Evidence& evidence) {
    const std::string last = evidence.name == "weights" ? "column" : "feature";
    switch (evidence.shape.size()) {
        case 3:
            return {"batch", "row", last};
        case 4:
            return {"batch", "head", "row", last};
        default:
            return std::vector<std::string>(evidence.shape.size(), "index");
    }
}

// How one axis is affected, or nothing where all of it is.
std::optional<std::string> along(const std::string& axis, const std::set<std::size_t>& wrong,
                                 std::size_t extent) {
    if (wrong.size() == extent) return std::nullopt;
    const std::size_t first = *wrong.begin(), last = *wrong.rbegin();
    if (wrong.size() == 1) return axis + " " + std::to_string(first) + " alone";
    if (last - first + 1 == wrong.size()) {
        if (last + 1 == extent) return axis + " " + std::to_string(first) + " on";
        return axis + " " + std::to_string(first) + " to " + std::to_string(last);
    }
    const std::size_t stride = *std::next(wrong.begin()) - first;
    const bool regular = wrong.size() > 2 && std::all_of(wrong.begin(), wrong.end(), [&](std::size_t index) {
                             return (index - first) % stride == 0;
                         });
    if (regular && first + stride * (wrong.size() - 1) == last)
        return "every " + std::to_string(stride) + "th " + axis + " from " + std::to_string(first);
    return std::to_string(wrong.size()) + " of " + std::to_string(extent) + " " + axis +
           (axis == "batch" ? "es" : "s");
}

std::string place_of(std::size_t row, const std::vector<std::size_t>& shape) {
    std::vector<std::size_t> place(shape.size() - 1);
    for (std::size_t axis = place.size(); axis-- > 0;) {
        place[axis] = row % shape[axis];
        row /= shape[axis];
    }
    std::string text = "[";
    for (const std::size_t index : place)
        text += (text.size() > 1 ? ", " : "") + std::to_string(index);
    return text + "]";
}

}  // namespace

std::string pattern_of(const Evidence& evidence) {
    const std::size_t rank = evidence.shape.size();
    std::vector<std::set<std::size_t>> wrong(rank);
    std::size_t count = 0, not_numbers = 0, zeros = 0;
    for (std::size_t n = 0; n < evidence.got.size(); ++n) {
        if (!is_wrong(evidence, n)) continue;
        ++count;
        not_numbers += std::isfinite(evidence.got[n]) ? 0U : 1U;
        zeros += evidence.got[n] == 0 ? 1U : 0U;
        std::size_t index = n;
        for (std::size_t axis = rank; axis-- > 0; index /= evidence.shape[axis])
            wrong[axis].insert(index % evidence.shape[axis]);
    }
    if (count == 0) return {};
    std::string text = evidence.name + ": " + std::to_string(count) + " of " +
                       std::to_string(evidence.got.size()) + " elements wrong";
    const std::vector<std::string> axes = axes_of(evidence);
    for (std::size_t axis = 0; axis < rank; ++axis)
        if (const auto part = along(axes[axis], wrong[axis], evidence.shape[axis])) text += ", " + *part;
    if (not_numbers != 0) text += "; " + std::to_string(not_numbers) + " are NaN or infinite";
    if (zeros == count) text += "; all of them are 0";
    return text;
}

std::string displaced(const Evidence& evidence) {
    constexpr std::size_t kMostRows = 4096;
    if (evidence.shape.size() < 2 || evidence.shape.back() == 0) return {};
    const std::size_t width = evidence.shape.back();
    const std::size_t rows = evidence.got.size() / width;
    if (rows > kMostRows) return {};
    std::string text;
    std::size_t found = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        bool wrong = false;
        for (std::size_t f = 0; f < width; ++f)
            wrong = wrong || is_wrong(evidence, row * width + f);
        if (!wrong) continue;
        std::optional<std::size_t> from;
        // The nearest rows first: a stale row is its predecessor.
        for (std::size_t step = 1; step < rows && !from; ++step)
            for (const std::size_t other : {row - step, row + step}) {
                if (other >= rows || from) continue;
                bool same = true;
                for (std::size_t f = 0; same && f < width; ++f) {
                    const std::size_t n = other * width + f;
                    same = std::fabs(evidence.got[row * width + f] - evidence.want[n]) <= evidence.allowed[n];
                }
                if (same) from = other;
            }
        if (!from) return {};
        if (found++ < 3)
            text += (text.empty() ? "row " : "; row ") + place_of(row, evidence.shape) +
                    " holds what belongs to " + place_of(*from, evidence.shape);
    }
    if (found > 3) text += "; and " + std::to_string(found - 3) + " more rows likewise";
    return text;
}

}  // namespace attest::reference::diagnosis
