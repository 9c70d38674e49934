#include "rotation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "double_double.hpp"
#include "rotation_block.hpp"
#include "turns.hpp"

// How an entry comes about, and why it is right to half an ulp at every position.
//
// Direct. The angle of any position is known in turns (turns.hpp). Its distance from the nearest quarter
// turn, |f| ≤ 1/8, becomes a double-double (2u²) times 2π (1u² as a constant, 5u²): a, 8u² relative. Taylor's
// series in double-double give sin a within 5u² and cos a within 9u² more (below), and an error of a counts
// at most as a·cot a ≤ 1 and a·tan a ≤ π/4. In all κ ≤ 16u² relative, however small the entry.
//
// Recurrence. Every kDirectRows = 64th row starts directly; from there a row is the row before times the
// step's rotation, also made directly. In a product, (c, s)(γ, σ) = (cγ − sσ, cσ + sγ), each component errs
// by at most (5u² + κ)(|cγ| + |sσ|), or the like, and 3u² of itself; as the two brackets' squares sum to 2 at
// most, the errors of a vector grow by √2·21u² + 3u² < 33u² a step: below 64·33u² + κ < 2^12 u² = 2^−94.
//
// Small entries. Let M be the largest sine of a column from the direct row on down to an entry's own. If M >
// 1/2 the absolute error 2^−94 is below M·2^−93. Else |c| > 0.86 and |σ| ≤ 2.4M, as cσ = s' − sγ, and the
// error e of s grows by at most |σ|·2^−94 + (5u² + κ)·3.1M + 3u²M a step, in 64 steps by less than M·2^−86.5,
// to which the start adds κM. So in either case e < M·2^−86. An entry of at least 2^−16 M has a relative
// error below 2^−70: 2^−17 ulp of a double. Smaller ones, rare but for slow pairs' first rows, are made
// directly. The same holds for cosines.
//
// Underflow. Products of doubles are exact enough while entries exceed 2^−800; smaller ones, which only bases
// beyond 2^780 have, are made directly too, from a sine scaled by 2^512.

