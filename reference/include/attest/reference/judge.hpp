// The verdict's two numbers for every element of an answer: what it is exactly, and how far off a correct
// computation in the declared arithmetic may be.
//
//   Layer layer{.batch = B, .length = T, .width = D, .heads = H, .kv_heads = Hkv, .head_width = d,
//               .rope = {RopePairs::interleaved, 4, 10000.0}, .first_position = 0,
//               .x = x, .wq = wq, .wk = wk, .wv = wv, .wo = wo};
//   auto judged = judge(layer, Arithmetic::attest<float>());
//   if (!judged) …                                          // Error: what makes the inputs unusable
//   Comparison c = compare(judged->y, got);                 // compare.hpp; got as doubles, shape [B, T, D]
//   if (!c.holds()) …                                       // c.worst has the place, got, want, error,
//   allowed
//
//   judge(layer, arithmetic, {.rows = {T - 1, 1}})          // the last row alone, of however long a prefix
//   judge(layer, arithmetic, {.y = false})                  // keys and values alone: no attention is
//   computed
#pragma once

#include <attest/reference/arithmetic.hpp>
#include <attest/reference/error.hpp>
#include <attest/reference/exact.hpp>
#include <attest/reference/problem.hpp>
#include <attest/reference/progress.hpp>

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace attest::reference {

// Judged holds one answer tensor: shape, exact values in C order, and the error allowed to each, rounded up;
// it covers what rounding the exact value to an Exact lost.
// Where no bound can be proved `allowed` is +infinity and `no_bound` says why at the first such element. An
// answer not asked for is empty, with an empty shape.
struct Judged {
    std::string name;
    std::vector<std::size_t> shape;
    std::vector<Exact> exact;
    std::vector<double> allowed;
    NoBound no_bound = NoBound::none;
    std::size_t no_bound_at = 0;  // flat index of that element
    std::size_t row_axis = 0;     // the axis that counts rows …
    std::size_t first_row = 0;    // … and the row its index 0 stands for
};

// Doubt is how the oracle checks itself.
enum class Doubt : unsigned char {
    full,  // everything again at twice the digits and in a second formulation; the difference widens the
           // bound
    none,  // one evaluation at fifty digits: for callers that have checked the same inputs already
};

struct LayerOptions {
    Rows rows{};
    bool y = true;
    bool keys = true;
    bool values = true;
    bool weights = false;
    Doubt doubt = Doubt::full;
    unsigned threads = 1;  // how many work on it; the numbers are the same
    Progress* progress = nullptr;
};

// The answers of a layer, restricted to the selected rows: y [batch, rows, width]; keys (rotated) and values
// [batch, kv_heads, rows, head_width]; weights [batch, heads, rows, last selected row + 1].
struct LayerJudgement {
    Judged y, keys, values, weights;
    double disagreement = 0;  // worst difference of the two evaluations over the error allowed
};

struct CoreOptions {
    Rows rows{};
    bool weights = false;
    bool present = true;  // present_k and present_v: 24 bytes an element, all else is far smaller
    Doubt doubt = Doubt::full;
    unsigned threads = 1;  // how many work on it; the numbers are the same
    Progress* progress = nullptr;
};

// The answers of attention alone: y [batch, heads, rows, value_width]; weights [batch, heads, rows, past +
// keys]; on request present_k, present_v [batch, kv_heads, past + keys, ·], copies, so that only a narrower
// arithmetic may change them.
struct CoreJudgement {
    Judged y, weights, present_k, present_v;
    double disagreement = 0;
    double bias_lowest = 0;  // a bias at or below this hid its key
};

struct RotaryJudgement {
    Judged y;
    double disagreement = 0;
};

// judge forms the exact answers and their allowed errors. It refuses with shape_mismatch where a span does
// not fit its shape or the shapes do not fit each other, then non_finite where a number that takes part is
// NaN or infinite, then out_of_range for a rotation that is none; and with disagreement when its two
// evaluations differ by more than a small part of the bound even at eight hundred digits.
//
// Cost: about 30 ns a multiply-add of the exact attention, three times that with Doubt::full; 1 to 5 ns a
// multiply-add of the projections, which are exact integer sums.
[[nodiscard]] std::expected<LayerJudgement, Error> judge(const Layer& layer, const Arithmetic& arithmetic,
                                                         const LayerOptions& options = {});
[[nodiscard]] std::expected<CoreJudgement, Error> judge(const Core& core, const Arithmetic& arithmetic,
                                                        const CoreOptions& options = {});
[[nodiscard]] std::expected<RotaryJudgement, Error> judge(const Rotary& rotary, const Arithmetic& arithmetic,
                                                          Doubt doubt = Doubt::full);

// self_check judges a handful of closed forms (one key, equal keys, orthogonal keys, nothing seen, grouped
// heads, a turn by nothing) and gives a disagreement where an answer is not what it must be. It takes a
// millisecond: a program that judges calls it once.
[[nodiscard]] std::optional<Error> self_check();

}  // namespace attest::reference
