// The bank of wrong answers: a tolerance must be able to refuse.
//
// On the very problem it judges, the bound is shown what known-wrong kernels would have answered. Each wrong
// kernel that it would have passed is one the case is blind to. The wrong answers are computed exactly, so
// that no rounding of ours helps to refuse them; rows are tried from the last, and one refused element ends
// the trial.
#pragma once

#include <attest/reference/judge.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace attest::reference {

enum class Wrong : std::uint8_t {
    zeros,
    negated,
    doubled,
    uniform_weights,
    unscaled_scores,
    last_key_dropped,     // the row does not see its newest key
    one_stale_key,        // the newest key is the one before it
    frontier_off_by_one,  // the row sees one key past its frontier: the next one, or an empty slot's zeros
    wrong_head_group,     // query head h reads key/value head h mod kv_heads
    position_off_by_one,  // the query, or the key when keys are judged, is rotated one position too far
};

[[nodiscard]] std::string_view name_of(Wrong wrong) noexcept;

// Trial is one wrong kernel shown to one answer. A kernel that changes nothing in this problem (one head for
// the group, one key for the stale one) does not apply and is not listed.
struct Trial {
    Wrong wrong;
    bool refused;
};

// Bank holds, for each answer of a judgement that is not empty, the trials of the kernels that apply to it.
struct Bank {
    std::vector<Trial> y, keys, values, weights;
};

[[nodiscard]] Bank try_bank(const Layer& layer, const LayerJudgement& judgement,
                            const LayerOptions& options = {});
[[nodiscard]] Bank try_bank(const Core& core, const CoreJudgement& judgement,
                            const CoreOptions& options = {});

}  // namespace attest::reference
