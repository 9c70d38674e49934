#include "oracle/visibility.hpp"

#include <algorithm>
#include <cmath>

namespace attest::reference {

Visibility Visibility::prefix(std::size_t columns, std::size_t first, std::size_t total) {
    Visibility visibility;
    visibility.columns_ = columns;
    visibility.total_ = total;
    visibility.causal_ = true;
    visibility.offsets_ = {0};
    visibility.first_row_ = first;
    return visibility;
}

Visibility Visibility::of(const Core& core, double lowest) {
    Visibility visibility;
    visibility.columns_ = visibility.total_ = core.past + core.keys;
    visibility.causal_ = core.causal;
    visibility.lengths_ = core.kv_lengths;
    visibility.lowest_ = lowest;
    if (core.past != 0 || core.kv_lengths.empty()) {
        visibility.offsets_ = {static_cast<std::int64_t>(core.past)};
    } else {
        for (const std::int64_t length : core.kv_lengths)
            visibility.offsets_.push_back(length - static_cast<std::int64_t>(core.length));
    }
    if (core.mask) visibility.mask_ = spread(*core.mask, visibility.columns_);
    if (core.bias) visibility.bias_ = spread(*core.bias, visibility.columns_);
    return visibility;
}

Visibility Visibility::from_row(std::size_t first) const {
    Visibility selected = *this;
    selected.first_row_ += first;
    return selected;
}

// Extents are aligned at the right; an extent of 1 has stride 0.
Visibility::Spread Visibility::spread(const Broadcast& tensor, std::size_t columns) {
    Spread result;
    result.values = tensor.values.data();
    result.column_count = columns;
    std::size_t* const strides[4] = {&result.column, &result.row, &result.head, &result.batch};
    std::size_t stride = 1;
    const std::size_t rank = tensor.shape.size();
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::size_t extent = tensor.shape[rank - 1 - axis];
        *strides[axis] = extent == 1 ? 0 : stride;
        if (axis == 0 && extent != 1) result.column_count = std::min(columns, extent);
        stride *= extent;
    }
    return result;
}

void Visibility::see(std::size_t batch, std::size_t head, std::size_t row, Seen& seen) const {
    row += first_row_;
    seen.columns.clear();
    seen.biases.clear();
    seen.hidden_by_finite_bias = false;

    std::size_t end = columns_;
    const auto cut = [&end](std::int64_t limit) {
        end = limit <= 0 ? 0 : std::min(end, static_cast<std::size_t>(limit));
    };
    if (causal_) cut(static_cast<std::int64_t>(row) + offsets_[offsets_.size() == 1 ? 0 : batch] + 1);
    if (!lengths_.empty()) cut(lengths_[batch]);
    if (mask_.values != nullptr) end = std::min(end, mask_.column_count);
    if (bias_.values != nullptr) end = std::min(end, bias_.column_count);

    for (std::size_t column = 0; column < end; ++column) {
        if (mask_.values != nullptr && mask_.at(batch, head, row, column) == 0) continue;
        if (bias_.values != nullptr) {
            const double bias = bias_.at(batch, head, row, column);
            if (bias <= lowest_) {
                seen.hidden_by_finite_bias |= std::isfinite(bias);
                continue;
            }
            seen.biases.push_back(bias);
        }
        seen.columns.push_back(column);
    }
}

}  // namespace attest::reference
