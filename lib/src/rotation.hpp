// Tables of cosines and sines of position · base^(−2i/width), right to half an ulp at every position.
#pragma once

#include <cstddef>

#include "kernels.hpp"

namespace attest::detail {

/// fill_rotations writes cosines and sines [positions, width/2], row-major: entry (p, i) belongs to the angle
/// (first_position + p) · base^(−2i/width).
///
/// Domain: base finite and > 0 (subnormal ones too), width even and below 2^33, any positions.
/// Error bound: each entry is within 0.5001 ulp of the exact cosine or sine; position 0 is exact.
/// Cost: allocates nothing; about 64 bytes of stack a pair of a chunk of 8, 30 to 60 ns an entry.
template <class T>
void fill_rotations(T* cosines, T* sines, std::size_t first_position, std::size_t positions,
                    std::size_t width, double base, const Kernels<T>& kernels);

}  // namespace attest::detail
