// The product of two vectors in four sums side by side.
#pragma once

#include <cstddef>

namespace attest::reference {

template <class N>
N product_of(const N* a, const N* b, std::size_t count) {
    N sums[4] = {0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane)
            sums[lane] += a[i + lane] * b[i + lane];
    for (; i < count; ++i)
        sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace attest::reference
