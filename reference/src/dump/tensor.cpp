#include <attest/dump/tensor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace attest::dump {

namespace {

struct Row {
    std::string_view text;
    std::uint64_t size;
};

// In the order of the enumerators.
constexpr auto kDtypes = std::to_array<Row>({
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"U16", 2},
    {"I16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"U32", 4},
    {"I32", 4},
    {"F32", 4},
    {"U64", 8},
    {"I64", 8},
    {"F64", 8},
});
static_assert(kDtypes.size() == static_cast<std::size_t>(Dtype::F64) + 1);

// Widens sign, exponent and mantissa by whole-number operations, so that a NaN keeps its payload and its
// kind.
double widen(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
    const std::uint64_t sign = (bits >> (exponent_bits + mantissa_bits)) << 63;
    const std::uint64_t top = (std::uint64_t{1} << exponent_bits) - 1;
    const std::uint64_t exponent = (bits >> mantissa_bits) & top;
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
    const std::uint64_t bias = top >> 1;
    const auto pack = [&](std::uint64_t wide_exponent, std::uint64_t wide_mantissa) {
        return std::bit_cast<double>(sign | wide_exponent << 52 | wide_mantissa << (52 - mantissa_bits));
    };
    if (exponent == top) return pack(0x7ff, mantissa);
    if (exponent != 0) return pack(exponent + 1023 - bias, mantissa);
    if (mantissa == 0) return pack(0, 0);
    // A subnormal is normal as a double: shift its leading bit into the hidden place.
    const int shift = std::countl_zero(mantissa) - (63 - mantissa_bits);
    const std::uint64_t fraction = (mantissa << shift) & ((std::uint64_t{1} << mantissa_bits) - 1);
    return pack(1024 - bias - static_cast<std::uint64_t>(shift), fraction);
}

// The low `bits` bits as a signed number.
std::int64_t sign_extend(std::uint64_t value, int bits) {
    return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

std::string_view to_text(Dtype dtype) {
    return kDtypes[static_cast<std::size_t>(dtype)].text;
}

std::optional<Dtype> dtype_from_text(std::string_view text) {
    const auto found =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const Row& row) { return row.text == text; });
    if (found == kDtypes.end()) return std::nullopt;
    return static_cast<Dtype>(found - kDtypes.begin());
}

std::uint64_t size_of(Dtype dtype) {
    return kDtypes[static_cast<std::size_t>(dtype)].size;
}

bool is_float(Dtype dtype) {
    return dtype == Dtype::F16 || dtype == Dtype::BF16 || dtype == Dtype::F32 || dtype == Dtype::F64;
}

double to_double(Dtype dtype, std::uint64_t bits) {
    switch (dtype) {
        case Dtype::F16:
            return widen(bits, 5, 10);
        case Dtype::BF16:
            return widen(bits, 8, 7);
        case Dtype::F32:
            return widen(bits, 8, 23);
        case Dtype::F64:
            return std::bit_cast<double>(bits);
        case Dtype::I8:
            return static_cast<double>(sign_extend(bits, 8));
        case Dtype::I16:
            return static_cast<double>(sign_extend(bits, 16));
        case Dtype::I32:
            return static_cast<double>(sign_extend(bits, 32));
        case Dtype::I64:
            return static_cast<double>(sign_extend(bits, 64));
        case Dtype::BOOL:
        case Dtype::U8:
        case Dtype::U16:
        case Dtype::U32:
        case Dtype::U64:
            return static_cast<double>(bits);
    }
    return 0.0;
}

Tensor::Tensor(std::string name, Dtype dtype, std::vector<std::uint64_t> shape,
               std::span<const std::byte> bytes)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)), bytes_(bytes) {}

std::uint64_t Tensor::bits(std::uint64_t index) const {
    const std::uint64_t size = size_of(dtype_);
    const auto element =
        bytes_.subspan(static_cast<std::size_t>(index * size), static_cast<std::size_t>(size));
    std::uint64_t value = 0;
    for (std::size_t i = element.size(); i-- > 0;)
        value = value << 8 | std::to_integer<std::uint64_t>(element[i]);
    return value;
}

double Tensor::number(std::uint64_t index) const {
    return to_double(dtype_, bits(index));
}

std::optional<std::int64_t> Tensor::integer(std::uint64_t index) const {
    if (is_float(dtype_)) return std::nullopt;
    const std::uint64_t value = bits(index);
    switch (dtype_) {
        case Dtype::I8:
            return sign_extend(value, 8);
        case Dtype::I16:
            return sign_extend(value, 16);
        case Dtype::I32:
            return sign_extend(value, 32);
        case Dtype::I64:
            return sign_extend(value, 64);
        default:
            break;
    }
    if (value >> 63 != 0) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::vector<double> Tensor::numbers() const {
    std::vector<double> out(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = number(i);
    return out;
}

}  // namespace attest::dump
