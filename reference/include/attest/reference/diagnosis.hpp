// Why an answer is wrong: which known fault, put into a right kernel, reproduces it.
//
// The suspects are some eighty faults that real kernels have had: heads mapped by h mod Hkv, a frontier that
// forgets the past, a mask of the other polarity, a softcap after the bias, the other pair convention, a
// layout reshaped where it had to be transposed. Each is computed and compared with the answer; one that no
// single fault explains is tried with two. A diagnosis is no verdict: what it reproduces was refused already.
#pragma once

#include <attest/reference/problem.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace attest::reference {

// Evidence is one answer: what was got, and what the judge says of it.
struct Evidence {
    std::string name;
    std::vector<std::size_t> shape{};
    std::span<const double> got{};
    std::vector<double> want{};
    std::span<const double> allowed{};
};

// Explanation is a cause and the answers it reproduces: every element within the error allowed there, the
// worst one at least twice as near as to the right answer, and no more than a hundredth of the wrong
// elements' error, in squares, left unexplained. Up to four times the error allowed will do where a millionth
// is left.
struct Explanation {
    std::string cause;
    std::vector<std::string> tensors;
    double worst_ratio = 0;  // of |got − suspected| to the error allowed
};

struct Diagnosis {
    // Causes that reproduce every answer; or, where there is none, those that reproduce some wrong one. The
    // first is the one to name: it comes nearest, and among those that come as near it is the plainest.
    std::vector<Explanation> explanations;
    bool complete = false;  // the first reproduces every answer
    // Where the wrong elements lie, a sentence an answer: "y: wrong from row 128 on, in head 2 alone".
    std::vector<std::string> patterns;
    std::size_t tried = 0;
};

// diagnose looks for what is wrong. `bias_lowest`: a bias at or below it hides its key. It computes in
// double, stops a suspect at its first element that differs, and costs little beside the judgement.
[[nodiscard]] Diagnosis diagnose(const std::variant<Layer, Core, Rotary>& problem, double bias_lowest,
                                 const std::vector<Evidence>& evidence);

}  // namespace attest::reference
