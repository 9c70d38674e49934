// AdamW: decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), all or nothing across its
// parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <attest/error.hpp>
#include <attest/memory.hpp>
#include <attest/parameter.hpp>
#include <attest/tensor.hpp>

namespace attest {

/// Domains: learning_rate ≥ 0, 0 ≤ beta1, beta2 < 1, epsilon > 0, weight_decay ≥ 0, all finite, and so once
/// rounded to the type of the weights.
struct AdamWOptions {
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 1e-2;
};

/// AdamW steps parameters in place from given gradients. In step n, for every element,
///     m ← β1 m + (1 − β1) g,  v ← β2 v + (1 − β2) g²,
///     θ ← θ − η λ θ − η (m / (1 − β1ⁿ)) / (√(v / (1 − β2ⁿ)) + ε),
/// with the powers kept as running products. Arithmetic is T's.
template <class T>
class AdamW {
  public:
    /// make keeps handles on the parameters and allocates the moments and room for one step, so that a step
    /// allocates nothing. It refuses with HyperparameterInvalid, DuplicateParameter, AllocationFailed.
    [[nodiscard]] static Result<AdamW> make(std::span<const Parameter<T>> parameters,
                                            const AdamWOptions& options = {},
                                            Memory& memory = default_memory());

    AdamW(AdamW&& other) noexcept;
    AdamW& operator=(AdamW&& other) noexcept;
    ~AdamW();

    /// step moves every parameter and advances every revision by one, or changes nothing at all, moments and
    /// running products included. It refuses with GradientCountMismatch, GradientShapeMismatch,
    /// NonFiniteGradient, and with NonFiniteUpdate when a finite gradient would give a non-finite moment or
    /// weight.
    [[nodiscard]] Result<void> step(std::span<const TensorView<const T>> gradients);

    [[nodiscard]] std::uint64_t steps() const;

  private:
    struct Slot;
    AdamW() = default;

    Memory* memory_ = nullptr;
    Slot* slots_ = nullptr;
    std::size_t count_ = 0;
    AdamWOptions options_;
    T beta1_product_ = 1;
    T beta2_product_ = 1;
    std::uint64_t steps_ = 0;
};

extern template class AdamW<float>;
extern template class AdamW<double>;

}  // namespace attest
