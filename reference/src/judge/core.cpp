// Attention alone.
#include "judge/attention.hpp"
#include "judge/core_operands.hpp"
#include "judge/doubt.hpp"
#include "judge/inputs.hpp"

#include <attest/reference/judge.hpp>

#include <cmath>

namespace attest::reference {
namespace {

// A visible key or value must be finite.
std::optional<Error> check_visible(const Core& core, const Visibility& visibility, const Sources& sources) {
    const std::size_t columns = core.past + core.keys;
    std::vector<bool> visible(core.batch * core.kv_heads * columns, false);
    Seen seen;
    const std::size_t group = core.heads / core.kv_heads;
    for (std::size_t b = 0; b < core.batch; ++b)
        for (std::size_t h = 0; h < core.heads; ++h)
            for (std::size_t i = 0; i < core.length; ++i) {
                visibility.see(b, h, i, seen);
                for (const std::size_t column : seen.columns)
                    visible[(b * core.kv_heads + h / group) * columns + column] = true;
            }
    const auto look = [&](const char* name, const std::vector<double>& values,
                          std::size_t width) -> std::optional<Error> {
        for (std::size_t n = 0; n < values.size(); ++n)
            if (visible[n / width] && !std::isfinite(values[n]))
                return Error{Error::Code::non_finite, name,
                             "feature " + std::to_string(n % width) + " of visible column " +
                                 std::to_string(n / width % columns) + " is " + std::to_string(values[n])};
        return std::nullopt;
    };
    if (auto bad = look("k", sources.k_as_given, core.width)) return bad;
    return look("v", sources.v_as_given, core.value_width);
}

Operand operand_of(const Model& model, const std::vector<double>& values, std::size_t width) {
    Operand operand;
    operand.magnitudes = inputs_of(model, values);
    if (width == 0) return operand;
    for (std::size_t first = 0; first < values.size(); first += width)
        operand.reasons.push_back(input_overflows(model, std::span(values).subspan(first, width))
                                      ? NoBound::input_overflow
                                      : NoBound::none);
    return operand;
}

// A present tensor is a copy: only a type that can't hold an element may change it.
Judged present_of(const char* name, const Model& model, const Core& core, const std::vector<double>& values,
                  std::size_t width, Upper answer_error) {
    Judged judged;
    judged.name = name;
    judged.shape = {core.batch, core.kv_heads, core.past + core.keys, width};
    judged.row_axis = 2;
    for (std::size_t n = 0; n < values.size(); ++n) {
        judged.exact.emplace_back(values[n]);
        Upper error;
        if (std::isfinite(values[n])) {
            error = model.input(values[n]) + answer_error;
            if (std::fabs(values[n]) > model.largest_stored()) error = Upper::infinity();
        }
        if (!error.finite() && judged.no_bound == NoBound::none) {
            judged.no_bound = NoBound::input_overflow;
            judged.no_bound_at = n;
        }
        judged.allowed.push_back(error.value());
    }
    return judged;
}

template <class N, class N2>
CoreJudgement judge_in(const Core& core, const Sources& sources, const Arithmetic& arithmetic,
                       const CoreOptions& options, const Visibility& visibility) {
    const Model model(arithmetic, core.scale ? 1 : core.width);
    const Rows rows = options.rows;
    const Upper answer_error(arithmetic.answer_error);
    CoreJudgement result;
    const Operand q = operand_of(model, sources.q, core.width);
    const Operand k = operand_of(model, sources.k, core.width);
    const Operand v = operand_of(model, sources.v, core.value_width);
    BoundedAttention<N> first;
    {
        const CoreOperands<N> formed(core, sources, rows, visibility);
        first = bound_attention(model, formed.attention(), {&q, &k, &v}, options.weights,
                                {options.threads, options.progress});
        result.y = judged_of("y", {core.batch, core.heads, rows.count, core.value_width}, first.mixed.data,
                             first.mixed_allowed, answer_error);
        if (options.weights)
            result.weights = judged_of("weights", {core.batch, core.heads, rows.count, core.past + core.keys},
                                       first.weights, first.weights_allowed, answer_error);
    }
    result.present_k = present_of("present_k", model, core, sources.k_as_given, core.width, answer_error);
    result.present_v =
        present_of("present_v", model, core, sources.v_as_given, core.value_width, answer_error);
    for (Judged* judged : {&result.y, &result.weights}) {
        judged->row_axis = 2;
        judged->first_row = rows.first;
    }
    if (options.doubt == Doubt::none) return result;

    const CoreOperands<N2> again(core, sources, rows, visibility);
    const BoundedAttention<N2> attended =
        attend_again(again.attention(), options.weights, {options.threads, options.progress});
    result.disagreement = widen(result.y, first.mixed.data, attended.mixed.data);
    if (options.weights)
        result.disagreement =
            std::max(result.disagreement, widen(result.weights, first.weights, attended.weights));
    return result;
}

}  // namespace

std::expected<CoreJudgement, Error> judge(const Core& core, const Arithmetic& arithmetic,
                                          const CoreOptions& options) {
    if (std::optional<Error> bad = check(core)) return std::unexpected(std::move(*bad));
    CoreOptions cut = options;
    cut.rows = cut_rows(options.rows, core.length);
    const double lowest = lowest_bias(core, arithmetic);
    const Visibility visibility = Visibility::of(core, lowest);
    expect_keys(options.progress, core.batch * core.heads * cut.rows.count * (core.past + core.keys),
                options.doubt);
    const Sources sources = sources_of(core, cut.rows);
    if (auto bad = check_visible(core, visibility, sources)) return std::unexpected(std::move(*bad));
    const Visibility selected = visibility.from_row(cut.rows.first);
    CoreJudgement result = judge_in<Real, Real100>(core, sources, arithmetic, cut, selected);
    if (result.disagreement > kAgreement)
        result = judge_in<Real400, Real800>(core, sources, arithmetic, cut, selected);
    if (result.disagreement > kAgreement) return std::unexpected(disagreement_error(result.disagreement));
    result.bias_lowest = lowest;
    return result;
}

}  // namespace attest::reference
