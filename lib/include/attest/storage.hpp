// How a cache keeps its keys and values: as they were computed, or rounded to half the memory of a float.
#pragma once

#include <cstdint>
#include <string_view>

namespace attest {

/// KvStorage is a property of a layer (MultiHeadAttention::stored_as), since it decides the numbers: a narrow
/// layer rounds every key, once turned, and every value to the nearest number of the storage, ties to even,
/// and computes with what it stored. So cached rows equal the full prefix bit for bit, as with `computing`.
///
/// Error bound: a key or value in range moves by at most u of itself plus ω: bf16 u = 2^−8, ω = 2^−134; f16
/// u = 2^−11, ω = 2^−25. Widening back is exact. Cost: two bytes an element instead of four.
enum class KvStorage : std::uint8_t {
    computing,  ///< the layer's own element type; nothing is rounded
    bf16,       ///< bfloat16: float's range (up to 0x1.fep127), 8 bits of precision
    f16,        ///< IEEE binary16: up to 65504, 11 bits of precision; what rounds beyond is refused
};

/// "computing", "bf16", "f16".
[[nodiscard]] std::string_view name(KvStorage storage);

/// narrow is the nearest number of a narrow storage, ties to even, as its 16 bits: infinity beyond its
/// largest, NaN for NaN (quiet, the leading payload kept). Precondition: storage is bf16 or f16.
[[nodiscard]] std::uint16_t narrow(float value, KvStorage storage);

/// widen is the float of 16 bits, exactly; a NaN comes back quiet. The same precondition.
[[nodiscard]] float widen(std::uint16_t bits, KvStorage storage);

}  // namespace attest
