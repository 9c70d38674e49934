#include <attest/parameter.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

#include "finite.hpp"
#include "identity.hpp"
#include "shared_node.hpp"
#include "view_walk.hpp"

namespace attest {

namespace detail {

template <class T>
struct ParameterNode : SharedCount {
    std::uint64_t identity = next_identity();
    std::atomic<std::uint64_t> revision{0};
    Tensor<T> values;
};

namespace {

// Whether a view reads any element of [first, first + count). Pointers into different objects are compared as
// addresses, which std::less orders.
template <class T>
bool reads(const TensorView<const T>& view, const T* first, std::size_t count) {
    bool meets = false;
    const std::less<const T*> before;
    walk(view, [&](std::size_t, const T& element) {
        meets = meets || (!before(&element, first) && before(&element, first + count));
    });
    return meets;
}

}  // namespace
}  // namespace detail

template <class T>
Result<Parameter<T>> Parameter<T>::make(const TensorView<const T>& value, Memory& memory) {
    Result<Tensor<T>> copy = Tensor<T>::copy_of(value, memory, Stage::parameter);
    if (!copy) {
        return std::unexpected(copy.error());
    }
    if (const auto found = detail::first_nonfinite(copy->span().data(), copy->size())) {
        return std::unexpected(NonFiniteParameter{found->index, found->value});
    }
    const auto node = detail::make_node<detail::ParameterNode<T>>(memory, Stage::parameter);
    if (!node) {
        return std::unexpected(node.error());
    }
    (*node)->values = std::move(*copy);
    return Parameter(*node);
}

template <class T>
Parameter<T>::Parameter(const Parameter& other) noexcept : node_(detail::retain(other.node_)) {}

template <class T>
Parameter<T>::Parameter(Parameter&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}

template <class T>
Parameter<T>& Parameter<T>::operator=(Parameter other) noexcept {
    std::swap(node_, other.node_);
    return *this;
}

template <class T>
Parameter<T>::~Parameter() {
    detail::release(node_);
}

template <class T>
const Shape& Parameter<T>::shape() const {
    return node_->values.shape();
}

template <class T>
TensorView<const T> Parameter<T>::value() const {
    return std::as_const(node_->values).view();
}

template <class T>
std::uint64_t Parameter<T>::identity() const {
    return node_->identity;
}

template <class T>
std::uint64_t Parameter<T>::revision() const {
    return node_->revision.load(std::memory_order_acquire);
}

template <class T>
Result<void> Parameter<T>::update(const TensorView<const T>& value) {
    if (value.shape() != shape()) {
        return std::unexpected(ShapeMismatch{Stage::update, shape(), value.shape()});
    }
    std::optional<detail::Found> found;
    detail::walk(value, [&](std::size_t index, const T& element) {
        if (!found && !std::isfinite(element)) {
            found = detail::Found{index, static_cast<double>(element)};
        }
    });
    if (found) {
        return std::unexpected(NonFiniteUpdate{0, found->index, found->value});
    }
    T* const own = node_->values.span().data();
    if (detail::reads(value, own, node_->values.size())) {
        // A transposed view of itself, say: written in place, it would read what it has just overwritten.
        const Result<Tensor<T>> copy = Tensor<T>::copy_of(value, *node_->memory, Stage::update);
        if (!copy) {
            return std::unexpected(copy.error());
        }
        replace(copy->span().data());
        return {};
    }
    detail::copy_to_dense(value, own);
    node_->revision.fetch_add(1, std::memory_order_release);
    return {};
}

template <class T>
void Parameter<T>::replace(const T* dense) {
    std::copy_n(dense, node_->values.size(), node_->values.span().data());
    node_->revision.fetch_add(1, std::memory_order_release);
}

template class Parameter<float>;
template class Parameter<double>;

}  // namespace attest
