// Rotary tables against MPFR.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "kernels.hpp"
#include "numerics_precise.hpp"
#include "rotation.hpp"

namespace attest::properties::numerics {

/// What of a table is looked at.
struct TableCheck {
    double base;
    std::size_t width;
    std::size_t first_position;
    std::size_t positions;
    std::size_t pair_stride;
    std::size_t position_stride;
};

/// Half an ulp and what contract 5 allows beyond it.
inline constexpr double kTableUlps = 0.5001;

/// The exact angle of a pair for one position: base^(−2i/width).
inline void set_pair_angle(mpfr_ptr angle, double base, std::size_t pair, std::size_t width) {
    mpfr_set_d(angle, base, MPFR_RNDN);
    mpfr_log(angle, angle, MPFR_RNDN);
    mpfr_mul_ui(angle, angle, 2 * pair, MPFR_RNDN);
    mpfr_div_ui(angle, angle, width, MPFR_RNDN);
    mpfr_neg(angle, angle, MPFR_RNDN);
    mpfr_exp(angle, angle, MPFR_RNDN);
}

/// check_table fills a table, and expects every entry looked at within kTableUlps. Returns the worst error.
template <class T>
double check_table(const TableCheck& check) {
    const std::size_t half = check.width / 2;
    std::vector<T> cosines(check.positions * half);
    std::vector<T> sines(check.positions * half);
    detail::fill_rotations(cosines.data(), sines.data(), check.first_position, check.positions, check.width,
                           check.base, *detail::available_kernels<T>().back());
    // Integer digits of an angle are lost to the reduction by π, and a small sine loses its zeros.
    const mpfr_prec_t angle_bits = check.base > 0x1p-60 && check.base < 0x1p60 ? 320 : 2600;
    Precise step(angle_bits);
    Precise angle(angle_bits);
    Precise cosine(160);
    Precise sine(160);
    Worst worst;
    std::size_t worst_position = 0;
    for (std::size_t pair = 0; pair < half; pair += check.pair_stride) {
        set_pair_angle(step, check.base, pair, check.width);
        for (std::size_t row = 0; row < check.positions; row += check.position_stride) {
            mpfr_mul_ui(angle, step, check.first_position + row, MPFR_RNDN);
            mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
            const double met = std::max(ulps_off(cosines[row * half + pair], cosine),
                                        ulps_off(sines[row * half + pair], sine));
            if (!(met <= worst.error)) {
                worst.meet(met, static_cast<double>(pair));
                worst_position = check.first_position + row;
            }
        }
    }
    std::printf("rotary %s base %g width %zu positions %zu to %zu: worst %.7f ulp at (%zu, %g)\n",
                sizeof(T) == 4 ? "float" : "double", check.base, check.width, check.first_position,
                check.first_position + check.positions - 1, worst.error, worst_position, worst.place);
    EXPECT_LE(worst.error, kTableUlps);
    return worst.error;
}

}  // namespace attest::properties::numerics
