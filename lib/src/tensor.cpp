#include <attest/tensor.hpp>

#include <algorithm>
#include <utility>

#include "view_walk.hpp"

namespace attest {
namespace {

constexpr std::size_t kLargestOffset = static_cast<std::size_t>(PTRDIFF_MAX);

}  // namespace

Strides row_major(const Shape& shape) {
    Strides strides{};
    std::size_t stride = 1;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
        strides[axis] = static_cast<std::ptrdiff_t>(stride);
        stride *= shape[axis];
    }
    return strides;
}

template <class T>
Result<TensorView<T>> TensorView<T>::over(std::span<T> storage, const Shape& shape) {
    const std::optional<std::size_t> count = shape.count();
    if (!count || *count > kLargestOffset) {
        return std::unexpected(ElementCountOverflow{Stage::tensor, shape});
    }
    if (*count > storage.size()) {
        return std::unexpected(ViewOutOfStorage{shape, storage.size()});
    }
    return TensorView(storage.data(), shape, row_major(shape));
}

template <class T>
Result<TensorView<T>> TensorView<T>::over(std::span<T> storage, const Shape& shape, const Strides& strides,
                                          std::size_t offset) {
    const std::optional<std::size_t> count = shape.count();
    if (!count) {
        return std::unexpected(ElementCountOverflow{Stage::tensor, shape});
    }
    if (*count == 0) {
        return TensorView(storage.data(), shape, strides);
    }
    // The offsets of the lowest and the highest element, every product and sum checked.
    std::ptrdiff_t lowest = 0;
    std::ptrdiff_t highest = 0;
    bool outside = offset > kLargestOffset;
    for (std::size_t axis = 0; axis < shape.rank() && !outside; ++axis) {
        std::ptrdiff_t reach = 0;
        outside =
            shape[axis] - 1 > kLargestOffset ||
            __builtin_mul_overflow(static_cast<std::ptrdiff_t>(shape[axis] - 1), strides[axis], &reach) ||
            __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest);
    }
    std::ptrdiff_t last = 0;
    outside = outside || __builtin_add_overflow(static_cast<std::ptrdiff_t>(offset), highest, &last) ||
              static_cast<std::ptrdiff_t>(offset) + lowest < 0 ||
              static_cast<std::size_t>(last) >= storage.size();
    if (outside) {
        return std::unexpected(ViewOutOfStorage{shape, storage.size()});
    }
    return TensorView(storage.data() + offset, shape, strides);
}

template <class T>
bool TensorView<T>::is_dense() const {
    const Strides dense = row_major(shape_);
    for (std::size_t axis = 0; axis < shape_.rank(); ++axis) {
        // An axis of length one is never stepped along, so its stride says nothing.
        if (shape_[axis] > 1 && strides_[axis] != dense[axis]) {
            return size() == 0;
        }
    }
    return true;
}

template <class T>
Result<TensorView<T>> TensorView<T>::slice(std::size_t axis, std::size_t first, std::size_t length) const {
    if (axis >= shape_.rank() || first > shape_[axis] || length > shape_[axis] - first) {
        return std::unexpected(ViewAxisInvalid{axis, first, length, shape_});
    }
    const Shape shape = shape_.with(axis, length);
    // An empty slice may start at the end, where no element is: the pointer then stays where it was.
    T* const data = *shape.count() == 0 ? data_ : data_ + static_cast<std::ptrdiff_t>(first) * strides_[axis];
    return TensorView(data, shape, strides_);
}

template <class T>
Result<TensorView<T>> TensorView<T>::transpose(std::size_t left, std::size_t right) const {
    if (left >= shape_.rank() || right >= shape_.rank()) {
        return std::unexpected(ViewAxisInvalid{std::max(left, right), 0, 0, shape_});
    }
    TensorView turned(data_, shape_.with(left, shape_[right]).with(right, shape_[left]), strides_);
    std::swap(turned.strides_[left], turned.strides_[right]);
    return turned;
}

template <class T>
Result<TensorView<T>> TensorView<T>::broadcast(std::size_t axis, std::size_t length) const {
    if (axis >= shape_.rank() || shape_[axis] != 1 || !shape_.with(axis, length).count()) {
        return std::unexpected(ViewAxisInvalid{axis, 0, length, shape_});
    }
    TensorView repeated(data_, shape_.with(axis, length), strides_);
    repeated.strides_[axis] = 0;
    return repeated;
}

template <class T>
Result<Tensor<T>> Tensor<T>::zeros(const Shape& shape, Memory& memory, Stage stage) {
    Result<Buffer<T>> buffer = Buffer<T>::make(memory, shape, stage);
    if (!buffer) {
        return std::unexpected(buffer.error());
    }
    Tensor tensor;
    tensor.shape_ = shape;
    tensor.buffer_ = std::move(*buffer);
    return tensor;
}

template <class T>
Result<Tensor<T>> Tensor<T>::copy_of(const TensorView<const T>& view, Memory& memory, Stage stage) {
    Result<Tensor> tensor = zeros(view.shape(), memory, stage);
    if (tensor) {
        detail::copy_to_dense(view, tensor->span().data());
    }
    return tensor;
}

template <class T>
TensorView<T> Tensor<T>::view() {
    return *TensorView<T>::over(buffer_.span(), shape_);
}

template <class T>
TensorView<const T> Tensor<T>::view() const {
    return *TensorView<const T>::over(std::span<const T>(buffer_.span()), shape_);
}

template class TensorView<float>;
template class TensorView<double>;
template class TensorView<const float>;
template class TensorView<const double>;
template class Tensor<float>;
template class Tensor<double>;

}  // namespace attest
