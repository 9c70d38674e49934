// A suspected kernel: how it departs from the right one. Every member's first value is the right way.
#pragma once

#include <attest/reference/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace attest::reference::diagnosis {

using Problem = std::variant<Layer, Core, Rotary>;

enum class HeadMap : std::uint8_t { told, modulo, first, next };
enum class Frontier : std::uint8_t { told, open, causal, top_left, bottom_right, one_more, one_less };
enum class Masking : std::uint8_t { told, ignored, inverted, added, scores_zeroed, after_softmax };
enum class Biasing : std::uint8_t { told, ignored, doubled, negated, scaled };
enum class Capping : std::uint8_t { told, ignored, after_bias, over_hidden, before_scale, without_factor };
enum class Softmax : std::uint8_t { told, undivided, base_two, uniform, empty_slot };
enum class Lengths : std::uint8_t { told, ignored, one_more, one_less };
enum class Past : std::uint8_t { told, ignored, behind };
enum class Unseeing : std::uint8_t { zero, not_a_number, mean };
enum class Projection : std::uint8_t { wq, wk, wv };

// Turning is how one operand is rotated.
struct Turning {
    bool off = false;
    bool twice = false;
    bool backwards = false;
    bool crossed = false;        // cosine and sine exchanged
    bool other_pairs = false;    // interleaved for half, half for interleaved
    bool whole_head = false;     // the whole head, and its width in the exponent
    bool by_head_width = false;  // the head's width in the exponent
    bool exponent_halved = false;
    bool from_zero = false;   // first_position forgotten
    bool newest_off = false;  // the last row is not rotated
    std::int64_t shift = 0;   // positions too far
    std::optional<double> base{};

    friend bool operator==(const Turning&, const Turning&) = default;
};

struct Suspect {
    HeadMap heads = HeadMap::told;
    std::optional<HeadMap> value_heads{};  // where the values' differ from the keys'
    Frontier frontier = Frontier::told;
    Masking masking = Masking::told;
    Biasing biasing = Biasing::told;
    Capping capping = Capping::told;
    Softmax softmax = Softmax::told;
    Lengths lengths = Lengths::told;
    Past past = Past::told;
    Unseeing unseeing = Unseeing::zero;
    std::optional<double> scale{};
    bool last_key_dropped = false, first_key_dropped = false, last_key_twice = false;
    bool stale_key = false, stale_value = false;  // the newest visible one is the one before it
    bool batch_zero = false;                      // every batch reads the keys and values of the first
    bool keys_for_values = false;                 // keys and values exchanged

    // [batch, rows, heads · width] taken for [batch, heads, rows, width] without moving anything.
    bool q_flat = false, k_flat = false, v_flat = false, y_flat = false;

    // Keys and values handed over as [batch, rows, heads, width], though computed rightly.
    bool keys_laid_flat = false, values_laid_flat = false;

    // Of a layer.
    Turning q_turning{}, k_turning{};
    bool values_turned = false;
    Projection q_from = Projection::wq, k_from = Projection::wk, v_from = Projection::wv;
    bool wq_transposed = false, wk_transposed = false, wv_transposed = false, wo_transposed = false;
    bool width_first = false;  // feature f of head h is row f·heads + h of the projection
    bool unprojected = false;  // wo left out

    double factor = 1;  // on the answer y
};

// Fault is one way to depart.
struct Fault {
    const char* text;
    int group;   // two faults of one group are not planted together
    bool pairs;  // whether it is tried together with others
    Suspect (*plant)(Suspect, const Problem&);
    bool (*applies)(const Problem&);
};

// faults gives the suspects, from the plain to the far-fetched.
[[nodiscard]] const std::vector<Fault>& faults();

}  // namespace attest::reference::diagnosis
