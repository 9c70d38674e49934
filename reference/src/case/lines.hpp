// The lines that hold more than one word.
#pragma once

#include <attest/case/case.hpp>
#include <attest/case/error.hpp>

#include "line.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attest::cases {

using Done = std::expected<void, Error>;

// The next word must stand in one of the lists of words.hpp; `what` names the list.
template <typename Enum>
Done parse_word(Line& line, std::string_view what, std::optional<Enum> (*from_text)(std::string_view),
                Enum& where) {
    const auto word = line.want(what);
    if (!word) return std::unexpected(word.error());
    const auto value = from_text(*word);
    if (!value)
        return line.fail(ErrorCode::UnknownWord,
                         "no " + std::string(what) + " \"" + std::string(*word) + "\"");
    where = *value;
    return {};
}

// store moves a value to its place or hands the error on.
template <typename T>
Done store(T& where, std::expected<T, Error> value) {
    if (!value) return std::unexpected(std::move(value.error()));
    where = std::move(*value);
    return {};
}

Done parse_rope(Line& line, Rope& rope);
Done parse_values(Line& line, Values& values);
Done parse_fill(Line& line, Fill& fill);
Done parse_step(Line& line, Step& step);

// parse_place reads x[b,t,f], wk[r,c] or gradient.wk[r,c]; the value behind it waits until the type is known.
Done parse_place(Line& line, Set& set);

}  // namespace attest::cases
