// The kernels for x86-64 with AVX2 and FMA.
#pragma once

#include "kernels.hpp"

namespace attest::detail {

/// avx2_kernels is nullptr if this machine, or this build's architecture, has no AVX2 or no FMA.
template <class T>
[[nodiscard]] const Kernels<T>* avx2_kernels() noexcept;

}  // namespace attest::detail
