#include "judge/row_judge.hpp"

#include <algorithm>

namespace attest::reference {
namespace {

template <class N>
Scoring scoring_of(const Model& model, const Attention<N>& attention) {
    const N scale = abs(attention.scale);
    return Scoring(model, attention.q.width, Upper::of(scale), Upper::of(N(sqrt(scale))),
                   attention.softcap ? Upper::of(*attention.softcap) : Upper());
}

// Rows are [batch, heads, rows] in C order.
template <class N>
struct Place {
    std::size_t b, h, i;
    Place(const Vectors<N>& q, std::size_t row)
        : b(row / q.rows / q.heads), h(row / q.rows % q.heads), i(row % q.rows) {}
};

template <class N>
void put_mixed(const Attended<N>& row, std::size_t slot, BoundedAttention<N>& result) {
    std::copy(row.mixed.begin(), row.mixed.end(),
              result.mixed.data.begin() + static_cast<std::ptrdiff_t>(slot * row.mixed.size()));
}

// A row's weights go to all columns, from `first` on; a hidden one's is exactly 0.
template <class N>
void put_weights(const Attended<N>& row, std::size_t columns, const RowBound* bound, NoBound reason,
                 std::size_t first, BoundedAttention<N>& result) {
    std::size_t n = 0;
    for (std::size_t column = 0; column < columns; ++column) {
        const bool seen = n < row.seen.columns.size() && row.seen.columns[n] == column;
        result.weights[first + column] = seen ? row.weights[n] : N(0);
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

}  // namespace

template <class N>
RowJudge<N>::RowJudge(const Model& model, const Attention<N>& attention, const Operands& operands,
                      bool with_weights)
    : model_(model),
      attention_(attention),
      operands_(operands),
      with_weights_(with_weights),
      scoring_(scoring_of(model, attention)),
      windows_(attention),
      q_(Magnitudes::of_size(attention.q.width)),
      k_(Magnitudes::of_size(attention.k.width)) {}

// Whether some element of a whole operand is off is told of each of its vectors.
template <class N>
typename RowJudge<N>::Reading RowJudge<N>::read(const Operand& operand, const Vectors<N>& vectors,
                                                std::size_t index, Magnitudes& room) const {
    const Lent* const lent = vectors.lent();
    if (lent == nullptr) return {&operand.magnitudes, index * vectors.width};
    const std::span<const double> doubles = (*lent)[index];
    room.has_error = operand.magnitudes.has_error;
    for (std::size_t f = 0; f < doubles.size(); ++f)
        room.set(f, Upper(doubles[f]), room.has_error ? model_.input(doubles[f]) : Upper());
    return {&room, 0};
}

// The row's scores as the bound needs them: their magnitudes, and δ from everything before them.
template <class N>
NoBound RowJudge<N>::collect_facts(std::size_t q_index, std::size_t first_key) {
    const std::size_t count = row_.seen.columns.size();
    facts_.span = {
        .seen = count, .last = row_.seen.columns.back() + 1, .total = attention_.visibility->total()};
    facts_.gaps.clear();
    facts_.scores.clear();
    facts_.deltas.clear();
    facts_.weights.clear();
    if (const NoBound reason = operands_.q->reasons[q_index]; reason != NoBound::none) return reason;
    const Reading q = read(*operands_.q, attention_.q, q_index, q_);
    facts_.denominator = Real(row_.denominator);
    facts_.maximum = Upper::of(row_.maximum);
    for (std::size_t n = 0; n < count; ++n) {
        Scoring::Steps steps;
        steps.dot = Upper::of(row_.dots[n]);
        steps.scaled = Upper::of(row_.scaled[n]);
        steps.capped = row_.capped.empty() ? steps.scaled : Upper::of(row_.capped[n]);
        steps.biased = Upper::of(row_.scores[n]);
        if (!row_.seen.biases.empty()) {
            steps.has_bias = true;
            steps.bias_error = model_.input(row_.seen.biases[n]);
        }
        const std::size_t key = first_key + row_.seen.columns[n];
        for (const Operand* operand : {operands_.k, operands_.v})
            if (operand->reasons[key] != NoBound::none) return operand->reasons[key];
        const Reading k = read(*operands_.k, attention_.k, key, k_);
        const Bounded delta = scoring_.error(*q.magnitudes, q.first, *k.magnitudes, k.first, steps);
        if (delta.reason != NoBound::none) return delta.reason;
        facts_.gaps.push_back(Real(row_.maximum - row_.scores[n]));
        facts_.scores.push_back(steps.biased);
        facts_.deltas.push_back(delta.error);
        facts_.weights.push_back(Real(row_.weights[n]));
    }
    return NoBound::none;
}

// find_values finds the values seen, once for all their features.
template <class N>
void RowJudge<N>::find_values(std::size_t first_key) {
    lent_.clear();
    indices_.clear();
    for (const std::size_t column : row_.seen.columns) {
        indices_.push_back(first_key + column);
        if (const Lent* const lent = attention_.v.lent()) lent_.push_back((*lent)[indices_.back()].data());
    }
}

// collect_values collects one feature of them.
template <class N>
void RowJudge<N>::collect_values(std::size_t feature) {
    values_.total.clear();
    values_.error.clear();
    values_.distance.clear();
    const N& mixed = row_.mixed[feature];
    values_.mixed = Upper::of(mixed);
    const bool has_error = operands_.v->magnitudes.has_error;
    for (const double* const value : lent_) {
        const Upper error = has_error ? model_.input(value[feature]) : Upper();
        values_.total.push_back(Upper(value[feature]) + error);
        values_.error.push_back(error);
        values_.distance.push_back(Upper::of(N(value[feature] - mixed)));
    }
    if (!lent_.empty()) return;
    const Magnitudes& magnitudes = operands_.v->magnitudes;
    for (const std::size_t index : indices_) {
        const std::size_t element = index * attention_.v.width + feature;
        values_.total.push_back(Upper(magnitudes.total[element]));
        values_.error.push_back(Upper(magnitudes.error[element]));
        values_.distance.push_back(Upper::of(N(attention_.v.kept(index)[feature] - mixed)));
    }
}

template <class N>
void RowJudge<N>::judge(std::size_t index, std::size_t slot, BoundedAttention<N>& result) {
    const Place<N> place(attention_.q, index);
    const std::size_t columns = attention_.visibility->columns(), width = attention_.v.width;
    attend(attention_, windows_, place.b, place.h, place.i, Formulation::definition, row_);
    put_mixed(row_, slot, result);
    const std::size_t seen = row_.seen.columns.size();
    const auto no_bound = [&](Upper error, NoBound reason) {
        for (std::size_t f = 0; f < width; ++f)
            result.mixed_allowed.put(slot * width + f, error, reason);
        if (with_weights_) put_weights<N>(row_, columns, nullptr, reason, slot * columns, result);
        advance(attention_.progress, seen * width);
    };
    if (seen == 0) {
        // Exactly 0, unless a kernel that adds finite biases would see the row after all.
        const bool may_see = row_.seen.hidden_by_finite_bias;
        return no_bound(may_see ? Upper::infinity() : Upper(),
                        may_see ? NoBound::hidden_by_finite_bias : NoBound::none);
    }
    const std::size_t first_key = attention_.k.index(place.b, attention_.group_of(place.h), 0);
    const NoBound refused = collect_facts(index, first_key);
    if (refused != NoBound::none) return no_bound(Upper::infinity(), refused);
    const RowBound bound(model_, facts_);
    find_values(first_key);
    for (std::size_t f = 0; f < width; ++f) {
        collect_values(f);
        NoBound reason = NoBound::none;
        const Upper error = bound.mix(values_, reason);
        result.mixed_allowed.put(slot * width + f, error, reason);
        advance(attention_.progress, seen);
    }
    if (with_weights_) put_weights(row_, columns, &bound, bound.reason(), slot * columns, result);
}

template <class N>
RowAgain<N>::RowAgain(const Attention<N>& attention, bool with_weights)
    : attention_(attention), with_weights_(with_weights), windows_(attention) {}

template <class N>
void RowAgain<N>::attend(std::size_t index, std::size_t slot, BoundedAttention<N>& result) {
    const Place<N> place(attention_.q, index);
    reference::attend(attention_, windows_, place.b, place.h, place.i, Formulation::second, row_);
    put_mixed(row_, slot, result);
    const std::size_t columns = attention_.visibility->columns();
    if (with_weights_) put_weights<N>(row_, columns, nullptr, NoBound::none, slot * columns, result);
}

#define ATTEST_REFERENCE_ROW_JUDGE(N) \
    template class RowJudge<N>;       \
    template class RowAgain<N>;

ATTEST_REFERENCE_ROW_JUDGE(Real)
ATTEST_REFERENCE_ROW_JUDGE(Real100)
ATTEST_REFERENCE_ROW_JUDGE(Real400)
ATTEST_REFERENCE_ROW_JUDGE(Real800)

}  // namespace attest::reference
