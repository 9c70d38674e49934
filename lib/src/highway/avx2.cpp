// AVX2 with FMA.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_COMPILE_ONLY_STATIC
#include "table.hpp"

#include "../kernels_avx2.hpp"
#include "tables.hpp"

namespace attest::detail {

template <class T>
const Kernels<T>* highway_avx2_kernels() noexcept {
    const Kernels<T>* const loops = avx2_kernels<T>();
    if (loops == nullptr || !__builtin_cpu_supports("bmi2")) return nullptr;
    static const Kernels<T> table = HWY_NAMESPACE::HighwayKernels<T>::table("avx2", loops->advance);
    return &table;
}

template const Kernels<float>* highway_avx2_kernels() noexcept;
template const Kernels<double>* highway_avx2_kernels() noexcept;

}  // namespace attest::detail
