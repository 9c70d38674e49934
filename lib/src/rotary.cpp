#include <attest/rotary.hpp>

#include <bit>
#include <cmath>
#include <utility>

#include "rotation.hpp"
#include "shared_node.hpp"

namespace attest {

bool operator==(const RotaryConfig& left, const RotaryConfig& right) {
    return left.width == right.width && left.max_positions == right.max_positions &&
           left.pairs == right.pairs &&
           std::bit_cast<std::uint64_t>(left.base) == std::bit_cast<std::uint64_t>(right.base);
}

namespace detail {

template <class T>
struct RotaryTable : SharedCount {
    RotaryConfig config;
    Buffer<T> cosines;
    Buffer<T> sines;
};

}  // namespace detail

template <class T>
Result<Rotary<T>> Rotary<T>::make(const RotaryConfig& config, Memory& memory) {
    if (config.width % 2 != 0) {
        return std::unexpected(RopeWidthOdd{config.width});
    }
    if (!(std::isfinite(config.base) && config.base > 0.0)) {
        return std::unexpected(RopeBaseInvalid{config.base});
    }
    if (config.max_positions == 0) {
        return std::unexpected(RopeZeroPositions{});
    }
    const Shape shape{config.max_positions, config.width / 2};
    Result<Buffer<T>> cosines = Buffer<T>::make(memory, shape, Stage::rotary_table);
    if (!cosines) {
        return std::unexpected(cosines.error());
    }
    Result<Buffer<T>> sines = Buffer<T>::make(memory, shape, Stage::rotary_table);
    if (!sines) {
        return std::unexpected(sines.error());
    }
    const auto table = detail::make_node<detail::RotaryTable<T>>(memory, Stage::rotary_table);
    if (!table) {
        return std::unexpected(table.error());
    }
    // The portable and the fast kernels give the same bits, so whichever is best here may fill a table that
    // layers with any kernels share.
    detail::fill_rotations(cosines->data(), sines->data(), 0, config.max_positions, config.width, config.base,
                           *detail::available_kernels<T>().back());
    (*table)->config = config;
    (*table)->cosines = std::move(*cosines);
    (*table)->sines = std::move(*sines);
    return Rotary(*table);
}

template <class T>
Rotary<T>::Rotary(const Rotary& other) noexcept : table_(detail::retain(other.table_)) {}

template <class T>
Rotary<T>::Rotary(Rotary&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}

template <class T>
Rotary<T>& Rotary<T>::operator=(Rotary other) noexcept {
    std::swap(table_, other.table_);
    return *this;
}

template <class T>
Rotary<T>::~Rotary() {
    detail::release(table_);
}

template <class T>
const RotaryConfig& Rotary<T>::config() const {
    return table_->config;
}

template <class T>
std::span<const T> Rotary<T>::cosines() const {
    return table_->cosines.span();
}

template <class T>
std::span<const T> Rotary<T>::sines() const {
    return table_->sines.span();
}

template class Rotary<float>;
template class Rotary<double>;

}  // namespace attest
