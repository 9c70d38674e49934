// AVX-512 with F, VL, DQ and BW.
#define HWY_BASELINE_TARGETS HWY_AVX3
#define HWY_COMPILE_ONLY_STATIC
#include "table.hpp"

#include "../kernels_avx2.hpp"
#include "tables.hpp"

namespace attest::detail {

template <class T>
const Kernels<T>* highway_avx512_kernels() noexcept {
    // The recurrence of rotary tables keeps its eight pairs of doubles in AVX2.
    const Kernels<T>* const loops = avx2_kernels<T>();
    if (loops == nullptr || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("bmi2"))
        return nullptr;
    static const Kernels<T> table = HWY_NAMESPACE::HighwayKernels<T>::table("avx512", loops->advance);
    return &table;
}

template const Kernels<float>* highway_avx512_kernels() noexcept;
template const Kernels<double>* highway_avx512_kernels() noexcept;

}  // namespace attest::detail
