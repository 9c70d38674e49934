#include <attest/adamw.hpp>

#include <cmath>
#include <new>
#include <utility>

#include "finite.hpp"
#include "view_walk.hpp"

namespace attest {

// One parameter with its moments, and where the next step is computed before any of it counts.
template <class T>
struct AdamW<T>::Slot {
    explicit Slot(const Parameter<T>& stepped) : parameter(stepped) {}

    Parameter<T> parameter;
    Buffer<T> first_moment;
    Buffer<T> second_moment;
    Buffer<T> next_first_moment;
    Buffer<T> next_second_moment;
    Buffer<T> next_value;
};

namespace {

// Domains hold for the options as T has them: a beta that rounds to 1, or an epsilon that rounds to 0, is
// refused.
template <class T>
Result<void> check(const AdamWOptions& options) {
    const auto refuse = [](Hyperparameter which, double value) {
        return std::unexpected(HyperparameterInvalid{which, value});
    };
    const auto not_negative = [](double value) {
        return std::isfinite(static_cast<T>(value)) && value >= 0.0;
    };
    const auto below_one = [](double value) { return value >= 0.0 && static_cast<T>(value) < T(1); };
    if (!not_negative(options.learning_rate)) {
        return refuse(Hyperparameter::learning_rate, options.learning_rate);
    }
    if (!below_one(options.beta1)) {
        return refuse(Hyperparameter::beta1, options.beta1);
    }
    if (!below_one(options.beta2)) {
        return refuse(Hyperparameter::beta2, options.beta2);
    }
    if (!(not_negative(options.epsilon) && static_cast<T>(options.epsilon) > T(0))) {
        return refuse(Hyperparameter::epsilon, options.epsilon);
    }
    if (!not_negative(options.weight_decay)) {
        return refuse(Hyperparameter::weight_decay, options.weight_decay);
    }
    return {};
}

}  // namespace

template <class T>
Result<AdamW<T>> AdamW<T>::make(std::span<const Parameter<T>> parameters, const AdamWOptions& options,
                                Memory& memory) {
    if (const Result<void> valid = check<T>(options); !valid) {
        return std::unexpected(valid.error());
    }
    for (std::size_t second = 1; second < parameters.size(); ++second) {
        for (std::size_t first = 0; first < second; ++first) {
            if (parameters[first].same_node(parameters[second])) {
                return std::unexpected(DuplicateParameter{first, second});
            }
        }
    }
    AdamW made;
    made.memory_ = &memory;
    made.options_ = options;
    if (parameters.empty()) {
        return made;
    }
    // The caller's handles lie in memory, eight bytes each: sixteen times that can be counted.
    static_assert(sizeof(Slot) <= 16 * sizeof(Parameter<T>));
    const std::size_t bytes = parameters.size() * sizeof(Slot);
    void* const storage = memory.allocate(bytes, alignof(Slot));
    if (storage == nullptr) {
        return std::unexpected(AllocationFailed{Stage::moments, parameters.size(), bytes});
    }
    made.slots_ = static_cast<Slot*>(storage);
    made.count_ = parameters.size();
    // Every slot exists before the first buffer can fail, so that destruction always meets whole slots.
    for (std::size_t index = 0; index < made.count_; ++index) {
        new (made.slots_ + index) Slot(parameters[index]);
    }
    for (std::size_t index = 0; index < made.count_; ++index) {
        Slot& slot = made.slots_[index];
        for (Buffer<T>* buffer : {&slot.first_moment, &slot.second_moment, &slot.next_first_moment,
                                  &slot.next_second_moment, &slot.next_value}) {
            Result<Buffer<T>> room = Buffer<T>::make(memory, slot.parameter.shape(), Stage::moments);
            if (!room) {
                return std::unexpected(room.error());
            }
            *buffer = std::move(*room);
        }
    }
    return made;
}

template <class T>
AdamW<T>::AdamW(AdamW&& other) noexcept
    : memory_(other.memory_),
      slots_(std::exchange(other.slots_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      options_(other.options_),
      beta1_product_(other.beta1_product_),
      beta2_product_(other.beta2_product_),
      steps_(other.steps_) {}

template <class T>
AdamW<T>& AdamW<T>::operator=(AdamW&& other) noexcept {
    AdamW moved(std::move(other));
    std::swap(memory_, moved.memory_);
    std::swap(slots_, moved.slots_);
    std::swap(count_, moved.count_);
    std::swap(options_, moved.options_);
    std::swap(beta1_product_, moved.beta1_product_);
    std::swap(beta2_product_, moved.beta2_product_);
    std::swap(steps_, moved.steps_);
    return *this;
}

template <class T>
AdamW<T>::~AdamW() {
    for (std::size_t index = 0; index < count_; ++index) {
        slots_[index].~Slot();
    }
    if (slots_ != nullptr) {
        memory_->deallocate(slots_, count_ * sizeof(Slot), alignof(Slot));
    }
}

template <class T>
std::uint64_t AdamW<T>::steps() const {
    return steps_;
}

template <class T>
Result<void> AdamW<T>::step(std::span<const TensorView<const T>> gradients) {
    if (gradients.size() != count_) {
        return std::unexpected(GradientCountMismatch{count_, gradients.size()});
    }
    for (std::size_t index = 0; index < count_; ++index) {
        if (gradients[index].shape() != slots_[index].parameter.shape()) {
            return std::unexpected(
                GradientShapeMismatch{index, slots_[index].parameter.shape(), gradients[index].shape()});
        }
    }
    for (std::size_t index = 0; index < count_; ++index) {
        std::optional<detail::Found> found;
        detail::walk(gradients[index], [&](std::size_t element, const T& value) {
            if (!found && !std::isfinite(value)) {
                found = detail::Found{element, static_cast<double>(value)};
            }
        });
        if (found) {
            return std::unexpected(NonFiniteGradient{index, found->index, found->value});
        }
    }

    const T beta1 = static_cast<T>(options_.beta1);
    const T beta2 = static_cast<T>(options_.beta2);
    const T rate = static_cast<T>(options_.learning_rate);
    const T epsilon = static_cast<T>(options_.epsilon);
    const T decay = static_cast<T>(options_.weight_decay);
    const T next_beta1_product = beta1_product_ * beta1;
    const T next_beta2_product = beta2_product_ * beta2;
    const T first_correction = T(1) - next_beta1_product;
    const T second_correction = T(1) - next_beta2_product;

    for (std::size_t index = 0; index < count_; ++index) {
        Slot& slot = slots_[index];
        const T* const value = slot.parameter.value().data();
        std::optional<detail::Found> found;
        detail::walk(gradients[index], [&](std::size_t element, const T& gradient) {
            const T first = beta1 * slot.first_moment.data()[element] + (T(1) - beta1) * gradient;
            const T second =
                beta2 * slot.second_moment.data()[element] + (T(1) - beta2) * gradient * gradient;
            const T direction =
                (first / first_correction) / (std::sqrt(second / second_correction) + epsilon);
            const T next = value[element] - rate * decay * value[element] - rate * direction;
            slot.next_first_moment.data()[element] = first;
            slot.next_second_moment.data()[element] = second;
            slot.next_value.data()[element] = next;
            // A moment that overflowed poisons later steps even where this one is finite (x / ∞ = 0), so it
            // counts.
            for (const T result : {first, second, next}) {
                if (!found && !std::isfinite(result)) {
                    found = detail::Found{element, static_cast<double>(result)};
                }
            }
        });
        if (found) {
            return std::unexpected(NonFiniteUpdate{index, found->index, found->value});
        }
    }

    // From here on nothing can fail.
    for (std::size_t index = 0; index < count_; ++index) {
        Slot& slot = slots_[index];
        slot.first_moment.swap(slot.next_first_moment);
        slot.second_moment.swap(slot.next_second_moment);
        slot.parameter.replace(slot.next_value.data());
    }
    beta1_product_ = next_beta1_product;
    beta2_product_ = next_beta2_product;
    ++steps_;
    return {};
}

template class AdamW<float>;
template class AdamW<double>;

}  // namespace attest
