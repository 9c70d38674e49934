// Two faults in one call: what refusals_come_in_order is made of.
#pragma once

#include "support.hpp"

#include <optional>

namespace attest::properties {

// The case's geometry on few positions: the order of refusals does not depend on where rows stand. Empty
// where even that is too large to make again and again.
std::optional<cases::Case> fault_geometry(const cases::Case& one);

// Calls against a cache: rank, tokens, batch, width, six kinds of binding, room, the answer, the input.
void call_faults(Scene& scene);
// Numbers: input, projections, rotations, scores, mixes, output.
void number_faults(Scene& scene);
// Making ropes, layers and caches.
void making_faults(Scene& scene);
// Full prefixes.
void full_prefix_faults(Scene& scene);

}  // namespace attest::properties
