#include <attest/case/number.hpp>
#include <attest/case/words.hpp>

#include "line.hpp"

#include <algorithm>
#include <utility>

namespace attest::cases {

namespace {

std::string quoted(std::string_view what, std::string_view word) {
    return std::string(what) + " is \"" + std::string(word) + "\"";
}

}  // namespace

std::expected<std::uint64_t, ErrorCode> parse_count(std::string_view text) {
    if (text.empty() || (text.size() > 1 && text.front() == '0'))
        return std::unexpected(ErrorCode::BadNumber);
    if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return std::unexpected(ErrorCode::BadNumber);
    std::uint64_t value = 0;
    for (const char c : text) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (UINT64_MAX - digit) / 10) return std::unexpected(ErrorCode::CountOutOfRange);
        value = value * 10 + digit;
    }
    return value;
}

std::optional<std::string_view> Line::take() {
    const auto start = rest_.find_first_not_of(' ');
    if (start == std::string_view::npos) {
        rest_ = {};
        return std::nullopt;
    }
    const auto stop = std::min(rest_.find(' ', start), rest_.size());
    const auto word = rest_.substr(start, stop - start);
    rest_.remove_prefix(stop);
    return word;
}

std::expected<std::string_view, Error> Line::want(std::string_view what) {
    const auto word = take();
    if (!word) return fail(ErrorCode::MissingValue, "the line ends where " + std::string(what) + " is due");
    return *word;
}

std::expected<void, Error> Line::keyword(std::string_view word) {
    const auto got = want("\"" + std::string(word) + "\"");
    if (!got) return std::unexpected(got.error());
    if (*got != word)
        return fail(ErrorCode::UnknownWord,
                    "\"" + std::string(*got) + "\" where \"" + std::string(word) + "\" is due");
    return {};
}

std::expected<std::uint64_t, Error> Line::count(std::string_view what, std::uint64_t minimum,
                                                std::uint64_t maximum) {
    const auto word = want(what);
    if (!word) return std::unexpected(word.error());
    const auto value = parse_count(*word);
    if (!value) return fail(value.error(), quoted(what, *word));
    if (*value < minimum || *value > maximum)
        return fail(ErrorCode::CountOutOfRange, quoted(what, *word) + ", not within " +
                                                    std::to_string(minimum) + " to " +
                                                    std::to_string(maximum));
    return *value;
}

std::expected<std::uint64_t, Error> Line::number(std::string_view what, ElementType type) {
    const auto word = want(what);
    if (!word) return std::unexpected(word.error());
    const auto bits = parse_number(*word, type);
    if (!bits) return fail(bits.error(), quoted(what, *word) + ", wanted as " + std::string(to_text(type)));
    return *bits;
}

std::expected<std::string, Error> Line::name(std::string_view what) {
    const auto word = want(what);
    if (!word) return std::unexpected(word.error());
    if (!is_name(*word)) return fail(ErrorCode::BadName, quoted(what, *word));
    return std::string(*word);
}

std::expected<void, Error> Line::end() {
    const auto word = take();
    if (word) return fail(ErrorCode::TrailingText, quoted("the first word too many", *word));
    return {};
}

std::unexpected<Error> Line::fail(ErrorCode code, std::string reason) const {
    return std::unexpected(Error{code, number_, key_, std::move(reason)});
}

}  // namespace attest::cases
