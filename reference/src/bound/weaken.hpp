// Every term and constant of the bound by name, so that the attack can take each away and see that it is
// missed.
//
// Nothing in this library or its programs sets `weakening`; attest-attack alone does, and no public header
// reaches this one. Where it is not set, weak() is its argument.
#pragma once

#include "bound/outward.hpp"

#include <cstdint>

namespace attest::reference {

enum class Term : std::uint8_t {
    // §1.1: inputs a type can't hold, flushed inputs, stores.
    input_unit,
    input_omega,
    input_flushed,
    store_unit,
    store_omega,
    // §1.2, §1.3: what is counted. Weakened, a count is one less.
    height_dot,
    height_positions,
    height_split,
    count_q,
    count_s,
    count_s_store,
    count_s_width,
    count_a,
    count_z,
    count_w,
    count_w_split,
    count_o,
    count_o_store,
    count_o_split,
    count_rescalings,
    exp_relative,
    exp_floor,
    // §2.1.
    projection_weight,
    projection_input,
    projection_rounding,
    projection_omega,
    // §2.2.
    rotation_inherited,
    rotation_kappa,
    rotation_products,
    rotation_omega,
    angle_table,
    angle_exponent,
    angle_roundings,
    angle_base,
    angle_position,
    // §2.3.
    score_query,
    score_key,
    score_rounding,
    score_scale_subnormal,
    score_omega_terms,
    score_omega_product,
    score_omega_features,
    score_omega_square,
    score_omega_growth,
    score_finished_inherited,
    softcap_roundings,
    softcap_relative,
    softcap_absolute,
    softcap_omega,
    softcap_reciprocal,
    bias_input,
    bias_sum,
    bias_flushed,
    // §2.4.
    maximum_above,
    maximum_below,
    argument_score,
    argument_difference,
    argument_apart,
    split_argument,
    split_logarithm,
    split_sums,
    weight_unit_before,
    weight_omega_before,
    floor_rescaled,
    floor_drift,
    stray_growth,
    strays,
    hull,
    value_error,
    mix_rounding,
    weight_unit_after,
    weight_omega_after,
    mix_omega_sums,
    mix_omega_values,
    mix_growth,
    denominator_rounding,
    denominator_lost,
    denominator_flushed,
    mix_omega_division,
    answer_stray,
    answer_cap,
    answer_floor,
    answer_unit,
    answer_omega,
    count_,
};

// Weakening multiplies a term by a factor below one, or takes one from a count.
struct Weakening {
    Term term;
    double factor;
};

inline const Weakening* weakening = nullptr;

[[nodiscard]] inline Upper weak(Term term, Upper value) noexcept {
    if (weakening == nullptr || weakening->term != term) return value;
    return {value.value() * weakening->factor};
}

[[nodiscard]] inline std::uint64_t weak(Term term, std::uint64_t count) noexcept {
    if (weakening == nullptr || weakening->term != term || count == 0) return count;
    return count - 1;
}

}  // namespace attest::reference
