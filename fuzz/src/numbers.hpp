// Counts and patterns worth trying: the edges at which caches and attention code break.
#pragma once

#include "attest/case/case.hpp"

#include "random.hpp"

#include <cstdint>

namespace attest::fuzzing {

// small_count favours 1 to 9: sizes at which a law is quick and most edges already exist.
std::uint64_t small_count(Random& random);

// edge_count gives sizes around powers of two, lanes and summation blocks, and what the case itself makes an
// edge: its capacity, its rows, their neighbours.
std::uint64_t edge_count(Random& random, const cases::Case& one);

// huge_count gives numbers at which a product of sizes no longer fits 32 or 64 bits.
std::uint64_t huge_count(Random& random);

// nudged changes a count a little: by one, twice, half, or one bit.
std::uint64_t nudged(Random& random, std::uint64_t count);

// new_count replaces a count by one of the kinds above; huge ones seldom, as they mostly end in one refusal.
std::uint64_t new_count(Random& random, const cases::Case& one, std::uint64_t old);

// special_bits gives the pattern of a double that the element type represents: NaNs with payloads,
// infinities, largest, smallest, subnormal, signed zeros, neighbours of one, and plain numbers of every
// magnitude.
std::uint64_t special_bits(Random& random, cases::ElementType type);

// rope_base gives bases met in practice, degenerate ones and ones that must be refused.
double rope_base(Random& random);

}  // namespace attest::fuzzing
