// The kernels on Highway, one table for each instruction set; nullptr where this machine has it not.
#pragma once

#include "../kernels.hpp"

namespace attest::detail {

template <class T>
[[nodiscard]] const Kernels<T>* highway_avx2_kernels() noexcept;
template <class T>
[[nodiscard]] const Kernels<T>* highway_avx512_kernels() noexcept;
template <class T>
[[nodiscard]] const Kernels<T>* highway_neon_kernels() noexcept;

}  // namespace attest::detail
