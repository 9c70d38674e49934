// What running a case will cost, told by its text alone, so that a driver bounds its own work.
#pragma once

#include "attest/case/case.hpp"

#include <cstdint>

namespace attest::fuzzing {

// Work estimates, all saturating at 2^64 − 1.
struct Cost {
    std::uint64_t elements = 0;         // of everything filled or stored
    std::uint64_t table_elements = 0;   // of the rotary tables
    std::uint64_t multiplications = 0;  // of one pass over the steps, each row against its whole prefix
};

// cost_of counts what a layer and a cache of this geometry take. A geometry that must be refused (a tensor
// beyond cases::kMaxElements, a zero count) costs nothing: nobody may allocate it.
Cost cost_of(const cases::Case& one);

// What a driver may spend on one case. Laws that ask the oracle get smaller cases, sessions more steps. A
// mutator mostly stays within what is usual: a large case shows seldom what a small one can't, and takes the
// time of many.
struct Budget {
    std::uint64_t multiplications = 0;
    std::uint64_t usual = multiplications;
    std::size_t steps = 64;
};

inline constexpr Budget kForBits = {std::uint64_t{1} << 21, std::uint64_t{1} << 12};
inline constexpr Budget kForTheOracle = {std::uint64_t{1} << 17, std::uint64_t{1} << 12};
inline constexpr Budget kForSessions = {std::uint64_t{1} << 19, std::uint64_t{1} << 16, 400};

// usual tells whether the case is of the size that mutants mostly have.
bool usual(const cases::Case& one, const Budget& budget);

// affordable tells whether a driver should run the case: some milliseconds, a few megabytes.
bool affordable(const cases::Case& one, const Budget& budget);

}  // namespace attest::fuzzing
