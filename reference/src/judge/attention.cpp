#include "judge/attention.hpp"

#include "bound/row.hpp"

namespace attest::reference {
namespace {

// The row's scores as the bound needs them: their magnitudes, and δ from everything before them.
template <class N>
NoBound row_facts(const Model& model, const Scoring& scoring, const Attention<N>& attention,
                  const Operands& operands, std::size_t q_first, std::size_t k_head, const Attended<N>& row,
                  RowFacts& facts) {
    const std::size_t count = row.seen.columns.size();
    const std::size_t width = attention.q->width;
    facts.span = {.seen = count, .last = row.seen.columns.back() + 1, .total = attention.visibility->total()};
    facts.gaps.clear();
    facts.scores.clear();
    facts.deltas.clear();
    facts.weights.clear();
    if (const NoBound reason = operands.q->reasons[q_first / width]; reason != NoBound::none) return reason;
    facts.denominator = Real(row.denominator);
    facts.maximum = Upper::of(row.maximum);
    for (std::size_t n = 0; n < count; ++n) {
        Scoring::Steps steps;
        steps.dot = Upper::of(row.dots[n]);
        steps.scaled = Upper::of(row.scaled[n]);
        steps.capped = row.capped.empty() ? steps.scaled : Upper::of(row.capped[n]);
        steps.biased = Upper::of(row.scores[n]);
        if (!row.seen.biases.empty()) {
            steps.has_bias = true;
            steps.bias_error = model.input(row.seen.biases[n]);
        }
        const std::size_t key = k_head + row.seen.columns[n];
        for (const Operand* operand : {operands.k, operands.v})
            if (operand->reasons[key] != NoBound::none) return operand->reasons[key];
        const Bounded delta =
            scoring.error(operands.q->magnitudes, q_first, operands.k->magnitudes, key * width, steps);
        if (delta.reason != NoBound::none) return delta.reason;
        facts.gaps.push_back(Real(row.maximum - row.scores[n]));
        facts.scores.push_back(steps.biased);
        facts.deltas.push_back(delta.error);
        facts.weights.push_back(Real(row.weights[n]));
    }
    return NoBound::none;
}

// values_of collects one feature of the keys seen.
template <class N>
void values_of(const Attention<N>& attention, const Operands& operands, std::size_t batch, std::size_t group,
               std::size_t feature, const Attended<N>& row, Values& values) {
    values.total.clear();
    values.error.clear();
    values.distance.clear();
    const N& mixed = row.mixed[feature];
    values.mixed = Upper::of(mixed);
    const Heads<N>& v = *attention.v;
    for (const std::size_t column : row.seen.columns) {
        const N* const element = v.at(batch, group, column) + feature;
        const auto index = static_cast<std::size_t>(element - v.data.data());
        values.total.push_back(Upper(operands.v->magnitudes.total[index]));
        values.error.push_back(Upper(operands.v->magnitudes.error[index]));
        values.distance.push_back(Upper::of(N(*element - mixed)));
    }
}

template <class N>
Scoring scoring_of(const Model& model, const Attention<N>& attention) {
    const N scale = abs(attention.scale);
    return Scoring(model, attention.q->width, Upper::of(scale), Upper::of(N(sqrt(scale))),
                   attention.softcap ? Upper::of(*attention.softcap) : Upper());
}

// A row's weights go to all columns; a hidden one's is exactly 0.
template <class N>
void put_weights(const Attended<N>& row, std::size_t columns, const RowBound* bound, NoBound reason,
                 BoundedAttention<N>& result) {
    std::size_t n = 0;
    for (std::size_t column = 0; column < columns; ++column) {
        const bool seen = n < row.seen.columns.size() && row.seen.columns[n] == column;
        result.weights.push_back(seen ? row.weights[n] : N(0));
        Upper error;
        if (reason != NoBound::none) {
            error = Upper::infinity();
        } else if (seen && bound != nullptr) {
            error = bound->weight(n);
        }
        result.weights_allowed.push(error,
                                    reason == NoBound::none && !error.finite() ? NoBound::unbounded : reason);
        if (seen) ++n;
    }
}

}  // namespace

template <class N>
BoundedAttention<N> bound_attention(const Model& model, const Attention<N>& attention,
                                    const Operands& operands, bool with_weights) {
    const Heads<N>& q = *attention.q;
    const Heads<N>& v = *attention.v;
    const std::size_t columns = attention.visibility->columns();
    const Scoring scoring = scoring_of(model, attention);
    BoundedAttention<N> result;
    result.mixed = Heads<N>(q.batch, q.heads, q.rows, v.width);
    Attended<N> row;
    RowFacts facts;
    Values values;
    for (std::size_t b = 0; b < q.batch; ++b)
        for (std::size_t h = 0; h < q.heads; ++h)
            for (std::size_t i = 0; i < q.rows; ++i) {
                attend(attention, b, h, i, Formulation::definition, row);
                std::copy(row.mixed.begin(), row.mixed.end(), result.mixed.at(b, h, i));
                if (row.seen.columns.empty()) {
                    // Exactly 0, unless a kernel that adds finite biases would see the row after all.
                    const NoBound reason =
                        row.seen.hidden_by_finite_bias ? NoBound::hidden_by_finite_bias : NoBound::none;
                    const Upper error = reason == NoBound::none ? Upper() : Upper::infinity();
                    for (std::size_t f = 0; f < v.width; ++f)
                        result.mixed_allowed.push(error, reason);
                    if (with_weights) put_weights<N>(row, columns, nullptr, reason, result);
                    continue;
                }
                const std::size_t group = attention.group_of(h);
                const std::size_t q_first = ((b * q.heads + h) * q.rows + i) * q.width;
                const std::size_t k_head = (b * attention.k->heads + group) * attention.k->rows;
                const NoBound refused =
                    row_facts(model, scoring, attention, operands, q_first, k_head, row, facts);
                if (refused != NoBound::none) {
                    for (std::size_t f = 0; f < v.width; ++f)
                        result.mixed_allowed.push(Upper::infinity(), refused);
                    if (with_weights) put_weights<N>(row, columns, nullptr, refused, result);
                    continue;
                }
                const RowBound bound(model, facts);
                for (std::size_t f = 0; f < v.width; ++f) {
                    values_of(attention, operands, b, group, f, row, values);
                    NoBound reason = NoBound::none;
                    const Upper error = bound.mix(values, reason);
                    result.mixed_allowed.push(error, reason);
                }
                if (with_weights) put_weights(row, columns, &bound, bound.reason(), result);
            }
    return result;
}

template <class N>
BoundedAttention<N> attend_again(const Attention<N>& attention, bool with_weights) {
    const Heads<N>& q = *attention.q;
    BoundedAttention<N> result;
    result.mixed = Heads<N>(q.batch, q.heads, q.rows, attention.v->width);
    Attended<N> row;
    for (std::size_t b = 0; b < q.batch; ++b)
        for (std::size_t h = 0; h < q.heads; ++h)
            for (std::size_t i = 0; i < q.rows; ++i) {
                attend(attention, b, h, i, Formulation::second, row);
                std::copy(row.mixed.begin(), row.mixed.end(), result.mixed.at(b, h, i));
                if (with_weights)
                    put_weights<N>(row, attention.visibility->columns(), nullptr, NoBound::none, result);
            }
    return result;
}

#define ATTEST_REFERENCE_ATTENTION(N)                                                                   \
    template BoundedAttention<N> bound_attention<N>(const Model&, const Attention<N>&, const Operands&, \
                                                    bool);                                              \
    template BoundedAttention<N> attend_again<N>(const Attention<N>&, bool);

ATTEST_REFERENCE_ATTENTION(Real)
ATTEST_REFERENCE_ATTENTION(Real100)
ATTEST_REFERENCE_ATTENTION(Real400)
ATTEST_REFERENCE_ATTENTION(Real800)

}  // namespace attest::reference
