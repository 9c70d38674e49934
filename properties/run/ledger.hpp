// A ledger of bits: fixed cases, and a hash of everything they answer, for comparing compilers.
#pragma once

#include "run.hpp"

namespace attest::properties {

// Prints "case type hash" lines: as many drawn cases for each type, with fixed seeds. Two builds whose
// ledgers are equal give the same bits. Exit code: 1 when a case could not be played.
int print_ledger(const SubjectMaker& make);

}  // namespace attest::properties
