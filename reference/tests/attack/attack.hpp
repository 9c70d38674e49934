// Attacks on the bound: one trial draws an arithmetic, a problem, and a kernel the arithmetic covers, runs it
// and compares its answer with what it is allowed.
#pragma once

#include <attest/reference/arithmetic.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace attest::reference::attack {

struct Trial {
    double ratio = 0;         // worst error / allowed of all answers
    bool judged = false;      // some element had a bound
    bool violated = false;    // an error beyond the bound, or a NaN where a bound was given
    std::string description;  // everything needed to read the trial, but its seed
};

// What a trial draws from.
enum class Target { core, layer };

Trial attack_once(Target target, Number number, std::uint64_t seed);

// The outcome of many trials.
struct Campaign {
    std::uint64_t trials = 0, judged = 0, violations = 0;
    double worst = 0;
    std::uint64_t worst_seed = 0;
    std::string worst_description;
    std::string first_violation;
};

Campaign attack_many(Target target, Number number, std::uint64_t first_seed, std::uint64_t count);

}  // namespace attest::reference::attack
