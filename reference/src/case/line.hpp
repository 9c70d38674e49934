// The words of one line, taken one after another; the first complaint ends it.
#pragma once

#include <attest/case/case.hpp>
#include <attest/case/error.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace attest::cases {

class Line {
  public:
    Line(std::string_view text, std::size_t number, std::string key)
        : rest_(text), number_(number), key_(std::move(key)) {}

    // The next word, or nothing at the end of the line. Words are separated by spaces.
    std::optional<std::string_view> take();

    // The next word, which must be there; `what` names it.
    std::expected<std::string_view, Error> want(std::string_view what);

    // The next word must be this one.
    std::expected<void, Error> keyword(std::string_view word);

    // The next word is a decimal count without sign or leading zero.
    std::expected<std::uint64_t, Error> count(std::string_view what, std::uint64_t minimum = 0,
                                              std::uint64_t maximum = UINT64_MAX);

    std::expected<std::uint64_t, Error> number(std::string_view what, ElementType type);

    // A law or a code.
    std::expected<std::string, Error> name(std::string_view what);

    // Nothing may be left.
    std::expected<void, Error> end();

    std::unexpected<Error> fail(ErrorCode code, std::string reason) const;

  private:
    std::string_view rest_;
    std::size_t number_;
    std::string key_;
};

// parse_count reads a whole decimal count: BadNumber or CountOutOfRange.
std::expected<std::uint64_t, ErrorCode> parse_count(std::string_view text);

}  // namespace attest::cases
