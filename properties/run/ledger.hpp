// A ledger of bits: fixed cases, and a hash of everything they answer. properties/ledger.txt holds what they
// answered when somebody last decided it; every compiler, instruction set and build must answer that.
#pragma once

#include "attest/properties/subject.hpp"

namespace attest::properties {

// Prints "geometry filling type hash" lines for both types and for narrow storage. Two builds whose ledgers
// are equal give the same bits. Exit code: 1 when a case could not be played.
int print_ledger(Subject& subject);

}  // namespace attest::properties
