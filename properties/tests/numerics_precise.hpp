// Exact values by MPFR, for what the library computes without it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <mpfr.h>

namespace attest::properties::numerics {

/// Precise is one MPFR number of fixed precision.
class Precise {
  public:
    explicit Precise(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
    Precise(const Precise&) = delete;
    Precise& operator=(const Precise&) = delete;
    ~Precise() { mpfr_clear(value_); }
    operator mpfr_ptr() { return value_; }
    operator mpfr_srcptr() const { return value_; }

  private:
    mpfr_t value_;
};

/// exponent_of_ulp is the exponent of the last digit T has at the size of `exact`, which is not zero.
template <class T>
long exponent_of_ulp(mpfr_srcptr exact) {
    const long digits = std::numeric_limits<T>::digits;
    const long least = std::numeric_limits<T>::min_exponent - digits;  // of the least subnormal
    return std::max(static_cast<long>(mpfr_get_exp(exact)) - digits, least);
}

/// ulps_off is |got − exact| in ulps of T, half of an ulp being the best there is. Destroys `exact`. NaN if
/// got is.
template <class T>
double ulps_off(T got, mpfr_ptr exact) {
    if (mpfr_zero_p(exact) != 0) {
        // An exact zero is +0 here.
        return got == T(0) && !std::signbit(got) ? 0.0 : std::numeric_limits<double>::infinity();
    }
    const long ulp = exponent_of_ulp<T>(exact);
    mpfr_sub_d(exact, exact, static_cast<double>(got), MPFR_RNDN);
    mpfr_mul_2si(exact, exact, -ulp, MPFR_RNDN);
    return std::fabs(mpfr_get_d(exact, MPFR_RNDN));
}

/// Worst keeps the largest error and where it was met. A NaN is larger than any number.
struct Worst {
    double error = 0.0;
    double place = 0.0;

    void meet(double met, double at) {
        if (!(met <= error)) {
            error = std::isnan(met) ? std::numeric_limits<double>::infinity() : met;
            place = at;
        }
    }
};

}  // namespace attest::properties::numerics
