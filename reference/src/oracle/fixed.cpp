#include "oracle/fixed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

constexpr std::uint64_t kLimbMask = (std::uint64_t{1} << kLimbBits) - 1;
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

// A double as an integer of at most 53 bits times a power of two, odd unless it is 0. NaN and infinity, which
// may stand where nobody looks, give 0; a row that has one is left to N.
struct BinaryParts {
    std::int64_t mantissa = 0;
    std::int64_t exponent = 0;
};

BinaryParts parts_of(double value) {
    if (value == 0 || !std::isfinite(value)) return {};
    int exponent = 0;
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    const int zeros = std::countr_zero(static_cast<std::uint64_t>(mantissa));
    return {mantissa >> zeros, exponent - 53 + zeros};
}

std::int64_t bits_of(const BinaryParts& parts) {
    const auto magnitude = static_cast<std::uint64_t>(parts.mantissa < 0 ? -parts.mantissa : parts.mantissa);
    return static_cast<std::int64_t>(std::bit_width(magnitude)) + parts.exponent;
}

std::uint64_t reduced(WideUnsigned value) {
    value = (value & kPrime) + (value >> 61);
    value = (value & kPrime) + (value >> 61);
    const auto result = static_cast<std::uint64_t>(value);
    return result >= kPrime ? result - kPrime : result;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return reduced(static_cast<WideUnsigned>(a) * b);
}

// 2^exponent modulo 2^61 − 1, where 2^61 is 1.
std::uint64_t power_of_two(std::int64_t exponent) {
    const std::int64_t turned = ((exponent % 61) + 61) % 61;
    return std::uint64_t{1} << turned;
}

std::uint64_t negated(std::uint64_t residue) {
    return residue == 0 ? 0 : kPrime - residue;
}

std::uint64_t residue_of(Wide value) {
    const bool negative = value < 0;
    const auto magnitude = negative ? -static_cast<WideUnsigned>(value) : static_cast<WideUnsigned>(value);
    const std::uint64_t residue = reduced(magnitude);
    return negative ? negated(residue) : residue;
}

// Digits is an integer of base 2^55: digits below, each at least 0, and a signed top.
struct Digits {
    std::vector<std::uint64_t> below;
    Wide top = 0;

    bool is_zero() const {
        return top == 0 && std::all_of(below.begin(), below.end(), [](std::uint64_t d) { return d == 0; });
    }
};

// The sums of products of every pair of limbs, carried.
Digits product_sum(const Fixed::Row& a, const Fixed::Row& b, std::size_t width) {
    Digits digits;
    const std::size_t places = a.count + b.count - 1;
    Wide carry = 0;
    for (std::size_t place = 0; place < places; ++place) {
        Wide sum = carry;
        const std::size_t first = place < b.count ? 0 : place - b.count + 1;
        for (std::size_t j = first; j <= place && j < a.count; ++j) {
            const std::int64_t* const left = a.limbs + j * width;
            const std::int64_t* const right = b.limbs + (place - j) * width;
            for (std::size_t i = 0; i < width; ++i)
                sum += static_cast<Wide>(left[i]) * right[i];
        }
        if (place + 1 == places) {
            digits.top = sum;
        } else {
            digits.below.push_back(static_cast<std::uint64_t>(sum) & kLimbMask);
            carry = sum >> kLimbBits;
        }
    }
    return digits;
}

// From the top: while the number fits N's digits nothing rounds, and beyond that what is added is far below
// it, so nothing cancels.
template <class N>
N number_of(const Digits& digits, std::int64_t exponent) {
    const bool negative = digits.top < 0;
    const auto magnitude =
        negative ? -static_cast<WideUnsigned>(digits.top) : static_cast<WideUnsigned>(digits.top);
    N result = 0;
    auto* const raw = result.backend().data();
    mpfr_set_ui(raw, static_cast<unsigned long>(magnitude >> 64), MPFR_RNDN);
    mpfr_mul_2ui(raw, raw, 64, MPFR_RNDN);
    mpfr_add_ui(raw, raw, static_cast<unsigned long>(magnitude), MPFR_RNDN);
    if (negative) mpfr_neg(raw, raw, MPFR_RNDN);
    for (std::size_t n = digits.below.size(); n-- > 0;) {
        mpfr_mul_2ui(raw, raw, kLimbBits, MPFR_RNDN);
        mpfr_add_ui(raw, raw, digits.below[n], MPFR_RNDN);
    }
    mpfr_mul_2si(raw, raw, exponent, MPFR_RNDN);
    return result;
}

template <class N>
int digits_of() {
    return static_cast<int>(mpfr_get_prec(N(0).backend().data()));
}

}  // namespace

Fixed Fixed::exact(std::span<const double> values, std::size_t width) {
    Fixed fixed;
    fixed.width_ = width;
    if (width == 0) return fixed;
    std::vector<BinaryParts> parts(width);
    for (std::size_t first = 0; first + width <= values.size(); first += width) {
        constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
        Row row;
        std::int64_t lowest = kNone, highest = -kNone;
        bool finite = true;
        for (std::size_t i = 0; i < width; ++i) {
            finite = finite && std::isfinite(values[first + i]);
            parts[i] = parts_of(values[first + i]);
            if (parts[i].mantissa == 0) continue;
            lowest = std::min(lowest, parts[i].exponent);
            highest = std::max(highest, bits_of(parts[i]));
        }
        const bool nothing = lowest == kNone;
        row.zero = nothing && finite;
        row.exponent = nothing ? 0 : lowest;
        row.top = nothing ? 0 : highest;
        const std::int64_t bits = row.top - row.exponent;
        if (finite && bits <= 2 * kLimbBits && width <= kMostTerms) row.count = bits <= kLimbBits ? 1 : 2;
        fixed.offsets_.push_back(fixed.limbs_.size());
        fixed.rows_.push_back(row);
        for (std::size_t limb = 0; limb < row.count; ++limb)
            for (const BinaryParts& part : parts) {
                const bool negative = part.mantissa < 0;
                const auto magnitude = static_cast<WideUnsigned>(negative ? -part.mantissa : part.mantissa)
                                       << (part.mantissa == 0 ? 0 : part.exponent - row.exponent);
                const auto digit = static_cast<std::int64_t>(
                    static_cast<std::uint64_t>(magnitude >> (limb * kLimbBits)) & kLimbMask);
                fixed.limbs_.push_back(negative ? -digit : digit);
            }
    }
    return fixed;
}

