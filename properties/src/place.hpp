// Putting numbers into memory in every layout that the laws ask for, and reading them back.
#pragma once

#include "attest/case/number.hpp"
#include "attest/properties/subject.hpp"

#include <attest/tensor.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace attest::properties::detail {

// to_element and to_double keep every NaN's payload: conversion instructions would quieten it.
template <class T>
T to_element(double value) {
    if constexpr (std::is_same_v<T, double>) {
        return value;
    } else {
        if (std::isnan(value)) {
            return std::bit_cast<float>(cases::narrow(std::bit_cast<std::uint64_t>(value)));
        }
        return static_cast<float>(value);
    }
}

template <class T>
double to_double(T element) {
    if constexpr (std::is_same_v<T, double>) {
        return element;
    } else {
        if (std::isnan(element)) {
            return std::bit_cast<double>(cases::widen(std::bit_cast<std::uint32_t>(element)));
        }
        return static_cast<double>(element);
    }
}

template <class T>
void to_doubles(std::span<const T> elements, Array& values) {
    values.resize(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
        values[i] = to_double(elements[i]);
    }
}

// Placed owns storage and a view of it whose element at every index is the wanted value.
template <class T>
struct Placed {
    std::vector<T> storage;
    TensorView<T> view;
    bool virtual_shape = false;  // one element stands for all
};

// Shapes beyond this are never laid out; one element stands for all by stride 0.
inline constexpr std::uint64_t kMaxPlaced = std::uint64_t{1} << 24;

// The number that lies between the elements of a sliced layout. Whoever reads it gets a NaN.
inline constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

// for_each_index calls visit(flat, index) for every index of a shape, row-major.
template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
    const std::size_t count = shape.count().value_or(0);
    std::array<std::size_t, kMaxRank> index{};
    for (std::size_t flat = 0; flat < count; ++flat) {
        visit(flat, index);
        for (std::size_t axis = shape.rank(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

inline std::size_t offset_of(const std::array<std::size_t, kMaxRank>& index, const Strides& strides,
                             std::size_t rank, std::size_t start) {
    std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(start);
    for (std::size_t axis = 0; axis < rank; ++axis) {
        offset += static_cast<std::ptrdiff_t>(index[axis]) * strides[axis];
    }
    return static_cast<std::size_t>(offset);
}

// Where the elements of a layout lie: strides, the offset of the first, and how much storage they need.
struct Plan {
    Strides strides{};
    std::size_t start = 0;
    std::size_t storage = 0;
};

// plan_layout knows dense, transposed, sliced and reversed.
Plan plan_layout(const Shape& shape, Layout layout);

// equal_along tells whether all values are equal, by bits, along one axis.
bool equal_along(const Shape& shape, std::span<const double> values, std::size_t axis);

template <class T>
Result<Placed<T>> place(const Shape& shape, std::span<const double> values, Layout layout) {
    Placed<T> placed;
    const std::optional<std::size_t> count = shape.count();
    if (!count || *count > kMaxPlaced || values.size() < *count) {
        placed.virtual_shape = true;
        placed.storage.assign(1, to_element<T>(values.empty() ? 0.0 : values[0]));
        const Result<TensorView<T>> view = TensorView<T>::over(std::span(placed.storage), shape, Strides{});
        if (!view) return std::unexpected(view.error());
        placed.view = *view;
        return placed;
    }
    Plan plan = plan_layout(shape, layout);
    if (layout == Layout::repeated) {
        for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
            if (equal_along(shape, values, axis)) plan.strides[axis] = 0;
        }
    }
    if (layout == Layout::dense) {
        placed.storage.resize(plan.storage);
        for (std::size_t i = 0; i < plan.storage; ++i) {
            placed.storage[i] = to_element<T>(values[i]);
        }
    } else {
        placed.storage.assign(plan.storage, to_element<T>(kGap));
        for_each_index(shape, [&](std::size_t flat, const std::array<std::size_t, kMaxRank>& index) {
            placed.storage[offset_of(index, plan.strides, shape.rank(), plan.start)] =
                to_element<T>(values[flat]);
        });
    }
    const Result<TensorView<T>> view =
        TensorView<T>::over(std::span(placed.storage), shape, plan.strides, plan.start);
    if (!view) return std::unexpected(view.error());
    placed.view = *view;
    return placed;
}

// read_back gives the values of any view, row-major, in `values`.
template <class T>
void read_back(const TensorView<T>& view, Array& values) {
    values.resize(view.shape().count().value_or(0));
    if (view.strides() == row_major(view.shape())) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = to_double<std::remove_const_t<T>>(view.data()[i]);
        }
        return;
    }
    for_each_index(view.shape(), [&](std::size_t flat, const std::array<std::size_t, kMaxRank>& index) {
        std::ptrdiff_t offset = 0;
        for (std::size_t axis = 0; axis < view.shape().rank(); ++axis) {
            offset += static_cast<std::ptrdiff_t>(index[axis]) * view.strides()[axis];
        }
        values[flat] = to_double<std::remove_const_t<T>>(view.data()[offset]);
    });
}

template <class T>
Array read_back(const TensorView<T>& view) {
    Array values;
    read_back(view, values);
    return values;
}

// gaps_intact tells whether all storage that no index names still holds the gap.
template <class T>
bool gaps_intact(const Placed<T>& placed) {
    const bool dense = placed.storage.size() == placed.view.shape().count();
    if (placed.virtual_shape || dense) return true;
    std::vector<bool> named(placed.storage.size(), false);
    const TensorView<T>& view = placed.view;
    for_each_index(view.shape(), [&](std::size_t, const std::array<std::size_t, kMaxRank>& index) {
        std::ptrdiff_t offset = view.data() - placed.storage.data();
        for (std::size_t axis = 0; axis < view.shape().rank(); ++axis) {
            offset += static_cast<std::ptrdiff_t>(index[axis]) * view.strides()[axis];
        }
        named[static_cast<std::size_t>(offset)] = true;
    });
    for (std::size_t i = 0; i < named.size(); ++i) {
        if (!named[i] && std::bit_cast<std::uint64_t>(to_double(placed.storage[i])) !=
                             std::bit_cast<std::uint64_t>(to_double(to_element<T>(kGap)))) {
            return false;
        }
    }
    return true;
}

}  // namespace attest::properties::detail
