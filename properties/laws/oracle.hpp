// How laws ask the oracle: exact answers, the bound, and what the bound could not have refused.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/scene.hpp"
#include "attest/properties/verdict.hpp"

#include <attest/reference/judge.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attest::properties {

// A layer's rows as the oracle takes them. Weights and x are borrowed.
struct Problem {
    const cases::Case& geometry;
    const std::array<Array, 4>& weights;
    std::span<const double> x;  // [batch, rows, D]
    std::uint64_t batch = 0;
    std::uint64_t rows = 0;
    bool foreign = false;  // held to the bound of any order of sums and angles, not of Attest's own

    reference::Layer layer() const;
    reference::Arithmetic arithmetic() const;
};

// judged is empty when the oracle itself failed, which is noted as a failure of the law.
std::optional<reference::LayerJudgement> judged(Checks& checks, const Problem& problem,
                                                const reference::LayerOptions& options);

// inside compares an answer with its bound. Elements without a bound (an overflow may happen on the way) are
// not compared, only required to be finite; how many were compared comes back.
std::uint64_t inside(Checks& checks, Text place, const reference::Judged& want, std::span<const double> got);

// note_blindness shows the bound a bank of wrong answers and notes which of them it would have passed.
void note_blindness(Checks& checks, const Problem& problem, const reference::LayerJudgement& judgement,
                    const reference::LayerOptions& options);

}  // namespace attest::properties
