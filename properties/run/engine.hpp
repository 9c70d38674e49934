// The engine that draws: RapidCheck, over the drawing and shrinking of the laws' room.
#pragma once

#include "record.hpp"

#include "attest/properties/laws.hpp"
#include "attest/properties/subject.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attest::properties {

struct EngineOptions {
    std::uint64_t cases = 0;  // 0: the law's own number
    std::uint64_t seed = 0;
    double shrink_seconds = 10;
    // 0: one round of cases. Otherwise rounds with the seeds that follow, until so much time is over.
    double seconds = 0;
    // What RC_PARAMS says wins over the law's own number, and --cases and --seed win over it.
    bool cases_given = false;
    bool seed_given = false;
    bool distribution = false;  // leave in the record what was drawn
};

// RapidCheck ignores keys it does not know, and a misspelt one would quietly change nothing. The first
// unknown key of the environment's RC_PARAMS, or why it can't be read.
std::optional<std::string> wrong_rc_params();

// The seed RapidCheck is going to use.
std::uint64_t seed_in_use(const EngineOptions& options);

// Draws cases for one law, judges each, shrinks the first that fails. All news go into the record. A round
// starts with small cases and ends with large ones, so more time is more rounds and not a longer one.
void run_rapidcheck(const Law& law, Subject& subject, const EngineOptions& options, Record& record);

}  // namespace attest::properties
