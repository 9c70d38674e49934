#include "fillings.hpp"

#include <algorithm>
#include <bit>

namespace attest::cases {

namespace {

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;

// SplitMix64 (Steele, Lea, Flood 2014): the finaliser, and draw number n of a stream.
constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
constexpr std::uint64_t draw(std::uint64_t stream, std::uint64_t n) {
    return mix(stream + (n + 1) * kGamma);
}

// The first three numbers of the published generator from seed 1234567.
static_assert(draw(1234567, 0) == 6457827717110365317u);
static_assert(draw(1234567, 1) == 3203168211198807973u);
static_assert(draw(1234567, 2) == 9817491932198370423u);

// What a type can hold, in the terms of its pattern.
struct Format {
    int digits;  // significant bits
    int exponent_min;
    int exponent_max;
    int huge_min;  // squares of what is huge may overflow, squares of what is tiny may vanish
    int tiny_max;
};
constexpr Format kFloat = {24, -126, 127, 60, -60};
constexpr Format kDouble = {53, -1022, 1023, 500, -500};

const Format& format_of(ElementType type) {
    return type == ElementType::float32 ? kFloat : kDouble;
}

// 2^exponent, exponent from -1022 to 1023.
double power(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// The top `bits` bits as a signed whole number.
double top_signed(std::uint64_t random, int bits) {
    return static_cast<double>(static_cast<std::int64_t>(random) >> (64 - bits));
}

// ±2^exponent · 1.m with the mantissa bits the type has.
double compose(const Format& format, std::uint64_t random, int exponent, bool negative) {
    const std::uint64_t mantissa = random >> (65 - format.digits) << (53 - format.digits);
    const std::uint64_t sign = negative ? std::uint64_t{1} << 63 : 0;
    return std::bit_cast<double>(sign | static_cast<std::uint64_t>(exponent + 1023) << 52 | mantissa);
}

// k / 2^(p−1), k a signed whole number of p bits: every multiple in [−1, 1) is equally likely.
double uniform(const Format& format, std::uint64_t random) {
    return top_signed(random, format.digits) * power(1 - format.digits);
}

// Sum of three uniforms on [−1, 1): mean 0 and variance 1, on a grid coarse enough that the sum is exact.
double normal(const Format& format, std::uint64_t stream, std::uint64_t n) {
    const int bits = format.digits - 2;
    double sum = 0.0;
    for (std::uint64_t i = 0; i < 3; ++i)
        sum += top_signed(draw(stream, 3 * n + i), bits);
    return sum * power(1 - bits);
}

std::uint64_t integer_square_root(std::uint64_t value) {
    std::uint64_t root = 0;
    for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
        if ((root | bit) * (root | bit) <= value) root |= bit;
    }
    return root;
}

// Uniform on ± √(6 / (fan in + fan out)) (Glorot, Bengio 2010), the limit cut to 29 binary places.
double xavier(const Source& source, std::uint64_t random) {
    const std::uint64_t ratio = (std::uint64_t{6} << 58) / std::max<std::uint64_t>(source.fans, 1);
    const double limit = static_cast<double>(integer_square_root(ratio)) * power(-29);
    const double value = uniform(format_of(source.type), random) * limit;
    return source.type == ElementType::float32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// No value twice in a tensor of up to 2^22 elements: the high 22 bits are a permutation of the draw number,
// the bits below (double only) are free.
double distinct(const Source& source, std::uint64_t n) {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << 22) - 1;
    std::uint64_t j = (n * 0x2c1b3c6d + source.stream) & kMask;
    j ^= j >> 11;
    j = (j * 0x297a2d39) & kMask;
    j ^= j >> 13;
    const auto high = static_cast<std::int64_t>(2 * j + 1) - (std::int64_t{1} << 22);
    if (source.type == ElementType::float32) return static_cast<double>(high) * power(-22);
    const auto low = static_cast<std::int64_t>(draw(source.stream, n) >> 33);
    return static_cast<double>(high * (std::int64_t{1} << 31) + low) * power(-53);
}

// x: every row is the same ±1 pattern plus noise below 2^-4, and one row a batch (the last, or any) is
// sixteen times it, so that under identity-like weights its key scores 16 √d against √d. A weight: identity
// plus noise below 2^-8.
double needle(const Source& source, const Place& place) {
    const bool narrow = source.type == ElementType::float32;
    const double noise =
        top_signed(draw(source.stream, place.draw), narrow ? 16 : 45) * power(narrow ? -19 : -48);
    if (!source.is_x) {
        const double one = place.row % std::max<std::uint64_t>(source.columns, 1) == place.column ? 1.0 : 0.0;
        return one + noise * power(-4);
    }
    const std::uint64_t choice = draw(mix(source.stream ^ 1), place.batch);
    const std::uint64_t rows = std::max<std::uint64_t>(source.rows, 1);
    const std::uint64_t row = choice >> 63 != 0 ? rows - 1 : choice % rows;
    const double sign = draw(mix(source.stream ^ 2), place.column) >> 63 != 0 ? -1.0 : 1.0;
    return sign * (place.row == row ? 16.0 : 1.0) + noise;
}

double ranged(const Format& format, std::uint64_t stream, std::uint64_t n, int low, int high) {
    const std::uint64_t choice = draw(stream, 2 * n + 1);
    const int exponent = low + static_cast<int>((choice >> 1) % static_cast<std::uint64_t>(high - low + 1));
    return compose(format, draw(stream, 2 * n), exponent, (choice & 1) != 0);
}

// A multiple of the least positive number, of any magnitude below the normal ones, never 0.
double subnormal(const Format& format, std::uint64_t stream, std::uint64_t n) {
    const std::uint64_t choice = draw(stream, 2 * n + 1);
    const std::uint64_t shift = (choice >> 1) % static_cast<std::uint64_t>(format.digits - 1);
    const std::uint64_t steps = (draw(stream, 2 * n) >> (65 - format.digits) >> shift) | 1;
    // The least float is a normal double; a product by a power of two is exact in both types.
    const double value =
        format.digits == 24 ? static_cast<double>(steps) * power(-149) : std::bit_cast<double>(steps);
    return (choice & 1) != 0 ? -value : value;
}

// Neighbours 2i and 2i+1 differ by a few ulps in magnitude; in x their signs differ, in weights they agree,
// so that the terms of a dot product cancel in pairs.
double cancelling(const Source& source, std::uint64_t n) {
    const Format& format = format_of(source.type);
    // The leading mantissa bit stays 0, so that the neighbour a few ulps away has the same exponent.
    const std::uint64_t first = draw(source.stream, n / 2 * 2) >> 1;
    const std::uint64_t choice = draw(source.stream, n / 2 * 2 + 1);
    double magnitude = compose(format, first, 8, false);
    bool negative = (choice & 1) != 0;
    if (n % 2 == 1) {
        magnitude += static_cast<double>(1 + (choice >> 1) % 4) * power(8 + 1 - format.digits);
        negative = negative != source.is_x;
    }
    return negative ? -magnitude : magnitude;
}

double identity(const Source& source, const Place& place) {
    const std::uint64_t columns = std::max<std::uint64_t>(source.columns, 1);
    return place.row % columns == place.column ? 1.0 : 0.0;
}

}  // namespace

double value_of(const Source& source, const Place& place) {
    const Format& format = format_of(source.type);
    const std::uint64_t n = place.draw;
    switch (source.filling) {
        case Filling::zeros:
            return 0.0;
        case Filling::ones:
            return 1.0;
        case Filling::identity:
            return identity(source, place);
        case Filling::normal:
            return normal(format, source.stream, n);
        case Filling::uniform:
            return uniform(format, draw(source.stream, n));
        case Filling::xavier:
            return xavier(source, draw(source.stream, n));
        case Filling::integers:
            return static_cast<double>((draw(source.stream, n) >> 32) * 9 >> 32) - 4.0;
        case Filling::distinct:
            return distinct(source, n);
        case Filling::needle:
            return needle(source, place);
        case Filling::huge:
            return ranged(format, source.stream, n, format.huge_min, format.exponent_max - 1);
        case Filling::tiny:
            return ranged(format, source.stream, n, format.exponent_min, format.tiny_max);
        case Filling::subnormal:
            return subnormal(format, source.stream, n);
        case Filling::cancelling:
            return cancelling(source, n);
        case Filling::equal:
            return compose(format, draw(source.stream, 0), 0, false);
        case Filling::powers: {
            const std::uint64_t choice = draw(source.stream, n);
            const double value = power(static_cast<int>((choice >> 1) % 17) - 8);
            return (choice & 1) != 0 ? -value : value;
        }
    }
    return 0.0;
}

std::uint64_t stream_of(std::uint64_t seed, std::uint64_t tag, std::uint64_t ordinal) {
    return mix(mix(mix(seed + kGamma) ^ tag) + (ordinal + 1) * kGamma);
}

}  // namespace attest::cases
