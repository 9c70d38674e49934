// The numbers in which exact answers are formed.
//
// Every exact value of this directory is computed in `Real`, fifty decimal digits of MPFR on the stack. Fifty
// digits are far below any bound this project states, and the oracle does not take that on trust: it
// evaluates everything a second time in `Real100`, by a second formulation, and adds what the two differ by
// to the bound. `Real400` and `Real800` are the same pair for inputs so large that fifty digits of a score
// still leave its exponential undetermined.
#pragma once

#include <boost/multiprecision/mpfr.hpp>

namespace attest::reference {

template <unsigned digits>
using RealOf = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<digits, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

using Real = RealOf<50>;
using Real100 = RealOf<100>;
using Real400 = RealOf<400>;
using Real800 = RealOf<800>;

// magnitude_up returns the smallest double that is not below |x|; it is +infinity when |x| exceeds every
// double.
template <unsigned digits>
[[nodiscard]] inline double magnitude_up(const RealOf<digits>& x) noexcept {
    const double rounded = mpfr_get_d(x.backend().data(), MPFR_RNDA);
    return rounded < 0 ? -rounded : rounded;
}

// magnitude_down returns the largest double that is not above |x|.
template <unsigned digits>
[[nodiscard]] inline double magnitude_down(const RealOf<digits>& x) noexcept {
    const double rounded = mpfr_get_d(x.backend().data(), MPFR_RNDZ);
    return rounded < 0 ? -rounded : rounded;
}

}  // namespace attest::reference
