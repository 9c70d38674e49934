// The comparator: which elements of an answer lie inside the error allowed to them.
#pragma once

#include <attest/reference/judge.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attest::reference {

// Finding is one element of an answer. `want` is the exact value rounded to nearest, `error` the exact |got −
// want| rounded up, `ratio` error / allowed: 0 when both are 0, +infinity when got is not a number or nothing
// is allowed.
struct Finding {
    std::vector<std::size_t>
        place;  // one index a dimension; the row index counts from the start of the whole answer
    double got = 0;
    double want = 0;
    double error = 0;
    double allowed = 0;
    double ratio = 0;
};

// The histogram of error / allowed: element n counts ratios up to kRatioEdges[n], the last one all above.
inline constexpr std::array kRatioEdges{0.0, 1e-4, 1e-3, 0.01, 0.03,  0.1, 0.25,
                                        0.5, 1.0,  2.0,  10.0, 100.0, 1e4};
inline constexpr std::size_t kMostRanked = 10;

// Comparison counts what was found. It holds when something was compared and nothing is wrong or unproved.
struct Comparison {
    std::size_t compared = 0;
    std::size_t wrong = 0;     // elements for which !(error <= allowed): NaN and infinity are wrong
    std::size_t unproved = 0;  // elements without a bound
    Finding worst;             // the largest ratio: a wrong element's if there is one
    Finding first_wrong;       // the first wrong one in C order, when wrong > 0
    std::vector<Finding>
        ranked;  // the worst kMostRanked, the worst first: wrong ones before others, then by ratio
    std::array<std::size_t, kRatioEdges.size() + 1> histogram{};  // of what has a bound

    [[nodiscard]] bool holds() const noexcept { return compared > 0 && wrong == 0 && unproved == 0; }
};

// compare judges `got`, one double an element in C order, against `judged`. Both must have one size: a caller
// that has checked shapes has checked that. −0 and +0 are equal. An element without a bound is unproved, not
// wrong, unless it is NaN or infinite.
[[nodiscard]] Comparison compare(const Judged& judged, std::span<const double> got);

// place_text writes a place as "[b, t, i]".
[[nodiscard]] std::string place_text(const std::vector<std::size_t>& place);

}  // namespace attest::reference
