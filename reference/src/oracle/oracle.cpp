#include "oracle/oracle.hpp"

#include <algorithm>

namespace attest::reference {

template <class N>
N dot(const N* a, const N* b, std::size_t length, Formulation formulation) {
    N sum = 0;
    if (formulation == Formulation::definition) {
        for (std::size_t i = 0; i < length; ++i)
            sum += a[i] * b[i];
    } else {
        for (std::size_t i = length; i-- > 0;)
            sum += a[i] * b[i];
    }
    return sum;
}

// The rotary embedding of Su et al., "RoFormer" (2021), §3.4.2: pair i of position p turns by p·base^(−2i/w).
template <class N>
Turns<N> turn_by(const Rope& rope, std::span<const std::int64_t> positions, Formulation formulation) {
    Turns<N> turns;
    turns.pairs = rope.width / 2;
    turns.cosines.reserve(positions.size() * turns.pairs);
    turns.sines.reserve(positions.size() * turns.pairs);
    std::vector<N> frequencies;
    const N base = rope.base;
    for (std::size_t i = 0; i < turns.pairs; ++i) {
        const N exponent = N(2 * i) / N(rope.width);
        frequencies.push_back(formulation == Formulation::definition ? N(1 / pow(base, exponent))
                                                                     : N(exp(-exponent * log(base))));
    }
    for (const std::int64_t position : positions)
        for (const N& frequency : frequencies) {
            const N angle = N(position) * frequency;
            if (formulation == Formulation::definition) {
                turns.cosines.push_back(cos(angle));
                turns.sines.push_back(sin(angle));
            } else {
                const N half = tan(angle / 2);
                const N square = half * half;
                turns.cosines.push_back((1 - square) / (1 + square));
                turns.sines.push_back(2 * half / (1 + square));
            }
        }
    return turns;
}

template <class N>
void rotate(N* features, const Rope& rope, const N* cosines, const N* sines) {
    for (std::size_t i = 0; i < rope.width / 2; ++i) {
        N& a = features[first_of(rope, i)];
        N& b = features[second_of(rope, i)];
        const N turned = a * cosines[i] - b * sines[i];
        b = a * sines[i] + b * cosines[i];
        a = turned;
    }
}

namespace {

// The scores of one row, in the order of the dump format: scale, softcap, bias.
template <class N>
void score(const Attention<N>& attention, Windows<N>& windows, const N* q, std::size_t first,
           Formulation formulation, Attended<N>& row) {
    row.dots.clear();
    row.scaled.clear();
    row.capped.clear();
    row.scores.clear();
    for (std::size_t n = 0; n < row.seen.columns.size(); ++n) {
        const N* const k = windows.k.read(first + row.seen.columns[n]);
        row.dots.push_back(dot(q, k, attention.q.width, formulation));
        row.scaled.push_back(row.dots.back() * attention.scale);
        N value = row.scaled.back();
        if (attention.softcap) {
            value = *attention.softcap * tanh(value / *attention.softcap);
            row.capped.push_back(value);
        }
        if (!row.seen.biases.empty()) value += row.seen.biases[n];
        row.scores.push_back(value);
        advance(attention.progress, attention.q.width);
    }
}

// Softmax and mix as they are defined, the largest score taken out first.
template <class N>
void mix_by_definition(const Attention<N>& attention, Windows<N>& windows, std::size_t first,
                       Attended<N>& row) {
    row.maximum = *std::max_element(row.scores.begin(), row.scores.end());
    row.denominator = 0;
    for (const N& value : row.scores) {
        row.weights.push_back(exp(value - row.maximum));
        row.denominator += row.weights.back();
    }
    for (std::size_t n = 0; n < row.weights.size(); ++n) {
        row.weights[n] /= row.denominator;
        const N* const v = windows.v.read(first + row.seen.columns[n]);
        for (std::size_t f = 0; f < row.mixed.size(); ++f)
            row.mixed[f] += row.weights[n] * v[f];
        advance(attention.progress, row.mixed.size());
    }
}

// Softmax and mix in one walk (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018,
// algorithm 3), from the last key to the first; the weights are formed from the walk's result.
template <class N>
void mix_in_one_walk(const Attention<N>& attention, Windows<N>& windows, std::size_t first,
                     Attended<N>& row) {
    const std::size_t count = row.scores.size();
    row.maximum = row.scores.back();
    row.denominator = 0;
    for (std::size_t n = count; n-- > 0;) {
        if (row.scores[n] > row.maximum) {
            const N shrink = exp(row.maximum - row.scores[n]);
            row.denominator *= shrink;
            for (N& value : row.mixed)
                value *= shrink;
            row.maximum = row.scores[n];
        }
        const N weight = exp(row.scores[n] - row.maximum);
        row.denominator += weight;
        const N* const v = windows.v.read(first + row.seen.columns[n]);
        for (std::size_t f = 0; f < row.mixed.size(); ++f)
            row.mixed[f] += weight * v[f];
        advance(attention.progress, row.mixed.size());
    }
    for (N& value : row.mixed)
        value /= row.denominator;
    const N log_sum = row.maximum + log(row.denominator);
    for (const N& value : row.scores)
        row.weights.push_back(exp(value - log_sum));
}

}  // namespace

template <class N>
void attend(const Attention<N>& attention, Windows<N>& windows, std::size_t batch, std::size_t head,
            std::size_t row, Formulation formulation, Attended<N>& attended) {
    attention.visibility->see(batch, head, row, attended.seen);
    attended.weights.clear();
    attended.mixed.assign(attention.v.width, N(0));
    attended.maximum = 0;
    attended.denominator = 0;
    const std::size_t first = attention.k.index(batch, attention.group_of(head), 0);
    const N* const q = windows.q.read(attention.q.index(batch, head, row));
    score(attention, windows, q, first, formulation, attended);
    if (attended.scores.empty()) return;
    if (formulation == Formulation::definition) {
        mix_by_definition(attention, windows, first, attended);
    } else {
        mix_in_one_walk(attention, windows, first, attended);
    }
}

#define ATTEST_REFERENCE_ORACLE(N)                                                                   \
    template N dot<N>(const N*, const N*, std::size_t, Formulation);                                 \
    template Turns<N> turn_by<N>(const Rope&, std::span<const std::int64_t>, Formulation);           \
    template void rotate<N>(N*, const Rope&, const N*, const N*);                                    \
    template void attend<N>(const Attention<N>&, Windows<N>&, std::size_t, std::size_t, std::size_t, \
                            Formulation, Attended<N>&);

ATTEST_REFERENCE_ORACLE(Real)
ATTEST_REFERENCE_ORACLE(Real100)
ATTEST_REFERENCE_ORACLE(Real400)
ATTEST_REFERENCE_ORACLE(Real800)

}  // namespace attest::reference
