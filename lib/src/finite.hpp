// Finding the first value that is not finite.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

namespace attest::detail {

/// A flat index and the value found there.
struct Found {
    std::size_t index;
    double value;
};

template <class T>
std::optional<Found> first_nonfinite(const T* values, std::size_t count) {
    for (std::size_t index = 0; index < count; ++index) {
        if (!std::isfinite(values[index])) {
            return Found{index, static_cast<double>(values[index])};
        }
    }
    return std::nullopt;
}

}  // namespace attest::detail
