// Tables of cosines and sines of position · base^(−2i/width), right to half an ulp at every position.
#pragma once

#include <cstddef>

#include "kernels.hpp"

namespace attest::detail {

/// Every kDirectRows-th row is made by itself, the rows between by a recurrence.
inline constexpr std::size_t kDirectRows = 64;

/// fill_rotations writes cosines and sines [positions, width/2], row-major: entry (p, i) belongs to the angle
/// (first_position + p) · base^(−2i/width), and depends on nothing but that position, i, width and base.
///
/// Domain: base finite and > 0 (subnormal ones too), width even and below 2^33, first_position a multiple of
/// kDirectRows, any number of positions.
/// Error bound: each entry is within 0.5001 ulp of the exact cosine or sine; position 0 is exact.
/// Cost: no allocation, a few kB of stack; 6 ns (AVX2) to 50 ns an entry, 4 µs a pair and 8 µs a table, for
/// bases in [2^−64, 2^64); 0.4 ms a pair for bases beyond.
template <class T>
void fill_rotations(T* cosines, T* sines, std::size_t first_position, std::size_t positions,
                    std::size_t width, double base, const Kernels<T>& kernels);

}  // namespace attest::detail
