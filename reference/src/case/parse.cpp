#include <attest/case/parse.hpp>
#include <attest/case/words.hpp>

#include "defaults.hpp"
#include "line.hpp"
#include "lines.hpp"

#include <array>
#include <string>
#include <utility>

namespace attest::cases {

namespace {

class Parser {
  public:
    std::expected<Case, Error> run(std::string_view text);

  private:
    // Keys that stand once, as bits of seen_.
    enum Key : unsigned {
        law,
        type,
        storage,
        batch,
        width,
        heads,
        kv_heads,
        head_width,
        rope,
        capacity,
        expect,
        values,
        keys
    };
    static constexpr std::array<std::string_view, keys> kKeys = {
        "law",      "type",       "storage", "batch",    "width",  "heads",
        "kv_heads", "head_width", "rope",    "capacity", "expect", "values"};

    Done take_line(std::string_view text, std::size_t number);
    Done take_comment(std::string_view text, std::size_t number);
    Done take_list(std::string_view key, Line& line);
    Done take_once(std::string_view key, Line& line);
    Done take_key(Key key, Line& line);
    Done finish();
    bool seen(unsigned position) const { return (seen_ >> position & 1) != 0; }

    Case one_;
    unsigned seen_ = 0;
    bool any_key_ = false;
    std::vector<Line> late_values_;  // of the sets: `type` and the geometry may stand below them
};

std::expected<Case, Error> Parser::run(std::string_view text) {
    if (text.size() > kMaxTextBytes)
        return std::unexpected(Error{ErrorCode::TextTooLong, 0, {}, std::to_string(text.size()) + " bytes"});
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto stop = text.find('\n');
        const auto line = text.substr(0, stop);
        text.remove_prefix(stop == std::string_view::npos ? text.size() : stop + 1);
        if (auto done = take_line(line, number); !done) return std::unexpected(std::move(done.error()));
    }
    if (auto done = finish(); !done) return std::unexpected(std::move(done.error()));
    return std::move(one_);
}

Done Parser::take_line(std::string_view text, std::size_t number) {
    const auto fail = [&](ErrorCode code, std::string reason) {
        return std::unexpected(Error{code, number, {}, std::move(reason)});
    };
    if (text.size() > kMaxLineBytes)
        return fail(ErrorCode::LineTooLong, std::to_string(text.size()) + " bytes");
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) return fail(ErrorCode::BadCharacter, "byte " + std::to_string(byte));
    }
    if (text.find_first_not_of(' ') == std::string_view::npos) return {};
    if (text.front() == '#') return take_comment(text.substr(1), number);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return fail(ErrorCode::NotAssignment, std::string(text));
    Line head(text.substr(0, equals), number, {});
    const auto key = head.take();
    if (!key) return fail(ErrorCode::NotAssignment, "no key before =");
    if (auto done = head.end(); !done) return done;
    any_key_ = true;
    Line line(text.substr(equals + 1), number, std::string(*key));
    const bool list = *key == "fill" || *key == "set" || *key == "step";
    return list ? take_list(*key, line) : take_once(*key, line);
}

Done Parser::take_comment(std::string_view text, std::size_t number) {
    const auto fail = [&](ErrorCode code, std::string reason) {
        return std::unexpected(Error{code, number, "#", std::move(reason)});
    };
    if (any_key_) return fail(ErrorCode::MisplacedComment, "comments stand above the first key");
    if (one_.comments.size() == kMaxComments)
        return fail(ErrorCode::TooMany, "more comments than the format allows");
    if (text.starts_with(' ')) text.remove_prefix(1);
    const auto last = text.find_last_not_of(' ');
    text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    // One that fills its line without the space after # would print one byte too long.
    if (text.size() > kMaxLineBytes - 2) return fail(ErrorCode::LineTooLong, "no room for the space after #");
    one_.comments.emplace_back(text);
    return {};
}

Done Parser::take_list(std::string_view key, Line& line) {
    if (key == "step") {
        if (one_.steps.size() == kMaxSteps)
            return line.fail(ErrorCode::TooMany, "more steps than the format allows");
        return parse_step(line, one_.steps.emplace_back());
    }
    if (key == "set") {
        if (one_.sets.size() == kMaxSets)
            return line.fail(ErrorCode::TooMany, "more sets than the format allows");
        if (auto done = parse_place(line, one_.sets.emplace_back()); !done) return done;
        late_values_.push_back(line);
        return {};
    }
    Fill fill;
    if (auto done = parse_fill(line, fill); !done) return done;
    for (const Fill& other : one_.fills) {
        if (other.tensor == fill.tensor)
            return line.fail(ErrorCode::DuplicateKey, std::string(to_text(fill.tensor)) + " is filled twice");
    }
    one_.fills.push_back(fill);
    return {};
}

Done Parser::take_once(std::string_view key, Line& line) {
    unsigned position = 0;
    while (position < keys && kKeys[position] != key)
        ++position;
    if (position == keys) return line.fail(ErrorCode::UnknownKey, "no key of a case");
    if (seen(position)) return line.fail(ErrorCode::DuplicateKey, "stands twice");
    seen_ |= 1U << position;
    if (auto done = take_key(static_cast<Key>(position), line); !done) return done;
    return line.end();
}

Done Parser::take_key(Key key, Line& line) {
    switch (key) {
        case law:
            return store(one_.law, line.name("law"));
        case type:
            return parse_word(line, "type", &element_type_from_text, one_.type);
        case storage:
            return parse_word(line, "storage", &storage_from_text, one_.storage);
        case batch:
            return store(one_.batch, line.count("batch"));
        case width:
            return store(one_.width, line.count("width"));
        case heads:
            return store(one_.heads, line.count("heads"));
        case kv_heads:
            return store(one_.kv_heads, line.count("kv_heads"));
        case head_width:
            return store(one_.head_width, line.count("head_width"));
        case rope:
            return parse_rope(line, one_.rope);
        case capacity:
            return store(one_.capacity, line.count("capacity"));
        case expect:
            return store(one_.expect, line.name("the code expected"));
        case values:
            return parse_values(line, one_.values);
        case keys:
            break;
    }
    return line.fail(ErrorCode::UnknownKey, "no key of a case");
}

Done Parser::finish() {
    for (unsigned position = 0; position < keys; ++position) {
        if (position == storage || position == head_width || position == expect || seen(position)) continue;
        return std::unexpected(Error{ErrorCode::MissingKey, 0, std::string(kKeys[position]), "must be told"});
    }
    if (!seen(head_width)) one_.head_width = default_head_width(one_);
    const SetBounds bounds(one_);
    for (std::size_t i = 0; i < one_.sets.size(); ++i) {
        Line& line = late_values_[i];
        Set& set = one_.sets[i];
        if (auto done = store(set.bits, line.number("value", one_.type)); !done) return done;
        if (auto done = line.end(); !done) return done;
        if (!bounds.contains(set))
            return line.fail(ErrorCode::IndexOutOfRange, "the place lies outside its tensor");
    }
    // Everything else check looks at was refused above; a short text may still print too long.
    if (print_may_be_too_long(one_)) {
        if (auto error = check(one_)) return std::unexpected(std::move(*error));
    }
    return {};
}

}  // namespace

std::expected<Case, Error> parse(std::string_view text) {
    return Parser{}.run(text);
}

}  // namespace attest::cases
