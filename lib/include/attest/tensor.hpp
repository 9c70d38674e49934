// Tensors own elements; views look at them through any strides.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <attest/error.hpp>
#include <attest/memory.hpp>
#include <attest/shape.hpp>

namespace attest {

/// Elements to step over along each axis; 0 repeats an element, a negative one walks backwards.
using Strides = std::array<std::ptrdiff_t, kMaxRank>;

/// row_major returns the strides of a dense tensor whose last axis is adjacent.
[[nodiscard]] Strides row_major(const Shape& shape);

/// U is what the elements of a view of const T are, when they may be changed.
template <class U, class T>
concept ChangeableAs = std::is_const_v<T> && std::same_as<U, std::remove_const_t<T>>;

/// TensorView is a pointer, a shape and strides; it owns nothing and is cheap to copy. T may be const. Every
/// way to make one is checked against the storage it looks at, so a view can only name elements that exist.
template <class T>
class TensorView {
  public:
    /// The empty view: rank 1, no elements.
    TensorView() : shape_(std::size_t{0}) {}

    /// over looks at dense row-major storage. It refuses with ElementCountOverflow, then ViewOutOfStorage
    /// when storage holds fewer elements than the shape counts.
    [[nodiscard]] static Result<TensorView> over(std::span<T> storage, const Shape& shape);

    /// over with strides starts at storage[offset]. It refuses with ElementCountOverflow, then
    /// ViewOutOfStorage when any index would leave storage in either direction.
    [[nodiscard]] static Result<TensorView> over(std::span<T> storage, const Shape& shape,
                                                 const Strides& strides, std::size_t offset = 0);

    /// What may be changed may be looked at.
    template <ChangeableAs<T> U>
    TensorView(const TensorView<U>& view) : data_(view.data_), shape_(view.shape_), strides_(view.strides_) {}

    [[nodiscard]] const Shape& shape() const { return shape_; }
    [[nodiscard]] const Strides& strides() const { return strides_; }
    [[nodiscard]] std::size_t size() const { return *shape_.count(); }
    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] bool is_dense() const;

    /// Element access. Precondition (asserted): one index an axis, each below the axis' length.
    template <class... Index>
    [[nodiscard]] T& operator()(Index... index) const;

    /// slice keeps `length` indices of an axis from `first` on. It refuses with ViewAxisInvalid.
    [[nodiscard]] Result<TensorView> slice(std::size_t axis, std::size_t first, std::size_t length) const;
    /// transpose exchanges two axes. It refuses with ViewAxisInvalid.
    [[nodiscard]] Result<TensorView> transpose(std::size_t left, std::size_t right) const;
    /// broadcast repeats an axis of length one `length` times by stride 0. It refuses with ViewAxisInvalid.
    [[nodiscard]] Result<TensorView> broadcast(std::size_t axis, std::size_t length) const;

  private:
    template <class U>
    friend class TensorView;
    TensorView(T* data, const Shape& shape, const Strides& strides)
        : data_(data), shape_(shape), strides_(strides) {}

    T* data_ = nullptr;
    Shape shape_;
    Strides strides_{};
};

/// Tensor owns dense row-major elements. It moves and does not copy; copying can fail, so it is a call with a
/// Result.
template <class T>
class Tensor {
  public:
    Tensor() : shape_(std::size_t{0}) {}

    /// zeros refuses with ElementCountOverflow, then AllocationFailed.
    [[nodiscard]] static Result<Tensor> zeros(const Shape& shape, Memory& memory = default_memory(),
                                              Stage stage = Stage::tensor);
    /// copy_of copies any view into dense order; the same refusals.
    [[nodiscard]] static Result<Tensor> copy_of(const TensorView<const T>& view,
                                                Memory& memory = default_memory(),
                                                Stage stage = Stage::tensor);

    [[nodiscard]] const Shape& shape() const { return shape_; }
    [[nodiscard]] std::size_t size() const { return buffer_.size(); }
    [[nodiscard]] std::span<T> span() { return buffer_.span(); }
    [[nodiscard]] std::span<const T> span() const { return buffer_.span(); }
    [[nodiscard]] TensorView<T> view();
    [[nodiscard]] TensorView<const T> view() const;

  private:
    Shape shape_;
    Buffer<T> buffer_;
};

template <class T>
template <class... Index>
T& TensorView<T>::operator()(Index... index) const {
    static_assert(sizeof...(Index) <= kMaxRank);
    std::ptrdiff_t offset = 0;
    std::size_t axis = 0;
    ((offset += static_cast<std::ptrdiff_t>(index) * strides_[axis++]), ...);
    return data_[offset];
}

extern template class TensorView<float>;
extern template class TensorView<double>;
extern template class TensorView<const float>;
extern template class TensorView<const double>;
extern template class Tensor<float>;
extern template class Tensor<double>;

}  // namespace attest
