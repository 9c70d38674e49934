#include "place.hpp"

#include <utility>

namespace attest::properties::detail {

namespace {

// Dense strides for the axes in the order of `axes`, slowest first.
Strides strides_in_order(std::span<const std::size_t> lengths, std::span<const std::size_t> axes) {
    Strides strides{};
    // Where an axis is empty the others may have any length, so that the product wraps; nothing is walked
    // then.
    std::size_t step = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
        strides[axes[i]] = static_cast<std::ptrdiff_t>(step);
        step *= lengths[axes[i]];
    }
    return strides;
}

}  // namespace

Plan plan_layout(const Shape& shape, Layout layout) {
    const std::size_t rank = shape.rank();
    std::array<std::size_t, kMaxRank> lengths{};
    std::array<std::size_t, kMaxRank> axes{0, 1, 2, 3};
    for (std::size_t axis = 0; axis < rank; ++axis) {
        // Two foreign elements before and one behind, along every axis.
        lengths[axis] = shape[axis] + (layout == Layout::sliced ? 3 : 0);
    }
    if (layout == Layout::transposed && rank >= 2) {
        std::swap(axes[0], axes[rank - 1]);
    }
    Plan plan;
    plan.strides = strides_in_order({lengths.data(), rank}, {axes.data(), rank});
    plan.storage = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        plan.storage *= lengths[axis];
    }
    if (shape.count().value_or(0) == 0) {
        plan.storage = layout == Layout::sliced ? plan.storage : 0;
        return plan;
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (layout == Layout::sliced) {
            plan.start += 2 * static_cast<std::size_t>(plan.strides[axis]);
        }
        if (layout == Layout::reversed) {
            plan.start += (shape[axis] - 1) * static_cast<std::size_t>(plan.strides[axis]);
            plan.strides[axis] = -plan.strides[axis];
        }
    }
    return plan;
}

bool equal_along(const Shape& shape, std::span<const double> values, std::size_t axis) {
    const Strides strides = row_major(shape);
    bool equal = true;
    for_each_index(shape, [&](std::size_t flat, const std::array<std::size_t, kMaxRank>& index) {
        const std::size_t first = flat - index[axis] * static_cast<std::size_t>(strides[axis]);
        equal = equal &&
                std::bit_cast<std::uint64_t>(values[flat]) == std::bit_cast<std::uint64_t>(values[first]);
    });
    return equal;
}

}  // namespace attest::properties::detail
