#include "foreign_elements.hpp"

#include "attest/case/number.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace attest::properties {

namespace {

// On each side; a whole row too many is seen up to this width. A multiple of every alignment.
constexpr std::size_t kGuard = 64;

bool is_narrow(cases::ElementType type) {
    return type == cases::ElementType::float32;
}

}  // namespace

Elements::Elements(std::string_view name, cases::ElementType type, std::size_t count)
    : name_(name), narrow_(is_narrow(type)), count_(count) {
    bytes_.resize((count_ + 2 * kGuard) * size());
    for (std::size_t i = 0; i < count_ + 2 * kGuard; ++i) {
        put_pattern(bytes_.data() + i * size(), i);
    }
}

Elements::Elements(std::string_view name, cases::ElementType type, std::span<const double> values)
    : Elements(name, type, values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        put(i, values[i]);
    }
}

// The name and the place are part of the pattern, so that a copy of another guard is a change.
void Elements::put_pattern(std::byte* to, std::size_t i) const {
    const std::uint32_t salt = static_cast<unsigned char>(name_.empty() ? '\0' : name_.back());
    const auto payload = salt << 12 | static_cast<std::uint32_t>(i & 0xfff);
    if (narrow_) {
        const std::uint32_t bits = 0x7fc00000 | payload;
        std::memcpy(to, &bits, sizeof bits);
        return;
    }
    const std::uint64_t bits = 0x7ff8a5a500000000 | payload;
    std::memcpy(to, &bits, sizeof bits);
}

void* Elements::data() {
    return bytes_.data() + kGuard * size();
}

Array Elements::read() const {
    Array values(count_);
    for (std::size_t i = 0; i < count_; ++i) {
        values[i] = get(narrow_, bytes_.data() + kGuard * size(), i);
    }
    return values;
}

void Elements::check_guards() const {
    std::byte want[sizeof(double)];
    for (std::size_t i = 0; i < count_ + 2 * kGuard; ++i) {
        if (i == kGuard) i += count_;
        put_pattern(want, i);
        if (std::memcmp(bytes_.data() + i * size(), want, size()) == 0) continue;
        if (i < kGuard) {
            throw SubjectFault(fmt::format("wrote before {}: element -{} of {}", name_, kGuard - i, count_));
        }
        throw SubjectFault(fmt::format("wrote beyond {}: element {} of {}", name_, i - kGuard, count_));
    }
}

void Elements::check_unchanged(std::span<const double> values) const {
    check_guards();
    std::byte want[sizeof(double)];
    for (std::size_t i = 0; i < count_; ++i) {
        put(narrow_, want, 0, values[i]);
        if (std::memcmp(bytes_.data() + (kGuard + i) * size(), want, size()) == 0) continue;
        throw SubjectFault(fmt::format("wrote to {}, an input: element {} of {}", name_, i, count_));
    }
}

Array Elements::read(cases::ElementType type, const void* from, std::size_t count) {
    Array values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = get(is_narrow(type), from, i);
    }
    return values;
}

void Elements::put(cases::ElementType type, void* to, std::size_t i, double value) {
    put(is_narrow(type), to, i, value);
}

void Elements::put(bool narrow, void* to, std::size_t i, double value) {
    char* const place = static_cast<char*>(to) + i * (narrow ? sizeof(float) : sizeof(double));
    if (!narrow) {
        std::memcpy(place, &value, sizeof value);
        return;
    }
    const float element = std::isnan(value)
                              ? std::bit_cast<float>(cases::narrow(std::bit_cast<std::uint64_t>(value)))
                              : static_cast<float>(value);
    std::memcpy(place, &element, sizeof element);
}

double Elements::get(bool narrow, const void* from, std::size_t i) {
    const char* const place = static_cast<const char*>(from) + i * (narrow ? sizeof(float) : sizeof(double));
    if (!narrow) {
        double value = 0;
        std::memcpy(&value, place, sizeof value);
        return value;
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, place, sizeof bits);
    return std::bit_cast<double>(cases::widen(bits));
}

}  // namespace attest::properties
