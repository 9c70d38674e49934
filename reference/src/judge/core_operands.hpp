// The operands of attention alone, in any number type.
#pragma once

#include "oracle/oracle.hpp"

#include <attest/reference/arithmetic.hpp>
#include <attest/reference/problem.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace attest::reference {

// A bias at or below this hides its key: half of what the arithmetic or the bias's own type holds.
inline double lowest_bias(const Core& core, const Arithmetic& arithmetic) noexcept {
    double largest = format_of(arithmetic.arithmetic).largest;
    if (core.bias_largest > 0) largest = std::min(largest, core.bias_largest);
    return -largest / 2;
}

// What a core lends: the queries of the rows judged, all keys, all values.
[[nodiscard]] inline Lent queries_of(const Core& core, Rows rows) {
    return {.batch = core.batch,
            .heads = core.heads,
            .rows = rows.count,
            .width = core.width,
            .past = {},
            .given = core.q,
            .past_rows = 0,
            .given_rows = core.length,
            .first = rows.first};
}
// What stands in every column, past ones first.
[[nodiscard]] inline Lent columns_of(const Core& core, std::size_t width, std::span<const double> past,
                                     std::span<const double> given) {
    return {.batch = core.batch,
            .heads = core.kv_heads,
            .rows = core.past + core.keys,
            .width = width,
            .past = past,
            .given = given,
            .past_rows = core.past,
            .given_rows = core.keys,
            .first = 0};
}
[[nodiscard]] inline Lent keys_of(const Core& core) {
    return columns_of(core, core.width, core.past_k, core.k);
}
[[nodiscard]] inline Lent values_of(const Core& core) {
    return columns_of(core, core.value_width, core.past_v, core.v);
}

// copied gives them one after the other; a number that is not finite is 0.
[[nodiscard]] inline std::vector<double> copied(const Lent& lent) {
    std::vector<double> all;
    all.reserve(lent.size() * lent.width);
    for (std::size_t n = 0; n < lent.size(); ++n)
        for (const double value : lent[n])
            all.push_back(finite_or_0(value));
    return all;
}

// attention_of borrows the core and the visibility.
template <class N>
[[nodiscard]] Attention<N> attention_of(const Core& core, Rows rows, const Visibility& visibility,
                                        Progress* progress) {
    Attention<N> attention;
    attention.q = Vectors<N>(queries_of(core, rows));
    attention.k = Vectors<N>(keys_of(core));
    attention.v = Vectors<N>(values_of(core));
    attention.scale = core.scale ? N(*core.scale) : N(1 / sqrt(N(core.width)));
    if (core.softcap) attention.softcap = N(*core.softcap);
    attention.visibility = &visibility;
    attention.progress = progress;
    return attention;
}

}  // namespace attest::reference
