// What attest-reference prints.
#pragma once

#include <attest/reference/verdict.hpp>

#include <string>

namespace attest::reference::tool {

// print writes one file's verdict: a line a tensor and, for what is wrong (or with `verbose` for all), the
// worst ten elements in decimal and hex, a histogram of error/bound, the stages and the diagnosis.
void print(const std::string& path, const Task& task, const Verdict& verdict, bool verbose);

// print_expected writes one line an element: place, exact value, allowed error.
void print_expected(const Judged& judged);

// blindness names the wrong kernels a tensor's bound would have passed.
[[nodiscard]] std::string blindness(const TensorVerdict& tensor);

// stages_of lists a verdict's tensors in the order in which a kernel forms them.
[[nodiscard]] std::vector<const TensorVerdict*> stages_of(const Verdict& verdict);

}  // namespace attest::reference::tool
