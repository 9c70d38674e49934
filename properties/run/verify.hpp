// The main job: the library proved right on generated cases, on the published fixture, on dumps, and the
// machinery proved able to refuse.
#pragma once

#include "run.hpp"

#include <string>
#include <vector>

namespace attest::properties {

struct VerifyOptions {
    RunOptions run;
    std::vector<std::string> dumps;
    std::string canary;  // the module of a planted bug that must be refused
};

// Prints the table. Exit code: 0 right, 1 wrong, 2 something could not be checked.
int verify(const VerifyOptions& options, const SubjectMaker& make);

// Whether a law refuses a planted bug, and with a case of at most kSmallSteps steps.
inline constexpr std::size_t kSmallSteps = 8;
Row refuse_planted(const Law& law, const std::string& module, const RunOptions& options);

}  // namespace attest::properties
