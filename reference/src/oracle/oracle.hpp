// Attention from its definition, in any number type.
//
// Every stage exists in two formulations that share no line beyond the loops around them: the definition, and
// a second way to the same number. The judge evaluates the first in fifty digits and the second in a hundred.
//
//     stage        definition                              second
//     projection   exact integer sums (product.hpp)        and their residues, summed from the last
//     rotation     cos and sin of p / base^(2i/w)          by the tangent of half of p·exp(−(2i/w) ln base)
//     attention    exp(score − max), summed and mixed      one walk from the last key, rescaled when the
//     maximum rises
//
// Cost: one multiply-add a term. Nothing is skipped: a caller selects rows.
#pragma once

#include "oracle/vectors.hpp"
#include "oracle/visibility.hpp"

#include <attest/reference/problem.hpp>
#include <attest/reference/progress.hpp>
#include <attest/reference/real.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attest::reference {

enum class Formulation : std::uint8_t { definition, second };

// to_reals converts exactly.
template <class N>
std::vector<N> to_reals(std::span<const double> values) {
    return std::vector<N>(values.begin(), values.end());
}

// dot gives Σ a_i·b_i.
template <class N>
N dot(const N* a, const N* b, std::size_t length, Formulation formulation);

// Turns holds the cosine and sine of every pair for every row, [rows, pairs].
template <class N>
struct Turns {
    std::size_t pairs = 0;
    std::vector<N> cosines, sines;
};

// turn_by gives the turns of the given positions.
template <class N>
Turns<N> turn_by(const Rope& rope, std::span<const std::int64_t> positions, Formulation formulation);

// rotate turns the pairs of one head's features in place: (a, b) → (a·c − b·s, a·s + b·c).
template <class N>
void rotate(N* features, const Rope& rope, const N* cosines, const N* sines);

// first_of and second_of name the two features of a pair.
[[nodiscard]] inline std::size_t first_of(const Rope& rope, std::size_t pair) noexcept {
    return rope.pairs == RopePairs::interleaved ? 2 * pair : pair;
}
[[nodiscard]] inline std::size_t second_of(const Rope& rope, std::size_t pair) noexcept {
    return rope.pairs == RopePairs::interleaved ? 2 * pair + 1 : pair + rope.width / 2;
}

// Attention is everything that attention alone needs: the first rows of q stand for the rows that are judged.
template <class N>
struct Attention {
    Vectors<N> q;  // [batch, heads, rows, width]
    Vectors<N> k;  // [batch, kv_heads, columns, width]
    Vectors<N> v;  // [batch, kv_heads, columns, value_width]
    N scale;
    std::optional<N> softcap;
    const Visibility* visibility = nullptr;
    Progress* progress = nullptr;

    std::size_t group_of(std::size_t head) const noexcept { return head / (q.heads / k.heads); }
};

// Windows is what one thread reads an attention through.
template <class N>
struct Windows {
    Window<N> q, k, v;
    explicit Windows(const Attention<N>& attention)
        : q(attention.q, false), k(attention.k, again(attention)), v(attention.v, again(attention)) {}

  private:
    static bool again(const Attention<N>& attention) {
        return attention.q.heads * attention.q.rows > attention.k.heads;
    }
};

// Attended is one row: its scores at every stage, its weights, its mix. Vectors are by visible column.
template <class N>
struct Attended {
    Seen seen;
    std::vector<N> dots;     // Σ q·k
    std::vector<N> scaled;   // times the scale
    std::vector<N> capped;   // after the softcap; empty without one
    std::vector<N> scores;   // with the bias: the final score
    N maximum;               // of the scores
    N denominator;           // Σ exp(score − maximum)
    std::vector<N> weights;  // sum to 1
    std::vector<N> mixed;    // Σ weight·value, one a feature; 0 when nothing is seen
};

// attend adds the features of every key it scores and of every value it mixes to the attention's progress.
template <class N>
void attend(const Attention<N>& attention, Windows<N>& windows, std::size_t batch, std::size_t head,
            std::size_t row, Formulation formulation, Attended<N>& attended);

}  // namespace attest::reference
