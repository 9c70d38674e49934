// Writing a case in canonical form: keys in one order, one space between words, floats in hex.
#pragma once

#include <attest/case/case.hpp>

#include <string>

namespace attest::cases {

// print writes a case that passes check, and parse(print(one)) == one. Fills, sets and steps keep their
// order; all else that a text leaves free (order of keys, spaces, blank lines, spellings of a number) is
// gone.
std::string print(const Case& one);

// One step as it stands behind `step = `.
std::string print(const Step& step);

}  // namespace attest::cases
