// The operands of attention alone, in any number type.
#pragma once

#include "oracle/oracle.hpp"

#include <attest/reference/arithmetic.hpp>
#include <attest/reference/problem.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attest::reference {

// A bias at or below this hides its key: half of what the arithmetic or the bias's own type holds.
inline double lowest_bias(const Core& core, const Arithmetic& arithmetic) noexcept {
    double largest = format_of(arithmetic.arithmetic).largest;
    if (core.bias_largest > 0) largest = std::min(largest, core.bias_largest);
    return -largest / 2;
}

// Past and given keys (or values) one after the other, in doubles.
inline std::vector<double> joined(const Core& core, std::span<const double> past,
                                  std::span<const double> given, std::size_t width) {
    std::vector<double> all;
    all.reserve(past.size() + given.size());
    for (std::size_t n = 0; n < core.batch * core.kv_heads; ++n) {
        const auto before = past.subspan(n * core.past * width, core.past * width);
        const auto after = given.subspan(n * core.keys * width, core.keys * width);
        all.insert(all.end(), before.begin(), before.end());
        all.insert(all.end(), after.begin(), after.end());
    }
    return all;
}

// Sources are the doubles a core is made of. A hidden key that is not finite takes no part and is replaced by
// 0 where numbers are formed, so that nothing has to ask again.
struct Sources {
    std::vector<double> q, k, v;  // q of the rows judged
    std::vector<double> k_as_given, v_as_given;
};

inline Sources sources_of(const Core& core, Rows rows) {
    Sources sources;
    for (std::size_t n = 0; n < core.batch * core.heads; ++n) {
        const auto part =
            core.q.subspan((n * core.length + rows.first) * core.width, rows.count * core.width);
        sources.q.insert(sources.q.end(), part.begin(), part.end());
    }
    sources.k_as_given = joined(core, core.past_k, core.k, core.width);
    sources.v_as_given = joined(core, core.past_v, core.v, core.value_width);
    const auto cleaned = [](std::vector<double> values) {
        for (double& value : values)
            if (!std::isfinite(value)) value = 0;
        return values;
    };
    sources.k = cleaned(sources.k_as_given);
    sources.v = cleaned(sources.v_as_given);
    return sources;
}

template <class N>
Heads<N> heads_of(const std::vector<double>& values, std::size_t batch, std::size_t heads, std::size_t rows,
                  std::size_t width) {
    Heads<N> result(batch, heads, rows, width);
    result.data = to_reals<N>(values);
    return result;
}

template <class N>
class CoreOperands {
  public:
    CoreOperands(const Core& core, const Sources& sources, Rows rows, const Visibility& visibility)
        : q_(heads_of<N>(sources.q, core.batch, core.heads, rows.count, core.width)),
          k_(heads_of<N>(sources.k, core.batch, core.kv_heads, core.past + core.keys, core.width)),
          v_(heads_of<N>(sources.v, core.batch, core.kv_heads, core.past + core.keys, core.value_width)) {
        attention_.q = &q_;
        attention_.k = &k_;
        attention_.v = &v_;
        attention_.scale = core.scale ? N(*core.scale) : N(1 / sqrt(N(core.width)));
        if (core.softcap) attention_.softcap = N(*core.softcap);
        attention_.visibility = &visibility;
    }
    CoreOperands(const CoreOperands&) = delete;
    CoreOperands& operator=(const CoreOperands&) = delete;

    const Attention<N>& attention() const noexcept { return attention_; }

  private:
    Heads<N> q_, k_, v_;
    Attention<N> attention_;
};

}  // namespace attest::reference