namespace attest::detail {
namespace {

// What one angle has. The sine is to be divided by 2^512 if scaled.
struct Angle {
    DoubleDouble cosine;
    DoubleDouble sine;
    bool scaled;
};

constexpr DoubleDouble kTwoPi = {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

// 1/(2k + 1)! and 1/(2k)!, k = 0 .. 8; further ones matter only as doubles.
constexpr std::size_t kLongTerms = 9;
constexpr DoubleDouble kSineTerms[kLongTerms] = {{1.0, 0.0},
                                                 {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                                 {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                                 {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
                                                 {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
                                                 {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
                                                 {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
                                                 {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
                                                 {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103}};
constexpr DoubleDouble kCosineTerms[kLongTerms] = {{1.0, 0.0},
                                                   {0.5, 0.0},
                                                   {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                                   {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                                   {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
                                                   {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
                                                   {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
                                                   {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
                                                   {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101}};
// 1/19!, 1/21!, .. 1/27! and 1/18!, 1/20!, .. 1/28!.
constexpr double kSineTail[] = {0x1.2f49b46814157p-57, 0x1.71b8ef6dcf572p-66, 0x1.761b41316381ap-75,
                                0x1.3f3ccdd165fa9p-84, 0x1.d1ab1c2dccea3p-94};
constexpr double kCosineTail[] = {0x1.6827863b97d97p-53, 0x1.e542ba4020225p-62, 0x1.0ce396db7f853p-70,
                                  0x1.f2cf01972f578p-80, 0x1.88e85fc6a4e5ap-89, 0x1.0a18a2635085dp-98};

// Σ_k (−z)^k t_k over the long terms and the tail, 0 ≤ z ≤ (π/4)². Horner's sums from k = 1 err by 4u²
// relative, as a lower term is at least 12 times the next; times z, itself within 5u², that is 14u² of at
// most 0.31: 4.4u² (cosine, of a sum ≥ 0.7) or 14u² of 0.11 (sine, of ≥ 0.9); the last sum adds 3u². The
// tail's rounding, 2^−52 of z^9/18! at most, and what is left out, z^15/30! and z^14/29!, are below u²/16.
template <std::size_t TailTerms>
DoubleDouble alternating_series(DoubleDouble z, const DoubleDouble (&terms)[kLongTerms],
                                const double (&tail)[TailTerms]) {
    double rest = tail[TailTerms - 1];
    for (std::size_t k = TailTerms - 1; k-- > 0;) {
        rest = std::fma(-z.high, rest, tail[k]);
    }
    DoubleDouble sum = {rest, 0.0};
    const DoubleDouble minus_z = negate(z);
    for (std::size_t k = kLongTerms; k-- > 0;) {
        sum = add(terms[k], multiply(minus_z, sum));
    }
    return sum;
}

// x · 2^exponent as a double-double, within 2u² relative: the leading 106 bits, of which the first is one.
template <std::size_t N>
DoubleDouble to_double_double(const Fraction<N>& x, int exponent) {
    const std::size_t zeros = x.zero_limbs();
    if (zeros == N) {
        return {0.0, 0.0};
    }
    const int shift = std::countl_zero(x.limb[zeros]);
    const Fraction<N> bits = shift_left(x, 32 * zeros + static_cast<std::size_t>(shift));
    const std::uint64_t upper = std::uint64_t{bits.limb[0]} << 32 | bits.limb[1];
    const std::uint64_t lower = std::uint64_t{bits.limb[2]} << 32 | bits.limb[3];
    const std::uint64_t second = (upper & 0x7ffU) << 42 | lower >> 22;
    const double unit = std::ldexp(1.0, exponent - 53 - shift - 32 * static_cast<int>(zeros));
    return fast_two_sum(static_cast<double>(upper >> 11) * unit,
                        static_cast<double>(second) * 0x1p-53 * unit);
}

// The rotation by `turns`, directly.
template <std::size_t N>
Angle angle_of(const Fraction<N>& turns) {
    // The nearest quarter turn and the signed rest, at most an eighth.
    const std::uint32_t quarter = ((turns.limb[0] >> 29) + 1) / 2;
    Fraction<N> rest = turns;
    rest.limb[0] -= quarter << 30;
    const bool negative = rest.limb[0] >> 31 != 0;
    if (negative) {
        rest = negate(rest);
    }
    // Of tiny sines only. No base and position are known to come so near any other quarter turn, where the
    // same number would be a cosine.
    const bool scaled = quarter % 4 == 0 && rest.zero_limbs() >= 16;
    const DoubleDouble turn_part = to_double_double(rest, scaled ? 512 : 0);
    const DoubleDouble a = multiply(turn_part, kTwoPi);
    // A scaled angle is below 2^−509: it is its own sine, and its cosine 1.
    DoubleDouble sine = a;
    DoubleDouble cosine = {1.0, 0.0};
    if (!scaled) {
        const DoubleDouble square = multiply(a, a);
        sine = multiply(a, alternating_series(square, kSineTerms, kSineTail));
        cosine = alternating_series(square, kCosineTerms, kCosineTail);
    }
    if (negative) {
        sine = negate(sine);
    }
    switch (quarter % 4) {
        case 0:
            return {cosine, sine, scaled};
        case 1:
            return {negate(sine), cosine, false};
        case 2:
            return {negate(cosine), negate(sine), false};
        default:
            return {sine, negate(cosine), false};
    }
}

template <class T>
T rounded_sine(const Angle& angle) {
    return angle.scaled ? round_scaled<T>(angle.sine) : round_to<T>(angle.sine);
}

void store(PairRotations& rotations, std::size_t lane, const Angle& angle) {
    const double unit = angle.scaled ? 0x1p-512 : 1.0;
    rotations.cosine_high[lane] = angle.cosine.high;
    rotations.cosine_low[lane] = angle.cosine.low;
    rotations.sine_high[lane] = angle.sine.high * unit;
    rotations.sine_low[lane] = angle.sine.low * unit;
}

// Whether an entry is too small for the recurrence beside the largest of its column so far, or near
// underflow.
template <class T>
bool needs_direct(T entry, T& largest) {
    const T size = std::fabs(entry);
    largest = std::max(largest, size);
    return size < std::max(largest * T(0x1p-16), static_cast<T>(0x1p-800));
}

template <class T, std::size_t N>
void fill(T* cosines, T* sines, std::size_t first_position, std::size_t positions, std::uint32_t half,
          double base, const Kernels<T>& kernels) {
    const BinaryLogarithm<N> logarithm = binary_logarithm<N>(base);
    for (std::uint32_t first_pair = 0; first_pair < half; first_pair += kPairChunk) {
        RotationBlock block = {};
        block.pairs = std::min<std::size_t>(kPairChunk, half - first_pair);
        Fraction<N> turns[kPairChunk];
        for (std::uint32_t lane = 0; lane < block.pairs; ++lane) {
            turns[lane] = turns_of_pair(logarithm, first_pair + lane, half);
            store(block.step, lane, angle_of(turns[lane]));
        }
        for (std::size_t row = 0; row < positions; row += kDirectRows) {
            const std::size_t position = first_position + row;
            block.rows = std::min(kDirectRows, positions - row);
            for (std::size_t lane = 0; lane < block.pairs; ++lane) {
                store(block.first, lane, angle_of(multiple(turns[lane], position)));
            }
            T* const block_cosines = cosines + row * half + first_pair;
            T* const block_sines = sines + row * half + first_pair;
            kernels.advance(block_cosines, block_sines, half, block);

            for (std::size_t lane = 0; lane < block.pairs; ++lane) {
                T largest_cosine = T(0);
                T largest_sine = T(0);
                for (std::size_t k = 0; k < block.rows; ++k) {
                    T& cosine = block_cosines[k * half + lane];
                    T& sine = block_sines[k * half + lane];
                    const bool small_cosine = needs_direct(cosine, largest_cosine);
                    const bool small_sine = needs_direct(sine, largest_sine);
                    if (small_cosine || small_sine) {
                        const Angle angle = angle_of(multiple(turns[lane], position + k));
                        cosine = round_to<T>(angle.cosine);
                        sine = rounded_sine<T>(angle);
                    }
                }
            }
        }
    }
}

}  // namespace

template <class T>
void fill_rotations(T* cosines, T* sines, std::size_t first_position, std::size_t positions,
                    std::size_t width, double base, const Kernels<T>& kernels) {
    assert(std::isfinite(base) && base > 0.0);
    assert(width % 2 == 0 && width / 2 <= 0xffffffffU);
    assert(first_position % kDirectRows == 0);
    const auto half = static_cast<std::uint32_t>(width / 2);
    const std::int64_t exponent = binary_exponent(base);
    if (exponent >= -64 && exponent < 64) {
        fill<T, kUsualLimbs>(cosines, sines, first_position, positions, half, base, kernels);
    } else {
        fill<T, kMostLimbs>(cosines, sines, first_position, positions, half, base, kernels);
    }
}

template void fill_rotations(float*, float*, std::size_t, std::size_t, std::size_t, double,
                             const Kernels<float>&);
template void fill_rotations(double*, double*, std::size_t, std::size_t, std::size_t, double,
                             const Kernels<double>&);

}  // namespace attest::detail
