// Where an answer's wrong elements lie.
#pragma once

#include <attest/reference/diagnosis.hpp>

#include <string>

namespace attest::reference::diagnosis {

// pattern_of tells it in a sentence; empty where nothing is wrong.
[[nodiscard]] std::string pattern_of(const Evidence& evidence);

// displaced looks whether each wrong row of an answer is another row of it: "row [0, 2, 77] holds what
// belongs to [0, 2, 76]". Empty where that is not so.
[[nodiscard]] std::string displaced(const Evidence& evidence);

}  // namespace attest::reference::diagnosis
