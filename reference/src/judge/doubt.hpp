// The oracle's doubt: two evaluations, and what becomes of their difference.
#pragma once

#include "bound/outward.hpp"
#include "exact.hpp"
#include "judge/attention.hpp"

#include <attest/reference/judge.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace attest::reference {

// The evaluations agree when they differ by no more than this part of the error allowed. They are some 2^−110
// of it apart when fifty digits are enough, and comparable with it when they are not.
inline constexpr double kAgreement = 0x1p-30;

// judged_of turns an exact tensor and its errors into an answer; what rounding to two doubles loses is
// allowed.
template <class N>
Judged judged_of(std::string name, std::vector<std::size_t> shape, const std::vector<N>& exact,
                 const Allowed& allowed, Upper answer_error) {
    Judged judged;
    judged.name = std::move(name);
    judged.shape = std::move(shape);
    judged.exact.reserve(exact.size());
    judged.allowed.reserve(exact.size());
    for (std::size_t n = 0; n < exact.size(); ++n) {
        judged.exact.push_back(exact_of(exact[n]));
        Upper error = allowed.error[n] + answer_error;
        const N lost = exact[n] - real_of<N>(judged.exact[n]);
        if (lost != 0) error += Upper::of(lost);
        judged.allowed.push_back(error.value());
        if (!error.finite() && judged.no_bound == NoBound::none) {
            judged.no_bound = allowed.reason[n] == NoBound::none ? NoBound::unbounded : allowed.reason[n];
            judged.no_bound_at = n;
        }
    }
    return judged;
}

// widen adds to each allowed error what two evaluations differ by, before either is rounded; it returns the
// worst difference as a part of the error allowed without it.
template <class N, class N2>
double widen(Judged& judged, const std::vector<N>& first, const std::vector<N2>& second) {
    double worst = 0;
    for (std::size_t n = 0; n < judged.exact.size(); ++n) {
        const Upper allowed(judged.allowed[n]);
        if (!allowed.finite()) continue;
        const N2 difference = abs(N2(first[n]) - second[n]);
        if (difference == 0) continue;
        // In N2: far below double's smallest a difference would round up to something.
        worst = std::max(worst, allowed.value() == 0 ? std::numeric_limits<double>::infinity()
                                                     : static_cast<double>(N2(difference / allowed.value())));
        judged.allowed[n] = (allowed + Upper::of(difference)).value();
    }
    return worst;
}

// expect_features tells a watcher how many features the evaluations will read, of `keys` keys seen by all
// rows.
inline void expect_features(Progress* progress, std::size_t keys, std::size_t width, std::size_t value_width,
                            Doubt doubt) {
    if (progress == nullptr) return;
    const std::size_t once = keys * (width + value_width), bound = keys * value_width;
    progress->total += once + bound + (doubt == Doubt::full ? once : 0);
}

[[nodiscard]] inline Error disagreement_error(double worst) {
    return {Error::Code::disagreement, "oracle",
            "two evaluations of the exact answer differ by " + std::to_string(worst) +
                " of the error allowed, at 400 and 800 digits"};
}

}  // namespace attest::reference
