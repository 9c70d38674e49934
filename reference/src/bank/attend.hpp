// One row as a wrong kernel attends it, in any number type.
#pragma once

#include "bank/scene.hpp"
#include "oracle/vectors.hpp"
#include "oracle/visibility.hpp"
#include "product_of.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attest::reference {

// Operated is attention's own part of a scene.
template <class N>
struct Operated {
    std::size_t batch = 0;
    Heads<N> q;
    Vectors<N> k, v;
    N scale = 0;
    std::optional<N> softcap;
    Visibility visibility;
};

// The key and the value a kernel reads for the n-th of the columns it sees.
struct Read {
    std::size_t key, value;
};
inline Read read_of(std::optional<Wrong> wrong, const std::vector<std::size_t>& at, std::size_t n) {
    Read read{at[n], at[n]};
    const bool newest = n + 1 == at.size() && at[n] > 0;
    if (wrong == Wrong::one_stale_key && newest) --read.key;
    if (wrong == Wrong::last_value_stale && newest) --read.value;
    return read;
}

template <class N>
N scale_of(const Operated<N>& operated, std::optional<Wrong> wrong) {
    using std::sqrt;
    if (wrong == Wrong::unscaled_scores) return 1;
    if (wrong != Wrong::scale_of_width_less_one) return operated.scale;
    const auto width = static_cast<double>(operated.q.width);
    return operated.scale * N(sqrt(N(N(width) / N(width - 1))));
}

// in_half rounds to half precision, to nearest and ties to even. What is too large becomes the largest half,
// so that a dump of large numbers still shows a kernel that answers numbers.
inline double in_half(double x) {
    constexpr double largest = 65504;
    const double held = std::clamp(x, -largest, largest);
    int exponent = 0;
    std::frexp(held, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
    return std::nearbyint(held / step) * step;
}

// kept gives a row of keys or values as the kernel's cache holds it: the row itself, or what it makes in
// `room`.
template <class N>
const N* kept(std::optional<Wrong> wrong, const N* row, std::size_t width, std::vector<N>& room) {
    if (wrong != Wrong::cache_in_half) return row;
    room.resize(width);
    std::transform(row, row + width, room.begin(),
                   [](const N& x) { return N(in_half(static_cast<double>(x))); });
    return room.data();
}

// Row is what a kernel makes of one query: weights by column, one more than there are for a key past the end.
template <class N>
struct WrongRow {
    std::vector<N> weights, mixed;
};

// What keys and values are read through.
template <class N>
struct WrongWindows {
    Window<N> k, v;
    explicit WrongWindows(const Operated<N>& operated)
        : k(operated.k, again(operated)), v(operated.v, again(operated)) {}

  private:
    static bool again(const Operated<N>& operated) {
        return operated.q.heads * operated.q.rows > operated.k.heads;
    }
};

// attend_wrong attends one row; columns past the end hold an empty slot's zeros.
template <class N>
void attend_wrong(const Operated<N>& operated, WrongWindows<N>& windows, std::optional<Wrong> wrong,
                  const N& scale, const N* q, std::size_t batch, std::size_t head, const Seen& seen,
                  WrongRow<N>& row) {
    using std::exp;
    using std::tanh;
    const std::size_t columns = operated.k.rows, width = operated.q.width;
    const std::size_t kv_heads = operated.k.heads;
    const std::size_t group =
        wrong == Wrong::wrong_head_group ? head % kv_heads : head / (operated.q.heads / kv_heads);
    const std::vector<N> empty(std::max(width, operated.v.width), N(0));

    std::vector<std::size_t> at = seen.columns;
    if (wrong == Wrong::last_key_dropped && !at.empty()) at.pop_back();
    if (wrong == Wrong::frontier_off_by_one) at.push_back(seen.columns.empty() ? 0 : seen.columns.back() + 1);

    row.weights.assign(columns + 1, N(0));
    row.mixed.assign(operated.v.width, N(0));
    if (at.empty()) return;
    std::vector<N> scores, room;
    for (std::size_t n = 0; n < at.size(); ++n) {
        const std::size_t key = read_of(wrong, at, n).key;
        const N* const k = key < columns ? windows.k.read(operated.k.index(batch, group, key)) : empty.data();
        N score = product_of(q, kept(wrong, k, width, room), width) * scale;
        if (operated.softcap) score = *operated.softcap * N(tanh(N(score / *operated.softcap)));
        if (n < seen.biases.size()) score += N(seen.biases[n]);
        scores.push_back(wrong == Wrong::uniform_weights ? N(0) : score);
    }
    const N maximum = *std::max_element(scores.begin(), scores.end());
    N denominator = 0;
    for (N& score : scores) {
        if (wrong == Wrong::exponential_in_half)
            score = N(in_half(std::exp(in_half(static_cast<double>(N(score - maximum))))));
        else
            score = exp(N(score - maximum));
        denominator += score;
    }
    for (std::size_t n = 0; n < at.size(); ++n) {
        const N weight = scores[n] / denominator;
        const std::size_t value = read_of(wrong, at, n).value;
        const N* v = value < columns ? windows.v.read(operated.v.index(batch, group, value)) : empty.data();
        v = kept(wrong, v, row.mixed.size(), room);
        row.weights[at[n]] = weight;
        for (std::size_t f = 0; f < row.mixed.size(); ++f)
            row.mixed[f] += weight * v[f];
    }
}

}  // namespace attest::reference
