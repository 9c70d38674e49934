// Parameters: weights that know who they are and how often they changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <attest/error.hpp>
#include <attest/memory.hpp>
#include <attest/tensor.hpp>

namespace attest {

namespace detail {
template <class T>
struct ParameterNode;
}

/// Parameter is a handle on one weight. Copies share one node: its values, its identity (a number never used
/// twice in a process) and its value revision, which every successful in-place update advances by one. A
/// cache remembers both and so refuses to mix rows projected with different weights.
///
/// Threads: any number may read; an update needs every reader of the node to wait, as with any in-place
/// write.
template <class T>
class Parameter {
  public:
    /// make copies `value`. It refuses with NonFiniteParameter, ElementCountOverflow, AllocationFailed, in
    /// this order.
    [[nodiscard]] static Result<Parameter> make(const TensorView<const T>& value,
                                                Memory& memory = default_memory());

    Parameter(const Parameter& other) noexcept;
    Parameter(Parameter&& other) noexcept;
    Parameter& operator=(Parameter other) noexcept;
    ~Parameter();

    [[nodiscard]] const Shape& shape() const;
    [[nodiscard]] TensorView<const T> value() const;
    [[nodiscard]] std::uint64_t identity() const;
    [[nodiscard]] std::uint64_t revision() const;

    /// update replaces every value and advances the revision, or changes nothing. It refuses with
    /// ShapeMismatch, then NonFiniteUpdate; when `value` overlaps the parameter's own storage a copy is
    /// needed, which may refuse with AllocationFailed.
    [[nodiscard]] Result<void> update(const TensorView<const T>& value);

    [[nodiscard]] bool same_node(const Parameter& other) const { return node_ == other.node_; }

  private:
    template <class U>
    friend class AdamW;
    explicit Parameter(detail::ParameterNode<T>* node) : node_(node) {}

    /// Stores values known to be finite and of the right count, and advances the revision. Cannot fail.
    void replace(const T* dense);

    detail::ParameterNode<T>* node_;
};

extern template class Parameter<float>;
extern template class Parameter<double>;

}  // namespace attest
