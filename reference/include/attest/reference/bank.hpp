// The bank of wrong answers: a tolerance must be able to refuse.
//
// On the very problem it judges, the bound is shown what known-wrong kernels would have answered. Each wrong
// kernel that it would have passed is one the case is blind to. The wrong answers are computed to a small
// part of what is allowed, and must leave it by more than that part, so that no rounding of ours helps to
// refuse them; rows are tried from the last, and one refused element ends the trial.
#pragma once

#include <attest/reference/judge.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
    // Faults so small that they tell tolerances apart; a verdict does not ask for them.
    scale_of_width_less_one,  // the scores are scaled by 1/√(d−1)
    last_value_stale,         // the newest value is the one before it, its key is right
    weights_sum_to_1_01,      // the weights are one hundredth too large
    // Narrow numbers inside a kernel of wide ones: a thousandth of what is right lets them pass.
    // The exponential comes from a table from half to half: ggml's softmax on CPUs until ggml-org/llama.cpp
    // pull 7154.
    exponential_in_half,
    // Keys and values are kept in half behind a kernel of floats, as models that had kept floats were made to
    // by intel/xFasterTransformer pull 336.
    cache_in_half,
    // The query, or the key when keys are judged, is rotated by an angle formed in float: wrong by ever more
    // the further the position, until kekzl/imp pull 1325 formed it in double.
    angle_in_float,
};

inline constexpr std::array kWrong{Wrong::zeros,
                                   Wrong::negated,
                                   Wrong::doubled,
                                   Wrong::uniform_weights,
                                   Wrong::unscaled_scores,
                                   Wrong::last_key_dropped,
                                   Wrong::one_stale_key,
                                   Wrong::frontier_off_by_one,
                                   Wrong::wrong_head_group,
                                   Wrong::position_off_by_one,
                                   Wrong::scale_of_width_less_one,
                                   Wrong::last_value_stale,
                                   Wrong::weights_sum_to_1_01,
                                   Wrong::exponential_in_half,
                                   Wrong::cache_in_half,
                                   Wrong::angle_in_float};

// What a verdict shows its bound: all but the small ones.
inline constexpr std::size_t kWrongInVerdicts = 10;
// Those from here on are right but for narrow numbers.
inline constexpr std::size_t kWrongNarrow = 13;

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

// WrongKernels gives the wrong answers themselves. It borrows the numbers of the problem it is made from, and
// is no help to several threads at once: what it has computed it keeps.
class WrongKernels {
  public:
    WrongKernels(const Layer& layer, const LayerOptions& options = {});
    // A bias at or below `bias_lowest` hides its key: CoreJudgement has it.
    WrongKernels(const Core& core, double bias_lowest, const CoreOptions& options = {});
    explicit WrongKernels(const Rotary& rotary);
    WrongKernels(WrongKernels&&) noexcept;
    WrongKernels& operator=(WrongKernels&&) noexcept;
    ~WrongKernels();

    // answer gives what the kernel would have answered in place of `judged` (which answer of the problem that
    // is, its name says), element by element; nothing where the kernel does not apply.
    [[nodiscard]] std::optional<std::vector<Exact>> answer(Wrong wrong, const Judged& judged) const;

    // refused tells whether `judged` refuses that answer, and stops at the first element that does.
    [[nodiscard]] std::optional<bool> refused(Wrong wrong, const Judged& judged) const;

  private:
    struct Scenes;
    std::unique_ptr<Scenes> scenes_;
};

}  // namespace attest::reference
