#include "judge/attention.hpp"

#include "bound/row.hpp"
#include "parallel.hpp"

#include <algorithm>

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

// A row's weights go to all columns, from `first` on; a hidden one's is exactly 0.
template <class N>
void put_weights(const Attended<N>& row, std::size_t columns, const RowBound* bound, NoBound reason,
                 std::size_t first, BoundedAttention<N>& result) {
    std::size_t n = 0;
    for (std::size_t column = 0; column < columns; ++column) {
        const bool seen = n < row.seen.columns.size() && row.seen.columns[n] == column;
        if (seen) result.weights[first + column] = row.weights[n];
        Upper error;
        if (reason != NoBound::none) {
            error = Upper::infinity();
        } else if (seen && bound != nullptr) {
            error = bound->weight(n);
        }
        result.weights_allowed.put(first + column, error,
                                   reason == NoBound::none && !error.finite() ? NoBound::unbounded : reason);
        if (seen) ++n;
    }
}

// Rows are [batch, heads, rows] in C order.
template <class N>
struct Place {
    std::size_t b, h, i;
    Place(const Heads<N>& q, std::size_t row)
        : b(row / q.rows / q.heads), h(row / q.rows % q.heads), i(row % q.rows) {}
};

template <class N>
BoundedAttention<N> empty_result(const Attention<N>& attention, bool with_weights) {
    const Heads<N>& q = *attention.q;
    BoundedAttention<N> result;
    result.mixed = Heads<N>(q.batch, q.heads, q.rows, attention.v->width);
    if (with_weights)
        result.weights.resize(q.batch * q.heads * q.rows * attention.visibility->columns(), N(0));
    result.weights_allowed = Allowed(result.weights.size());
    return result;
}

// RowJudge bounds one row after another, with what it needs for that kept between them.
template <class N>
class RowJudge {
  public:
    RowJudge(const Model& model, const Attention<N>& attention, const Operands& operands, bool with_weights)
        : model_(model),
          attention_(attention),
          operands_(operands),
          with_weights_(with_weights),
          scoring_(scoring_of(model, attention)) {}

    void judge(std::size_t index, BoundedAttention<N>& result) {
        const Heads<N>& q = *attention_.q;
        const Place<N> place(q, index);
        const std::size_t columns = attention_.visibility->columns(), width = attention_.v->width;
        attend(attention_, place.b, place.h, place.i, Formulation::definition, row_);
        std::copy(row_.mixed.begin(), row_.mixed.end(),
                  result.mixed.data.begin() + static_cast<std::ptrdiff_t>(index * width));
        const auto no_bound = [&](Upper error, NoBound reason) {
            for (std::size_t f = 0; f < width; ++f)
                result.mixed_allowed.put(index * width + f, error, reason);
            if (with_weights_) put_weights<N>(row_, columns, nullptr, reason, index * columns, result);
        };
        if (row_.seen.columns.empty()) {
            // Exactly 0, unless a kernel that adds finite biases would see the row after all.
            const bool may_see = row_.seen.hidden_by_finite_bias;
            return no_bound(may_see ? Upper::infinity() : Upper(),
                            may_see ? NoBound::hidden_by_finite_bias : NoBound::none);
        }
        const std::size_t group = attention_.group_of(place.h);
        const std::size_t k_head = (place.b * attention_.k->heads + group) * attention_.k->rows;
        const NoBound refused =
            row_facts(model_, scoring_, attention_, operands_, index * q.width, k_head, row_, facts_);
        if (refused != NoBound::none) return no_bound(Upper::infinity(), refused);
        const RowBound bound(model_, facts_);
        for (std::size_t f = 0; f < width; ++f) {
            values_of(attention_, operands_, place.b, group, f, row_, values_);
            NoBound reason = NoBound::none;
            const Upper error = bound.mix(values_, reason);
            result.mixed_allowed.put(index * width + f, error, reason);
        }
        if (with_weights_) put_weights(row_, columns, &bound, bound.reason(), index * columns, result);
    }

  private:
    const Model& model_;
    const Attention<N>& attention_;
    const Operands& operands_;
    bool with_weights_;
    Scoring scoring_;
    Attended<N> row_;
    RowFacts facts_;
    Values values_;
};

void advance(Progress* progress, std::size_t keys) {
    if (progress != nullptr) progress->done += keys;
}

}  // namespace

template <class N>
BoundedAttention<N> bound_attention(const Model& model, const Attention<N>& attention,
                                    const Operands& operands, bool with_weights, Labour labour) {
    const Heads<N>& q = *attention.q;
    BoundedAttention<N> result = empty_result(attention, with_weights);
    result.mixed_allowed = Allowed(result.mixed.data.size());
    parallel(q.batch * q.heads * q.rows, labour.threads, [&](std::size_t begin, std::size_t end) {
        RowJudge<N> judge(model, attention, operands, with_weights);
        for (std::size_t row = begin; row < end; ++row) {
            judge.judge(row, result);
            advance(labour.progress, attention.visibility->columns());
        }
    });
    return result;
}

template <class N>
BoundedAttention<N> attend_again(const Attention<N>& attention, bool with_weights, Labour labour) {
    const Heads<N>& q = *attention.q;
    BoundedAttention<N> result = empty_result(attention, with_weights);
    const std::size_t columns = attention.visibility->columns(), width = attention.v->width;
    parallel(q.batch * q.heads * q.rows, labour.threads, [&](std::size_t begin, std::size_t end) {
        Attended<N> row;
        for (std::size_t index = begin; index < end; ++index) {
            const Place<N> place(q, index);
            attend(attention, place.b, place.h, place.i, Formulation::second, row);
            std::copy(row.mixed.begin(), row.mixed.end(),
                      result.mixed.data.begin() + static_cast<std::ptrdiff_t>(index * width));
            if (with_weights) put_weights<N>(row, columns, nullptr, NoBound::none, index * columns, result);
            advance(labour.progress, columns);
        }
    });
    return result;
}

#define ATTEST_REFERENCE_ATTENTION(N)                                                                   \
    template BoundedAttention<N> bound_attention<N>(const Model&, const Attention<N>&, const Operands&, \
                                                    bool, Labour);                                      \
    template BoundedAttention<N> attend_again<N>(const Attention<N>&, bool, Labour);

ATTEST_REFERENCE_ATTENTION(Real)
ATTEST_REFERENCE_ATTENTION(Real100)
ATTEST_REFERENCE_ATTENTION(Real400)
ATTEST_REFERENCE_ATTENTION(Real800)

}  // namespace attest::reference
