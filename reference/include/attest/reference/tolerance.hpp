// One pair (atol, rtol) for a whole tensor, as numpy.testing.assert_allclose and torch.testing.assert_close
// take it, made from the bound of each element.
#pragma once

#include <attest/reference/bank.hpp>
#include <attest/reference/judge.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attest::reference {

// Tolerance accepts g where |g − w| ≤ atol + rtol·|w|.
struct Tolerance {
    double atol = 0;
    double rtol = 0;

    [[nodiscard]] double at(double want) const noexcept;
};

// smallest_tolerance gives, of the pairs that cover every element's bound,
//
//     allowed_n ≤ atol + rtol·|want_n|  for all n,  atol ≥ 0,  rtol ≥ 0,
//
// the one that allows least on average over these elements, atol + rtol·mean|want|, rounded up to three
// digits. Nothing where an element has no bound or there is none.
[[nodiscard]] std::optional<Tolerance> smallest_tolerance(std::span<const double> want,
                                                          std::span<const double> allowed);

// Recommendation is what one answer tensor may be off by, as one pair, and what the pair costs: how much more
// than its bound it allows an element, and which wrong kernels only the bound refuses.
struct Recommendation {
    struct Kernel {
        Wrong wrong;
        bool pair_refuses = false;
        bool bound_refuses = false;
    };
    std::string tensor;
    std::optional<Tolerance> pair;
    NoBound no_bound = NoBound::none;  // why there is no pair
    double looser_median = 0;          // (atol + rtol·|want|) / allowed, over the elements
    double looser_most = 0;
    std::vector<Kernel> kernels;  // those that apply
};

[[nodiscard]] Recommendation recommend(const Judged& judged, const WrongKernels& kernels);

}  // namespace attest::reference
