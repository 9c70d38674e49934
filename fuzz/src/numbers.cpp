#include "numbers.hpp"

#include "attest/case/number.hpp"
#include "attest/case/rows.hpp"

#include <array>
#include <bit>
#include <limits>

namespace attest::fuzzing {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t float_pattern(Random& random) {
    static constexpr std::array<std::uint32_t, 18> kPatterns = {
        0x00000000U, 0x80000000U,  // zeros
        0x00000001U, 0x80000001U,  // smallest subnormals
        0x007fffffU, 0x00800000U,  // largest subnormal, smallest normal
        0x7f7fffffU, 0xff7fffffU,  // largest
        0x7f800000U, 0xff800000U,  // infinities
        0x7fc00000U, 0xffc00000U,  // quiet NaNs
        0x7f800001U, 0x7fc00001U,  // signalling, and a payload in the low bits
        0x3f800000U, 0x3f7fffffU,  // one and the number before it
        0x5f000000U, 0x1f800000U,  // 2^63 and 2^-64: squares that overflow and vanish beside one
    };
    if (random.chance(2, 3)) {
        return cases::widen(random.pick(kPatterns));
    }
    return cases::widen(static_cast<std::uint32_t>(random.next()));
}

std::uint64_t double_pattern(Random& random) {
    static constexpr std::array<std::uint64_t, 18> kPatterns = {
        0x0000000000000000U, 0x8000000000000000U, 0x0000000000000001U, 0x8000000000000001U,
        0x000fffffffffffffU, 0x0010000000000000U, 0x7fefffffffffffffU, 0xffefffffffffffffU,
        0x7ff0000000000000U, 0xfff0000000000000U, 0x7ff8000000000000U, 0xfff8000000000000U,
        0x7ff0000000000001U, 0x7ff8000000000001U, 0x3ff0000000000000U, 0x3fefffffffffffffU,
        0x5fe0000000000000U, 0x1ff0000000000000U,  // 2^511 and 2^-256
    };
    if (random.chance(2, 3)) {
        return random.pick(kPatterns);
    }
    return random.next();
}

}  // namespace

std::uint64_t small_count(Random& random) {
    const std::uint64_t most = random.chance(1, 4) ? 9 : 5;
    return random.between(1, most);
}

std::uint64_t edge_count(Random& random, const cases::Case& one) {
    static constexpr std::array<std::uint64_t, 20> kEdges = {0,  1,  2,  3,  4,  5,  7,  8,  9,  12,
                                                             15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    const std::uint64_t rows = cases::rows_needed(one);
    const std::array<std::uint64_t, 9> own = {one.capacity,   one.capacity - 1, one.capacity + 1,
                                              rows,           rows - 1,         rows + 1,
                                              one.head_width, one.width,        one.rope.positions};
    return random.chance(1, 2) ? random.pick(kEdges) : random.pick(own);
}

std::uint64_t huge_count(Random& random) {
    const std::uint64_t power = std::uint64_t{1} << random.between(20, 63);
    switch (random.below(4)) {
        case 0:
            return power;
        case 1:
            return power + random.between(1, 3);
        case 2:
            return power - random.between(1, 3);
        default:
            return kMost - random.below(3);
    }
}

std::uint64_t nudged(Random& random, std::uint64_t count) {
    switch (random.below(6)) {
        case 0:
        case 1:
            return count + 1;
        case 2:
        case 3:
            return count - 1;
        case 4:
            return random.chance(1, 2) ? count * 2 : count / 2;
        default:
            return count ^ (std::uint64_t{1} << random.below(8));
    }
}

std::uint64_t new_count(Random& random, const cases::Case& one, std::uint64_t old) {
    const std::uint64_t kind = random.below(32);
    if (kind == 0) {
        return huge_count(random);
    }
    if (kind < 14) {
        return small_count(random);
    }
    return kind < 22 ? edge_count(random, one) : nudged(random, old);
}

std::uint64_t special_bits(Random& random, cases::ElementType type) {
    if (random.chance(1, 4)) {
        // A plain number: sign, a power of two within the smaller type, a few bits behind the point.
        const double magnitude = 1.0 + static_cast<double>(random.below(256)) / 256.0;
        const std::uint64_t exponent = random.between(1023 - 40, 1023 + 40) << 52U;
        const std::uint64_t mantissa = std::bit_cast<std::uint64_t>(magnitude) & 0x000fffffffffffffU;
        return (random.below(2) << 63U) | exponent | mantissa;
    }
    return type == cases::ElementType::float32 ? float_pattern(random) : double_pattern(random);
}

double rope_base(Random& random) {
    static constexpr std::array<double, 16> kBases = {10000.0,
                                                      500000.0,
                                                      1000000.0,
                                                      5000000.0,
                                                      100.0,
                                                      2.0,
                                                      1.5,
                                                      1.0,
                                                      0.5,
                                                      1e300,
                                                      1e-300,
                                                      0.0,
                                                      -1.0,
                                                      std::numeric_limits<double>::infinity(),
                                                      std::numeric_limits<double>::quiet_NaN(),
                                                      std::numeric_limits<double>::denorm_min()};
    // The last five must be refused, so they come less often.
    const std::size_t usual = random.chance(1, 8) ? kBases.size() : kBases.size() - 5;
    return kBases[random.position(usual)];
}

}  // namespace attest::fuzzing
