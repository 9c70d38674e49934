// Exact answers from Real and back.
#pragma once

#include <attest/reference/exact.hpp>
#include <attest/reference/real.hpp>

#include <cmath>

namespace attest::reference {

// exact_of rounds to nearest: at most 2^−106 of |x| off, or half the smallest subnormal.
template <unsigned digits>
[[nodiscard]] Exact exact_of(const RealOf<digits>& x) {
    const auto head = static_cast<double>(x);
    if (!std::isfinite(head)) return Exact(head);
    return {head, static_cast<double>(RealOf<digits>(x - head))};
}

template <class N>
[[nodiscard]] N real_of(const Exact& exact) {
    return N(N(exact.head) + exact.tail);
}

}  // namespace attest::reference
