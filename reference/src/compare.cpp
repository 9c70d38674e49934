#include <attest/reference/compare.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::size_t> place_of(const Judged& judged, std::size_t index) {
    std::vector<std::size_t> place(judged.shape.size());
    for (std::size_t axis = judged.shape.size(); axis-- > 0;) {
        place[axis] = index % judged.shape[axis];
        index /= judged.shape[axis];
    }
    if (!place.empty()) place[judged.row_axis] += judged.first_row;
    return place;
}

double ratio_of(double error, double allowed) {
    if (error == 0) return 0;
    return std::isnan(error) || allowed == 0 ? kInfinity : error / allowed;
}

struct Ranked {
    bool wrong;
    double ratio;
    std::size_t index;
    bool worse_than(const Ranked& other) const { return wrong != other.wrong ? wrong : ratio > other.ratio; }
};

// Ranking keeps the worst few, equals in the order in which they came.
struct Ranking {
    std::vector<Ranked> places;

    void offer(const Ranked& one) {
        if (places.size() == kMostRanked && !one.worse_than(places.back())) return;
        if (places.size() == kMostRanked) places.pop_back();
        const auto before = std::find_if(places.begin(), places.end(),
                                         [&](const Ranked& other) { return one.worse_than(other); });
        places.insert(before, one);
    }
};

}  // namespace

Comparison compare(const Judged& judged, std::span<const double> got) {
    Comparison comparison;
    const std::size_t count = std::min(got.size(), judged.exact.size());
    // Sizes that differ compare nothing, and what compares nothing does not hold.
    if (got.size() != judged.exact.size()) return comparison;
    std::size_t first_wrong = 0;
    Ranking ranking;
    for (std::size_t n = 0; n < count; ++n) {
        ++comparison.compared;
        const double allowed = judged.allowed[n];
        const double error = error_of(judged.exact[n], got[n]);
        const bool unproved = allowed == kInfinity && std::isfinite(got[n]);
        const bool wrong = !unproved && (!(error <= allowed) || !std::isfinite(error));
        if (unproved) ++comparison.unproved;
        if (wrong && comparison.wrong++ == 0) first_wrong = n;
        const double ratio =
            unproved ? 0 : (wrong && allowed == kInfinity ? kInfinity : ratio_of(error, allowed));
        ranking.offer({wrong, ratio, n});
        if (unproved) continue;
        const auto edge = std::lower_bound(kRatioEdges.begin(), kRatioEdges.end(), ratio);
        ++comparison.histogram[static_cast<std::size_t>(edge - kRatioEdges.begin())];
    }
    const auto finding = [&](std::size_t n) {
        Finding found;
        found.place = place_of(judged, n);
        found.got = got[n];
        found.want = static_cast<double>(judged.exact[n]);
        found.error = error_of(judged.exact[n], got[n]);
        found.allowed = judged.allowed[n];
        found.ratio = std::isfinite(found.got) ? ratio_of(found.error, found.allowed) : kInfinity;
        return found;
    };
    for (const Ranked& ranked : ranking.places)
        comparison.ranked.push_back(finding(ranked.index));
    if (comparison.compared != 0) comparison.worst = comparison.ranked.front();
    if (comparison.wrong != 0) comparison.first_wrong = finding(first_wrong);
    return comparison;
}

std::string place_text(const std::vector<std::size_t>& place) {
    std::string text = "[";
    for (const std::size_t index : place) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(index);
    }
    return text + "]";
}

}  // namespace attest::reference
