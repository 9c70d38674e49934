// NEON on 64-bit Arm, where it is always there and its multiply-add is fused.
#define HWY_BASELINE_TARGETS HWY_NEON
#define HWY_COMPILE_ONLY_STATIC
#include "table.hpp"

#include "tables.hpp"

namespace attest::detail {

template <class T>
const Kernels<T>* highway_neon_kernels() noexcept {
    static const Kernels<T> table =
        HWY_NAMESPACE::HighwayKernels<T>::table("neon", portable_kernels<T>().advance);
    return &table;
}

template const Kernels<float>* highway_neon_kernels() noexcept;
template const Kernels<double>* highway_neon_kernels() noexcept;

}  // namespace attest::detail
