#include <attest/case/number.hpp>

#include <bit>
#include <cstddef>
#include <optional>

namespace attest::cases {

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;
constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;

bool is_nan(std::uint64_t bits) {
    return (bits & ~kSign) > kInfinity;
}

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

bool take(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// The pattern of significand · 2^exponent, if a double holds it exactly.
std::expected<std::uint64_t, ErrorCode> compose(std::uint64_t significand, std::int64_t exponent) {
    if (significand == 0) return 0;
    const int zeros = std::countr_zero(significand);
    significand >>= zeros;
    exponent += zeros;
    const auto width = static_cast<int>(std::bit_width(significand));
    const std::int64_t top = exponent + width - 1;  // exponent of the leading bit
    if (top > 1023) return std::unexpected(ErrorCode::FloatOutOfRange);
    if (width > 53 || exponent < -1074) return std::unexpected(ErrorCode::NotRepresentable);
    if (top < -1022) return significand << (exponent + 1074);
    return (static_cast<std::uint64_t>(top + 1023) << 52) | ((significand << (53 - width)) & kMantissa);
}

// Digits of a significand: the value is `value` · 2^(4 · dropped), where only zeros were dropped.
struct Digits {
    std::uint64_t value = 0;
    std::int64_t dropped = 0;
    std::int64_t count = 0;
    bool lossy = false;

    void add(int digit) {
        ++count;
        if (value >> 60 != 0) {  // no room: a further digit must be zero to be exact
            lossy = lossy || digit != 0;
            ++dropped;
        } else {
            value = value << 4 | static_cast<std::uint64_t>(digit);
        }
    }
};

// A binary exponent. Beyond a million no significand of one line brings it back, so it stays there.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
    const bool negative = take(text, "-");
    if (!negative) take(text, "+");
    if (text.empty()) return std::nullopt;
    std::int64_t exponent = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        if (exponent < 1'000'000) exponent = exponent * 10 + (c - '0');
    }
    return negative ? -exponent : exponent;
}

std::expected<std::uint64_t, ErrorCode> parse_hex(std::string_view text) {
    Digits digits;
    std::int64_t fraction = 0;
    bool point = false;
    while (!text.empty() && text.front() != 'p') {
        const char c = text.front();
        text.remove_prefix(1);
        if (c == '.' && !point && digits.count > 0) {
            point = true;
            continue;
        }
        const int digit = digit_of(c);
        if (digit > 15) return std::unexpected(ErrorCode::BadFloat);
        digits.add(digit);
        if (point) ++fraction;
    }
    if (digits.count == 0 || (point && fraction == 0) || !take(text, "p"))
        return std::unexpected(ErrorCode::BadFloat);
    const auto exponent = parse_exponent(text);
    if (!exponent) return std::unexpected(ErrorCode::BadFloat);
    if (digits.lossy) return std::unexpected(ErrorCode::NotRepresentable);
    return compose(digits.value, *exponent + 4 * (digits.dropped - fraction));
}

std::expected<std::uint64_t, ErrorCode> parse_whole(std::string_view text) {
    if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::unexpected(ErrorCode::BadFloat);
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::unexpected(ErrorCode::BadFloat);
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (UINT64_MAX - digit) / 10) return std::unexpected(ErrorCode::NotRepresentable);
        value = value * 10 + digit;
    }
    return compose(value, 0);
}

// Exactly `count` hex digits.
std::optional<std::uint64_t> parse_pattern(std::string_view text, std::size_t count) {
    if (text.size() != count) return std::nullopt;
    std::uint64_t bits = 0;
    for (const char c : text) {
        const int digit = digit_of(c);
        if (digit > 15) return std::nullopt;
        bits = bits << 4 | static_cast<std::uint64_t>(digit);
    }
    return bits;
}

