// Numbers and states as coverage: error / bound, and the digests of the states a session went through, go to
// libFuzzer as extra counters, so that it climbs toward the worst numerics and new states, not edges alone.
#pragma once

#include "attest/properties/verdict.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace attest::fuzzing {

inline constexpr std::size_t kGaugeSteps = 64;

// gauge_step gives the place of error / allowed on a scale of half powers of two: 0 for nothing measured, the
// last for 1 and above. A law over bits measures nothing.
std::size_t gauge_step(double worst);

// record marks what one input reached. Every input's marks are cleared by libFuzzer before it runs.
void record(const properties::Counters& counters);

}  // namespace attest::fuzzing
