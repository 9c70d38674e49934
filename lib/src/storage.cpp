#include <attest/storage.hpp>

#include <iterator>

#include "narrow.hpp"

namespace attest {
namespace detail {
namespace {

template <class S>
void narrow_run(const float* from, std::size_t count, std::uint16_t* to) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = round_to_stored<S>(from[i]).bits;
}

template <class S>
void widen_run(const std::uint16_t* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = widen(S{from[i]});
}

template <class S>
std::optional<std::size_t> round_run(float* values, std::size_t count) {
    const auto overflows = [](float value) {
        return (std::bit_cast<std::uint32_t>(value) & kFloatMagnitude) >= kOverflows<S>;
    };
    // Without a way out in the middle, which would keep the loop from becoming vectors.
    unsigned any = 0;
    for (std::size_t i = 0; i < count; ++i)
        any |= overflows(values[i]) ? 1U : 0U;
    if (any != 0) {
        std::size_t first = 0;
        while (!overflows(values[first]))
            ++first;
        return first;
    }
    for (std::size_t i = 0; i < count; ++i)
        values[i] = widen(round_to_stored<S>(values[i]));
    return std::nullopt;
}

}  // namespace

void narrow_all(const float* from, std::size_t count, KvStorage storage, std::uint16_t* to) {
    storage == KvStorage::bf16 ? narrow_run<BFloat16>(from, count, to) : narrow_run<Float16>(from, count, to);
}

void widen_all(const std::uint16_t* from, std::size_t count, KvStorage storage, float* to) {
    storage == KvStorage::bf16 ? widen_run<BFloat16>(from, count, to) : widen_run<Float16>(from, count, to);
}

std::optional<std::size_t> round_all(float* values, std::size_t count, KvStorage storage) {
    return storage == KvStorage::bf16 ? round_run<BFloat16>(values, count)
                                      : round_run<Float16>(values, count);
}

}  // namespace detail

std::string_view name(KvStorage storage) {
    // In the order of the enumeration.
    constexpr std::string_view names[] = {"computing", "bf16", "f16"};
    static_assert(std::size(names) == static_cast<std::size_t>(KvStorage::f16) + 1);
    return names[static_cast<std::size_t>(storage)];
}

std::uint16_t narrow(float value, KvStorage storage) {
    return storage == KvStorage::bf16 ? detail::round_to_stored<detail::BFloat16>(value).bits
                                      : detail::round_to_stored<detail::Float16>(value).bits;
}

float widen(std::uint16_t bits, KvStorage storage) {
    return storage == KvStorage::bf16 ? detail::widen(detail::BFloat16{bits})
                                      : detail::widen(detail::Float16{bits});
}

}  // namespace attest
