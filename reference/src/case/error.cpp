#include <attest/case/error.hpp>

#include "../escape.hpp"

#include <array>
#include <string>
#include <string_view>

namespace attest::cases {

namespace {

constexpr auto kTexts = std::to_array<std::string_view>({
    "TextTooLong",     "LineTooLong",      "BadCharacter",    "MisplacedComment", "NotAssignment",
    "UnknownKey",      "DuplicateKey",     "MissingKey",      "MissingValue",     "TrailingText",
    "BadName",         "UnknownWord",      "BadNumber",       "CountOutOfRange",  "BadFloat",
    "FloatOutOfRange", "NotRepresentable", "IndexOutOfRange", "TooMany",          "UnusedField",
    "ShapeOverflow",   "TooManyElements",  "TypeMismatch",
});
static_assert(kTexts.size() == static_cast<std::size_t>(ErrorCode::TypeMismatch) + 1);

}  // namespace

std::string_view to_text(ErrorCode code) {
    return kTexts[static_cast<std::size_t>(code)];
}

std::string Error::text() const {
    std::string out;
    if (line != 0) out += "line " + std::to_string(line) + ": ";
    if (!key.empty()) out += escape(key) + ": ";
    out += to_text(code);
    if (!reason.empty()) out += ": " + escape(reason);
    return out;
}

}  // namespace attest::cases
