// The kernels through std::fma, for any machine: its instruction where the compiler may use it, else the C
// library's function, which is right to the last bit by other means.
#define ATTEST_KERNEL
#include "kernels_body.hpp"

namespace attest::detail {

template <class T>
constexpr Kernels<T> kPortable = KernelBody<T>::table("portable");

template <class T>
const Kernels<T>& portable_kernels() noexcept {
    return kPortable<T>;
}

template const Kernels<float>& portable_kernels() noexcept;
template const Kernels<double>& portable_kernels() noexcept;

}  // namespace attest::detail
