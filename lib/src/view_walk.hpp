// Walking any view in logical, row-major order. The one place that turns strides into elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <attest/tensor.hpp>

namespace attest::detail {

/// walk calls visit(flat index, element) for every element, first index slowest.
template <class T, class Visit>
void walk(const TensorView<T>& view, Visit visit) {
    const Shape& shape = view.shape();
    const std::size_t missing = kMaxRank - shape.rank();
    std::array<std::size_t, kMaxRank> length{};
    std::array<std::ptrdiff_t, kMaxRank> stride{};
    for (std::size_t axis = 0; axis < kMaxRank; ++axis) {
        length[axis] = axis < missing ? 1 : shape[axis - missing];
        stride[axis] = axis < missing ? 0 : view.strides()[axis - missing];
    }
    const auto at = [&](std::size_t axis, std::size_t index) {
        return static_cast<std::ptrdiff_t>(index) * stride[axis];
    };
    std::size_t flat = 0;
    for (std::size_t i = 0; i < length[0]; ++i) {
        for (std::size_t j = 0; j < length[1]; ++j) {
            for (std::size_t k = 0; k < length[2]; ++k) {
                T* const row = view.data() + (at(0, i) + at(1, j) + at(2, k));
                for (std::size_t l = 0; l < length[3]; ++l) {
                    visit(flat++, row[at(3, l)]);
                }
            }
        }
    }
}

template <class T>
void copy_to_dense(const TensorView<const T>& view, T* dense) {
    if (view.is_dense()) {
        std::copy_n(view.data(), view.size(), dense);
        return;
    }
    walk(view, [dense](std::size_t index, const T& value) { dense[index] = value; });
}

template <class T>
void copy_from_dense(const T* dense, const TensorView<T>& view) {
    if (view.is_dense()) {
        std::copy_n(dense, view.size(), view.data());
        return;
    }
    walk(view, [dense](std::size_t index, T& value) { value = dense[index]; });
}

/// can_write says whether no two indices name one element: sorted by stride, every axis steps over all of the
/// smaller ones. Views whose axes interlace without meeting are refused too; no slice, transposition or
/// broadcast makes one.
template <class T>
bool can_write(const TensorView<T>& view) {
    if (view.size() == 0) {
        return true;
    }
    std::array<std::size_t, kMaxRank> order{0, 1, 2, 3};
    const std::size_t rank = view.shape().rank();
    const auto step = [&](std::size_t axis) {
        const std::ptrdiff_t stride = view.strides()[axis];
        return stride < 0 ? std::size_t{0} - static_cast<std::size_t>(stride)
                          : static_cast<std::size_t>(stride);
    };
    // By insertion, as g++ 12 at -O3 warns of what std::sort would do with more than 16 elements.
    for (std::size_t end = 1; end < rank; ++end) {
        for (std::size_t place = end; place > 0 && step(order[place]) < step(order[place - 1]); --place) {
            std::swap(order[place], order[place - 1]);
        }
    }
    std::size_t covered = 1;
    for (std::size_t place = 0; place < rank; ++place) {
        const std::size_t axis = order[place];
        if (view.shape()[axis] > 1) {
            if (step(axis) < covered) {
                return false;
            }
            covered += step(axis) * (view.shape()[axis] - 1);
        }
    }
    return true;
}

}  // namespace attest::detail