std::expected<std::uint64_t, ErrorCode> parse_nan(std::string_view text, ElementType type) {
    const bool narrow_type = type == ElementType::float32;
    const auto bits = parse_pattern(text, narrow_type ? 8 : 16);
    if (!bits) return std::unexpected(ErrorCode::BadFloat);
    const std::uint64_t wide = narrow_type ? widen(static_cast<std::uint32_t>(*bits)) : *bits;
    if (!is_nan(wide)) return std::unexpected(ErrorCode::BadFloat);
    return wide;
}

void append_hex(std::string& out, std::uint64_t bits, int digits) {
    for (int i = digits - 1; i >= 0; --i)
        out += "0123456789abcdef"[(bits >> (4 * i)) & 15];
}

}  // namespace

std::expected<std::uint64_t, ErrorCode> parse_number(std::string_view text, ElementType type) {
    if (take(text, "nan:0x")) return parse_nan(text, type);
    const std::uint64_t sign = take(text, "-") ? kSign : 0;
    if (text == "inf") return sign | kInfinity;
    const auto bits = take(text, "0x") ? parse_hex(text) : parse_whole(text);
    if (!bits) return bits;
    if (type == ElementType::float32 && !representable_in_float(*bits))
        return std::unexpected(ErrorCode::NotRepresentable);
    return sign | *bits;
}

std::string print_number(std::uint64_t bits, ElementType type) {
    std::string out;
    if (is_nan(bits)) {
        out = "nan:0x";
        if (type == ElementType::float32)
            append_hex(out, narrow(bits), 8);
        else
            append_hex(out, bits, 16);
        return out;
    }
    if ((bits & kSign) != 0) out = "-";
    bits &= ~kSign;
    if (bits == kInfinity) return out + "inf";
    if (bits == 0) return out + "0x0p+0";
    std::uint64_t mantissa = bits & kMantissa;
    auto exponent = static_cast<int>(bits >> 52) - 1023;
    if (exponent == -1023) {  // subnormal: move its leading bit into the hidden place
        const int shift = std::countl_zero(mantissa) - 11;
        mantissa = (mantissa << shift) & kMantissa;
        exponent = -1022 - shift;
    }
    out += "0x1";
    if (mantissa != 0) {
        const int digits = 13 - std::countr_zero(mantissa) / 4;
        out += '.';
        append_hex(out, mantissa >> (52 - 4 * digits), digits);
    }
    out += exponent < 0 ? "p-" : "p+";
    return out + std::to_string(exponent < 0 ? -exponent : exponent);
}

std::uint64_t widen(std::uint32_t bits) {
    const std::uint64_t sign = std::uint64_t{bits >> 31} << 63;
    const std::uint64_t exponent = (bits >> 23) & 0xff;
    const std::uint64_t mantissa = bits & 0x7fffff;
    if (exponent == 0xff) return sign | kInfinity | mantissa << 29;
    if (exponent != 0) return sign | (exponent + 1023 - 127) << 52 | mantissa << 29;
    if (mantissa == 0) return sign;
    const int shift = std::countl_zero(mantissa) - 40;  // moves the leading bit to bit 23
    return sign | static_cast<std::uint64_t>(1023 - 126 - shift) << 52 |
           ((mantissa << shift) & 0x7fffff) << 29;
}

std::uint32_t narrow(std::uint64_t bits) {
    const auto sign = static_cast<std::uint32_t>(bits >> 63) << 31;
    const auto exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
    const auto mantissa = static_cast<std::uint32_t>((bits & kMantissa) >> 29);
    constexpr std::uint32_t kFloatInfinity = std::uint32_t{0xff} << 23;
    if (is_nan(bits)) return sign | kFloatInfinity | (mantissa != 0 ? mantissa : 1);
    if (exponent > 127) return sign | kFloatInfinity;
    if (exponent >= -126) return sign | static_cast<std::uint32_t>(exponent + 127) << 23 | mantissa;
    const int shift = -126 - exponent;
    if (shift > 23) return sign;
    return sign | (mantissa | std::uint32_t{1} << 23) >> shift;
}

bool representable_in_float(std::uint64_t bits) {
    return widen(narrow(bits)) == bits;
}

}  // namespace attest::cases
