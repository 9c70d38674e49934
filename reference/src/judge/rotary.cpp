// The rotation alone.
#include "judge/doubt.hpp"
#include "judge/inputs.hpp"
#include "judge/rotation.hpp"

#include <attest/reference/judge.hpp>

namespace attest::reference {
namespace {

// The position of each row, [batch, length].
std::vector<std::int64_t> positions_of(const Rotary& rotary) {
    if (!rotary.positions.empty()) return rotary.positions;
    std::vector<std::int64_t> positions;
    for (std::size_t b = 0; b < rotary.batch; ++b)
        for (std::size_t t = 0; t < rotary.length; ++t)
            positions.push_back(static_cast<std::int64_t>(t));
    return positions;
}

bool has_tables(const Rotary& rotary) {
    return !rotary.cosines.empty() || !rotary.sines.empty();
}

// The turns of every batch and row, [batch · length, pairs], by angle or out of the given tables.
template <class N>
Turns<N> turns_of(const Rotary& rotary, std::span<const std::int64_t> positions, Formulation formulation) {
    if (!has_tables(rotary)) return turn_by<N>(rotary.rope, positions, formulation);
    Turns<N> turns;
    turns.pairs = rotary.rope.width / 2;
    for (std::size_t n = 0; n < positions.size(); ++n) {
        const std::size_t row = rotary.table_rows != 0 ? static_cast<std::size_t>(positions[n]) : n;
        for (std::size_t i = 0; i < turns.pairs; ++i) {
            turns.cosines.emplace_back(rotary.cosines[row * turns.pairs + i]);
            turns.sines.emplace_back(rotary.sines[row * turns.pairs + i]);
        }
    }
    return turns;
}

// κ of given tables: what holding them in the arithmetic's type takes.
template <class N>
std::vector<Upper> table_errors(const Model& model, const Turns<N>& turns) {
    std::vector<Upper> kappas;
    for (std::size_t n = 0; n < turns.cosines.size(); ++n)
        kappas.push_back(larger(model.input(static_cast<double>(turns.cosines[n])),
                                model.input(static_cast<double>(turns.sines[n]))));
    return kappas;
}

template <class N>
std::vector<N> turned(const Rotary& rotary, const Turns<N>& turns) {
    std::vector<N> y = to_reals<N>(rotary.x);
    for (std::size_t b = 0; b < rotary.batch; ++b)
        for (std::size_t h = 0; h < rotary.heads; ++h)
            for (std::size_t t = 0; t < rotary.length; ++t)
                rotate(y.data() + ((b * rotary.heads + h) * rotary.length + t) * rotary.width, rotary.rope,
                       turns.cosines.data() + (b * rotary.length + t) * turns.pairs,
                       turns.sines.data() + (b * rotary.length + t) * turns.pairs);
    return y;
}

}  // namespace

std::expected<RotaryJudgement, Error> judge(const Rotary& rotary, const Arithmetic& arithmetic, Doubt doubt) {
    if (std::optional<Error> bad = check(rotary)) return std::unexpected(std::move(*bad));
    const Model model(arithmetic, 1);
    const std::vector<std::int64_t> positions = positions_of(rotary);
    const Turns<Real> turns = turns_of<Real>(rotary, positions, Formulation::definition);
    const std::vector<Upper> kappas =
        has_tables(rotary) ? table_errors(model, turns) : turn_errors(model, rotary.rope, positions);

    Magnitudes magnitudes = inputs_of(model, rotary.x);
    std::vector<NoBound> reasons;
    for (const double value : rotary.x)
        reasons.push_back(std::fabs(value) > model.largest_stored() ? NoBound::input_overflow
                                                                    : NoBound::none);
    for (std::size_t b = 0; b < rotary.batch; ++b)
        for (std::size_t h = 0; h < rotary.heads; ++h)
            for (std::size_t t = 0; t < rotary.length; ++t) {
                const std::size_t row = (b * rotary.length + t) * turns.pairs;
                bound_rotation(model, rotary.rope, turns.cosines.data() + row, turns.sines.data() + row,
                               kappas.data() + row,
                               ((b * rotary.heads + h) * rotary.length + t) * rotary.width, magnitudes,
                               reasons);
            }
    Allowed allowed;
    for (std::size_t n = 0; n < reasons.size(); ++n)
        allowed.push(reasons[n] == NoBound::none ? Upper(magnitudes.error[n]) : Upper::infinity(),
                     reasons[n]);

    RotaryJudgement result;
    const std::vector<Real> first = turned(rotary, turns);
    result.y = judged_of("y", {rotary.batch, rotary.heads, rotary.length, rotary.width}, first, allowed,
                         Upper(arithmetic.answer_error));
    result.y.row_axis = 2;
    if (doubt == Doubt::none) return result;
    const Turns<Real100> again = turns_of<Real100>(rotary, positions, Formulation::second);
    result.disagreement = widen(result.y, first, turned(rotary, again));
    if (result.disagreement > kAgreement) return std::unexpected(disagreement_error(result.disagreement));
    return result;
}

}  // namespace attest::reference
