#include "gauge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attest::fuzzing {
namespace {

constexpr std::size_t kCheckSteps = 16;

// libFuzzer takes every byte of this section as a counter (FuzzerExtraCounters.cpp); elsewhere it is an
// ordinary array.
[[gnu::section("__libfuzzer_extra_counters"),
  gnu::used]] std::uint8_t counters_seen[kGaugeSteps + kCheckSteps + properties::States::kCount];

}  // namespace

std::size_t gauge_step(double worst) {
    if (!(worst > 0.0)) {
        return 0;
    }
    const double half_steps = 2.0 * std::log2(worst);
    const double last = static_cast<double>(kGaugeSteps - 1);
    return static_cast<std::size_t>(std::clamp(last + half_steps, 1.0, last));
}

void record(const properties::Counters& counters) {
    const std::size_t reached = gauge_step(counters.worst);
    // All steps up to the one reached: a smaller error is never news once a larger one was seen.
    for (std::size_t step = 1; step <= reached; ++step) {
        counters_seen[step] = 1;
    }
    const auto checks = static_cast<std::size_t>(std::bit_width(counters.checks));
    counters_seen[kGaugeSteps + std::min(checks, kCheckSteps - 1)] = 1;
    std::uint8_t* const states = counters_seen + kGaugeSteps + kCheckSteps;
    const auto& words = counters.states.bits;
    for (std::size_t word = 0; word < words.size(); ++word) {
        for (std::uint64_t rest = words[word]; rest != 0; rest &= rest - 1) {
            states[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))] = 1;
        }
    }
}

}  // namespace attest::fuzzing
