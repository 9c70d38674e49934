// Normal numbers as PyTorch's generator makes them on a processor with AVX2.
//
// Box and Muller's method turns two uniform numbers of 24 bits into r·cos and r·sin. PyTorch does that in
// float, with the polynomials of Cephes (its aten/src/ATen/native/cpu/avx_mathfun.h); who makes the same
// numbers with an accurate logarithm, sine and cosine gets numbers a few units of the last place away. The
// uniform numbers can be told from either.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace attest::testing {

inline float cephes_log(float v) {
    int exponent = 0;
    const float mantissa = std::frexp(v, &exponent);
    const bool small = mantissa < 0.707106781186547524F;
    float x = (mantissa - 1.0F) + (small ? mantissa : 0.0F);
    const auto e = static_cast<float>(small ? exponent - 1 : exponent);
    const float z = x * x;
    constexpr std::array kFactors{7.0376836292E-2F,  -1.1514610310E-1F, 1.1676998740E-1F,
                                  -1.2420140846E-1F, 1.4249322787E-1F,  -1.6668057665E-1F,
                                  2.0000714765E-1F,  -2.4999993993E-1F, 3.3333331174E-1F};
    float y = kFactors[0];
    for (std::size_t n = 1; n < kFactors.size(); ++n)
        y = std::fma(y, x, kFactors[n]);
    y = y * x * z;
    y = std::fma(e, -2.12194440e-4F, y);
    y = std::fma(z, -0.5F, y);
    return std::fma(e, 0.693359375F, x + y);
}

// Cosine and sine of an angle in [0, 2π].
inline std::pair<float, float> cephes_turn(float angle) {
    const int octant = (static_cast<int>(angle * 1.27323954473516F) + 1) & ~1;
    const auto octants = static_cast<float>(octant);
    float x = angle;
    for (const float part : {-0.78515625F, -2.4187564849853515625e-4F, -3.77489497744594108e-8F})
        x = std::fma(octants, part, x);
    const float z = x * x;
    float c = std::fma(2.443315711809948E-005F, z, -1.388731625493765E-003F);
    c = std::fma(c, z, 4.166664568298827E-002F) * z * z;
    c = std::fma(z, -0.5F, c) + 1.0F;
    float s = std::fma(-1.9515295891E-4F, z, 8.3321608736E-3F);
    s = std::fma(s, z, -1.6666654611E-1F) * z;
    s = std::fma(s, x, x);
    const bool even = (octant & 2) == 0;
    const float sine_sign = (octant & 4) != 0 ? -1.0F : 1.0F;
    const float cosine_sign = ((octant - 2) & 4) == 0 ? -1.0F : 1.0F;
    return {(even ? c : s) * cosine_sign, (even ? s : c) * sine_sign};
}

// The same random bits, as PyTorch makes normal numbers of them: elements j and j + 8 of sixteen are a pair.
inline std::vector<float> made_by_torch(const std::vector<double>& accurate) {
    std::vector<float> made(accurate.size());
    for (std::size_t first = 0; first + 16 <= accurate.size(); first += 16)
        for (std::size_t j = first; j < first + 8; ++j) {
            const double a = accurate[j], b = accurate[j + 8];
            const double turn = std::atan2(b, a) / (2 * std::numbers::pi);
            const double u1 = std::round(std::exp(-(a * a + b * b) / 2) * 0x1p24) * 0x1p-24;
            const double u2 = std::round((turn < 0 ? turn + 1 : turn) * 0x1p24) * 0x1p-24;
            const float radius = std::sqrt(-2.0F * cephes_log(static_cast<float>(u1)));
            const auto [c, s] =
                cephes_turn(static_cast<float>(2 * std::numbers::pi) * static_cast<float>(u2));
            made[j] = radius * c;
            made[j + 8] = radius * s;
        }
    return made;
}

}  // namespace attest::testing
