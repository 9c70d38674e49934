// What is judged: the inputs of an attention computation, all of them taken as exact.
//
// Every input is a span of doubles in C order (slowest dimension first); a float or a 16-bit value converts
// to double exactly. The spans are borrowed: they must outlive the call they are passed to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attest::reference {

enum class RopePairs : std::uint8_t { interleaved, half };  // (2i, 2i+1), or (i, i + width/2)

// Rope is the rotation of position p: pair i turns by p·base^(−2i/width). Width 0: nothing is rotated.
struct Rope {
    RopePairs pairs = RopePairs::interleaved;
    std::size_t width = 0;  // even, at most the head width; features from there on pass through
    double base = 10000;
};

// Layer is a whole attention layer: x is projected to q, k and v, the heads of q and k are rotated, every
// query sees the keys up to its own position, query head h reads key/value head h / (heads / kv_heads), and
// the mixed heads are projected by wo.
//
// Shapes: x [batch, length, width]; wq [heads·head_width, width]; wk, wv [kv_heads·head_width, width];
// wo [width, heads·head_width].
struct Layer {
    std::size_t batch = 0;
    std::size_t length = 0;
    std::size_t width = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_width = 0;
    Rope rope{};
    std::uint64_t first_position = 0;  // row t stands at first_position + t
    std::span<const double> x{}, wq{}, wk{}, wv{}, wo{};
};

// Rows selects rows [first, first + count) of the length; count is cut at the end. Earlier rows still take
// part as keys and values, but no answer is formed for them.
struct Rows {
    std::size_t first = 0;
    std::size_t count = SIZE_MAX;
};

// Broadcast is a tensor that spreads over [batch, heads, rows, columns] by the usual rule: shapes aligned at
// the right, extent 1 repeated. Columns beyond the last extent, unless it is 1, are hidden.
struct Broadcast {
    std::vector<std::size_t> shape{};
    std::span<const double> values{};
};

// Core is attention alone. Columns 0 … past−1 are the past keys and values, the given ones follow.
//
// Shapes: q [batch, heads, length, width]; k [batch, kv_heads, keys, width]; v [batch, kv_heads, keys,
// value_width]; past_k, past_v [batch, kv_heads, past, ·].
struct Core {
    std::size_t batch = 0;
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t length = 0;
    std::size_t keys = 0;
    std::size_t past = 0;
    std::size_t width = 0;
    std::size_t value_width = 0;
    std::span<const double> q{}, k{}, v{}, past_k{}, past_v{};
    bool causal =
        false;  // row i sees column j when j ≤ i + offset; offset = past, else kv_lengths[b] − length, else 0
    std::optional<Broadcast> mask{};  // nonzero = visible
    // Added to the scores. −∞, or at most −Ω/2 of the arithmetic or of the bias's own type, hides.
    std::optional<Broadcast> bias{};
    double bias_largest = 0;                 // Ω of the type the bias came in; 0: that of the arithmetic
    std::vector<std::int64_t> kv_lengths{};  // [batch] or empty: columns from there on are hidden
    std::optional<double> scale{};           // 1/√width when absent
    std::optional<double> softcap{};         // c·tanh(score/c), before mask and bias
};

// Rotary is the rotation alone, of x [batch, heads, length, width].
struct Rotary {
    std::size_t batch = 0;
    std::size_t heads = 0;
    std::size_t length = 0;
    std::size_t width = 0;
    Rope rope{};
    std::span<const double> x{};
    std::vector<std::int64_t> positions{};  // [batch, length], or empty: 0, 1, …
    // Either the rotation's own cosines and sines, [table_rows, rope.width/2] looked up by position or, with
    // table_rows = 0, [batch, length, rope.width/2] used as they are; or empty: the angles of rope.base.
    std::span<const double> cosines{}, sines{};
    std::size_t table_rows = 0;
};

}  // namespace attest::reference
