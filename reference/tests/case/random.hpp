// Random cases and mutated bytes for the tests of the two readers.
#pragma once

#include <attest/case/case.hpp>

#include "../random.hpp"

#include <string>

namespace attest::cases::testing {

using drawing::Random;

// random_case draws every field, counts at both ends of their range included; it passes check.
Case random_case(Random& random);

// mutate edits a text a few times: bits, bytes, lines and numbers.
std::string mutate(std::string text, Random& random);

}  // namespace attest::cases::testing
