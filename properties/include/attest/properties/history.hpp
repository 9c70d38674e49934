// The law any_history_is_its_rows, and how thoroughly it looks.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/subject.hpp"
#include "attest/properties/verdict.hpp"

#include <cstdint>

namespace attest::properties {

enum class HistoryDepth : std::uint8_t {
    quick,    // by bits alone, on the layers at hand: for millions of tiny histories
    thorough  // bad calls between the steps, layers made anew, and the oracle's word on each last row
};

Verdict play_history(const cases::Case& one, Subject& subject, HistoryDepth depth);

}  // namespace attest::properties
