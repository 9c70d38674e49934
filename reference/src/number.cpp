#include <attest/reference/number.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace attest::reference {
namespace {

struct Row {
    Number number;
    std::string_view name;
    int digits;
    int normal;    // exponent of the smallest normal
    int overflow;  // exponent of the first power of two beyond the largest finite
};

// IEEE 754-2019 table 3.5 for binary64, binary32 and binary16; bf16 and tf32 keep binary32's exponent.
constexpr std::array<Row, 5> kRows{{
    {Number::f64, "f64", 53, -1022, 1024},
    {Number::f32, "f32", 24, -126, 128},
    {Number::tf32, "tf32", 11, -126, 128},
    {Number::f16, "f16", 11, -14, 16},
    {Number::bf16, "bf16", 8, -126, 128},
}};

const Row& row_of(Number number) noexcept {
    return kRows[static_cast<std::size_t>(number)];
}

}  // namespace

Format format_of(Number number) noexcept {
    const Row& row = row_of(number);
    const double unit = std::ldexp(1.0, -row.digits);
    return {
        .digits = row.digits,
        .unit = unit,
        .smallest = std::ldexp(1.0, row.normal + 1 - row.digits),
        .normal = std::ldexp(1.0, row.normal),
        .largest = std::ldexp(2.0 - 2.0 * unit, row.overflow - 1),
    };
}

std::string_view name_of(Number number) noexcept {
    return row_of(number).name;
}

std::optional<Number> number_named(std::string_view name) noexcept {
    for (const Row& row : kRows)
        if (row.name == name) return row.number;
    return std::nullopt;
}

bool holds(Number number, double value) noexcept {
    if (!std::isfinite(value)) return false;
    if (value == 0) return true;
    const Row& row = row_of(number);
    const double magnitude = std::fabs(value);
    if (magnitude > format_of(number).largest) return false;
    int exponent = 0;  // magnitude is in [2^(exponent − 1), 2^exponent)
    (void)std::frexp(magnitude, &exponent);
    const int last_place = std::max(exponent - row.digits, row.normal + 1 - row.digits);
    const double places = std::ldexp(magnitude, -last_place);
    return places == std::floor(places);
}

bool contains(Number outer, Number inner) noexcept {
    const Row& wide = row_of(outer);
    const Row& narrow = row_of(inner);
    return wide.digits >= narrow.digits && wide.overflow >= narrow.overflow &&
           wide.normal - wide.digits <= narrow.normal - narrow.digits;
}

}  // namespace attest::reference
