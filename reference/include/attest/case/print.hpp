// Writing a case in canonical form: keys in one order, one space between words, floats in hex.
#pragma once

#include "attest/case/case.hpp"

#include <string>

namespace attest::cases {

// print writes a case that passes check; parse(print(one)) == one, and print(parse(text)) is the same for
// every text of one meaning.
std::string print(const Case& one);

// One step as it stands behind `step = `.
std::string print(const Step& step);

}  // namespace attest::cases
