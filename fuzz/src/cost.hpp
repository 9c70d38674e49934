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

// affordable tells whether a driver should run the case: some milliseconds, a few megabytes.
// `multiplications_max` is smaller for laws that ask the oracle.
bool affordable(const cases::Case& one, std::uint64_t multiplications_max);

}  // namespace attest::fuzzing
