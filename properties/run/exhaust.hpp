// Small-scope exhaustion: every sequence of up to N steps over a small alphabet, on the tiniest layer.
#pragma once

#include "run.hpp"

#include <cstdint>
#include <string>

namespace attest::properties {

// Plays every sequence of `steps` steps, and with it, since each step is checked, every shorter one. Prints
// the alphabet, the counts and, of a failure, the first sequence by the alphabet's order of its first step.
// Exit code: 0 all right, 1 one failed or none was played.
int exhaust(std::uint64_t steps, const SubjectMaker& make, const RunOptions& options);

}  // namespace attest::properties
