// The kernels with AVX2 and FMA, by function attribute and not by compiler flag: what this source shares with
// others, inline functions of the standard library above all, must still run on every x86-64.
#include "kernels_avx2.hpp"

#if defined(__x86_64__)
#define ATTEST_KERNEL [[gnu::target("avx2,fma")]]
#include "kernels_body.hpp"
#endif

namespace attest::detail {

#if defined(__x86_64__)
template <class T>
constexpr Kernels<T> kAvx2 = KernelBody<T>::table("loops");

template <class T>
const Kernels<T>* avx2_kernels() noexcept {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kAvx2<T> : nullptr;
}
#else
template <class T>
const Kernels<T>* avx2_kernels() noexcept {
    return nullptr;
}
#endif

template const Kernels<float>* avx2_kernels() noexcept;
template const Kernels<double>* avx2_kernels() noexcept;

}  // namespace attest::detail
