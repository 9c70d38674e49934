// What can be wrong with a case, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attest::cases {

enum class ErrorCode : std::uint8_t {
    TextTooLong,       // more than kMaxTextBytes, as given or in canonical form
    LineTooLong,       // more than kMaxLineBytes
    BadCharacter,      // a control character, or a comment that ends in a space
    MisplacedComment,  // a comment below the first key
    NotAssignment,     // neither comment nor `key = value`
    UnknownKey,
    DuplicateKey,  // also a second fill of one tensor
    MissingKey,
    MissingValue,      // the line ends where a word is due
    TrailingText,      // words are left over
    BadName,           // a law or a code that is no identifier, or too long
    UnknownWord,       // a word no list knows: type, tensor, filling, verb, variant, pairs, argument
    BadNumber,         // not a decimal count
    CountOutOfRange,   // a count beyond 64 bits or outside its limits
    BadFloat,          // not a hex float, whole number, inf, -inf or nan:0x…
    FloatOutOfRange,   // finite text beyond the largest double
    NotRepresentable,  // the case's type would have to round it
    IndexOutOfRange,   // `set` outside its tensor
    TooMany,           // steps, sets or comments
    UnusedField,       // a step (made in memory) sets what its verb does not use
    ShapeOverflow,     // a tensor whose element count does not fit 64 bits
    TooManyElements,   // a tensor of more than kMaxElements
    TypeMismatch,      // float values asked of a double case
};

std::string_view to_text(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::NotAssignment;
    std::size_t line = 0;  // from 1; 0 where no line is at fault
    std::string key;       // of the line, or the tensor at fault
    std::string reason;

    // One line: "line 7: set: NotRepresentable: …".
    std::string text() const;
};

}  // namespace attest::cases
