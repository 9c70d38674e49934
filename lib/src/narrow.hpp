// The elements of narrow storage, and how they turn into floats and back: bit operations and products by
// powers of two, without a branch, so that loops over them become vectors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <attest/storage.hpp>

namespace attest::detail {

struct BFloat16 {
    std::uint16_t bits;
};
struct Float16 {
    std::uint16_t bits;
};

inline constexpr std::uint32_t kFloatMagnitude = 0x7fffffffU;
inline constexpr std::uint32_t kFloatInfinity = 0x7f800000U;
inline constexpr std::uint32_t kFloatQuiet = 0x00400000U;

/// The value of a stored element; what is stored as it was computed stands for itself.
inline float widen(float value) {
    return value;
}
inline double widen(double value) {
    return value;
}
inline float widen(BFloat16 stored) {
    const std::uint32_t bits = std::uint32_t{stored.bits} << 16;
    const bool nan = (bits & kFloatMagnitude) > kFloatInfinity;
    return std::bit_cast<float>(bits | (nan ? kFloatQuiet : 0U));
}
inline float widen(Float16 stored) {
    const std::uint32_t magnitude = stored.bits & 0x7fffU;
    const std::uint32_t sign = std::uint32_t{stored.bits & 0x8000U} << 16;
    // The same fraction under float's exponents, which are 112 higher; subnormals become normal by it.
    const std::uint32_t moved = magnitude << 13;
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(moved) * 0x1p112F);
    const std::uint32_t special = kFloatInfinity | moved | (magnitude > 0x7c00U ? kFloatQuiet : 0U);
    return std::bit_cast<float>(sign | (magnitude >= 0x7c00U ? special : finite));
}

/// round_to_stored is the nearest element, ties to even.
template <class S>
S round_to_stored(float value);

/// The bits of the smallest float that rounds to infinity: half a unit above the largest finite element.
template <class S>
inline constexpr std::uint32_t kOverflows = 0;
template <>
inline constexpr std::uint32_t kOverflows<BFloat16> = 0x7f7f8000U;
template <>
inline constexpr std::uint32_t kOverflows<Float16> = 0x477ff000U;

template <>
inline BFloat16 round_to_stored<BFloat16>(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    // Half a unit less one, and the one where the last bit kept is odd: a carry runs into the exponent, and
    // at the end of the range into infinity.
    const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    const bool nan = (bits & kFloatMagnitude) > kFloatInfinity;
    return {static_cast<std::uint16_t>(nan ? bits >> 16 | 0x40U : rounded)};
}

template <>
inline Float16 round_to_stored<Float16>(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & kFloatMagnitude;
    // Normal results: as above, and the exponent 112 lower.
    const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
    const std::uint32_t normal = rounded >= 0x47800000U ? 0x7c00U : (rounded - 0x38000000U) >> 13;
    // Subnormal ones are multiples of 2^−24, the unit of a float just above 1/2: adding that rounds.
    const float above_half = std::bit_cast<float>(magnitude) + 0.5F;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(above_half) - 0x3f000000U;
    const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
    const std::uint32_t nan = 0x7e00U | (magnitude >> 13 & 0x3ffU);
    const std::uint32_t result = magnitude > kFloatInfinity ? nan : finite;
    return {static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | result)};
}

/// narrow_all writes the bits of `count` floats; widen_all turns them back.
void narrow_all(const float* from, std::size_t count, KvStorage storage, std::uint16_t* to);
void widen_all(const std::uint16_t* from, std::size_t count, KvStorage storage, float* to);

/// round_all makes every float the nearest that `storage` holds; or, where one would become infinite or NaN,
/// changes none and returns the first such index.
std::optional<std::size_t> round_all(float* values, std::size_t count, KvStorage storage);

/// Bytes of one stored element of a layer that computes in T.
template <class T>
constexpr std::size_t element_bytes(KvStorage storage) {
    return storage == KvStorage::computing ? sizeof(T) : sizeof(std::uint16_t);
}

}  // namespace attest::detail