template <class N>
std::size_t limbs_for() {
    return static_cast<std::size_t>((digits_of<N>() + 40) / kLimbBits + 1);
}

template <class N>
Fixed Fixed::cut_to(const N* values, std::size_t rows, std::size_t width, std::size_t count) {
    Fixed fixed;
    fixed.width_ = width;
    for (std::size_t r = 0; r < rows; ++r) {
        const N* const from = values + r * width;
        Row row;
        row.zero = true;
        bool finite = true;
        for (std::size_t i = 0; i < width; ++i) {
            if (from[i] == 0) continue;
            if (mpfr_number_p(from[i].backend().data()) == 0) {
                finite = row.zero = false;
                continue;
            }
            const auto top = static_cast<std::int64_t>(mpfr_get_exp(from[i].backend().data()));
            row.top = row.zero ? top : std::max(row.top, top);
            row.zero = false;
        }
        row.count = finite && width <= kMostTerms ? count : 0;
        row.exponent = row.top - static_cast<std::int64_t>(count) * kLimbBits;
        fixed.offsets_.push_back(fixed.limbs_.size());
        fixed.limbs_.resize(fixed.limbs_.size() + row.count * width);
        std::int64_t* const limbs = fixed.limbs_.data() + fixed.offsets_.back();
        N rest;
        for (std::size_t i = 0; i < width && row.count != 0; ++i) {
            rest = from[i];
            auto* const raw = rest.backend().data();
            mpfr_mul_2si(raw, raw, kLimbBits - row.top, MPFR_RNDN);
            for (std::size_t limb = count; limb-- > 0;) {
                const long digit = mpfr_get_si(raw, MPFR_RNDZ);
                limbs[limb * width + i] = digit;
                mpfr_sub_si(raw, raw, digit, MPFR_RNDN);
                mpfr_mul_2ui(raw, raw, kLimbBits, MPFR_RNDN);
            }
            row.cut = row.cut || rest != 0;
        }
        fixed.rows_.push_back(row);
    }
    return fixed;
}

Residues::Residues(std::span<const double> values, std::size_t width) : width_(width) {
    values_.reserve(values.size());
    for (const double value : values) {
        const BinaryParts parts = parts_of(value);
        const std::uint64_t residue = times(residue_of(parts.mantissa), power_of_two(parts.exponent));
        values_.push_back(residue);
    }
}

template <class N>
N exact_dot(const Fixed::Row& a, const Fixed::Row& b, std::size_t width, const std::uint64_t* a_residues,
            const std::uint64_t* b_residues, bool* agrees) {
    const Digits digits = product_sum(a, b, width);
    if (agrees != nullptr) {
        // A product has at most 122 bits: thirty-two of them fit before they have to be reduced.
        WideUnsigned pending = 0;
        for (std::size_t i = width; i-- > 0;) {
            pending += static_cast<WideUnsigned>(a_residues[i]) * b_residues[i];
            if (i % 32 == 0) pending = reduced(pending);
        }
        const std::uint64_t sum = reduced(pending);
        std::uint64_t result = residue_of(digits.top);
        for (std::size_t n = digits.below.size(); n-- > 0;)
            result =
                reduced(static_cast<WideUnsigned>(times(result, power_of_two(kLimbBits))) + digits.below[n]);
        *agrees = *agrees && times(result, power_of_two(a.exponent + b.exponent)) == sum;
    }
    return number_of<N>(digits, a.exponent + b.exponent);
}

template <class N>
std::optional<N> cut_dot(const Fixed::Row& a, const Fixed::Row& b, std::size_t width) {
    if (a.count == 0 || b.count == 0) return std::nullopt;
    if (a.zero || b.zero) return N(0);
    N result = number_of<N>(product_sum(a, b, width), a.exponent + b.exponent);
    if (!b.cut) return result;
    // Each of the products lost less than 2^a.top · 2^b.exponent.
    if (result == 0) return std::nullopt;
    const std::int64_t lost = static_cast<std::int64_t>(std::bit_width(width)) + a.top + b.exponent;
    const auto least = static_cast<std::int64_t>(mpfr_get_exp(result.backend().data())) - 1;
    if (lost > least - digits_of<N>() + 2) return std::nullopt;
    return result;
}

#define ATTEST_REFERENCE_FIXED(N)                                                                    \
    template std::size_t limbs_for<N>();                                                             \
    template Fixed Fixed::cut_to<N>(const N*, std::size_t, std::size_t, std::size_t);                \
    template N exact_dot<N>(const Fixed::Row&, const Fixed::Row&, std::size_t, const std::uint64_t*, \
                            const std::uint64_t*, bool*);                                            \
    template std::optional<N> cut_dot<N>(const Fixed::Row&, const Fixed::Row&, std::size_t);

ATTEST_REFERENCE_FIXED(Real)
ATTEST_REFERENCE_FIXED(Real100)
ATTEST_REFERENCE_FIXED(Real400)
ATTEST_REFERENCE_FIXED(Real800)

}  // namespace attest::reference
