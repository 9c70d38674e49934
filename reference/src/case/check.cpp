#include <attest/case/number.hpp>
#include <attest/case/parse.hpp>
#include <attest/case/print.hpp>
#include <attest/case/rows.hpp>
#include <attest/case/words.hpp>

#include "defaults.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace attest::cases {

namespace {

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

bool good_comment(const std::string& text) {
    if (text.size() > kMaxLineBytes - 2 || text.ends_with(' ')) return false;
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

std::optional<Error> fault(ErrorCode code, std::string_view key, std::string reason) {
    return Error{code, 0, std::string(key), std::move(reason)};
}

std::optional<Error> check_words(const Case& one) {
    const auto known = [](auto value) { return !to_text(value).empty(); };
    if (one.comments.size() > kMaxComments) return fault(ErrorCode::TooMany, "#", "comments");
    if (!std::all_of(one.comments.begin(), one.comments.end(), good_comment))
        return fault(ErrorCode::BadCharacter, "#", "a comment that is too long, ends in a space or controls");
    if (!is_name(one.law)) return fault(ErrorCode::BadName, "law", one.law);
    if (!one.expect.empty() && !is_name(one.expect)) return fault(ErrorCode::BadName, "expect", one.expect);
    if (!known(one.type)) return fault(ErrorCode::UnknownWord, "type", {});
    if (!known(one.storage)) return fault(ErrorCode::UnknownWord, "storage", {});
    if (!known(one.rope.pairs)) return fault(ErrorCode::UnknownWord, "rope", {});
    if (!known(one.values.filling)) return fault(ErrorCode::UnknownWord, "values", {});
    for (const Fill& fill : one.fills) {
        if (!known(fill.tensor) || !known(fill.filling)) return fault(ErrorCode::UnknownWord, "fill", {});
        const auto same = [&](const Fill& other) { return other.tensor == fill.tensor; };
        if (std::count_if(one.fills.begin(), one.fills.end(), same) > 1)
            return fault(ErrorCode::DuplicateKey, "fill",
                         std::string(to_text(fill.tensor)) + " is filled twice");
    }
    return std::nullopt;
}

std::optional<Error> check_step(const Step& step) {
    const auto at = [](ErrorCode code, std::string reason) { return fault(code, "step", std::move(reason)); };
    if (to_text(step.verb).empty()) return at(ErrorCode::UnknownWord, "verb");
    const Form form = form_of(step.verb);
    const bool unused =
        (form.count == CountUse::none && step.count != 0) || (!form.tensor && step.tensor != Step{}.tensor) ||
        (!form.variant && step.variant != Step{}.variant) || (!form.shape && (step.rank || step.width)) ||
        (!form.batch && step.batch) || (!form.rows && step.rows) || (!form.expect && !step.expect.empty());
    if (unused)
        return at(ErrorCode::UnusedField, std::string(to_text(step.verb)) + " sets what it does not use");
    if (form.count != CountUse::none && (step.count < form.count_min || step.count > form.count_max))
        return at(ErrorCode::CountOutOfRange, std::to_string(step.count));
    if (step.rank.value_or(0) > kMaxRank) return at(ErrorCode::CountOutOfRange, "rank");
    if (form.tensor && !is_weight(step.tensor)) return at(ErrorCode::UnknownWord, "not a weight");
    if (to_text(step.variant).empty()) return at(ErrorCode::UnknownWord, "layer");
    if (!step.expect.empty() && !is_name(step.expect)) return at(ErrorCode::BadName, step.expect);
    return std::nullopt;
}

std::optional<Error> check_set(const Set& set, ElementType type, const SetBounds& bounds) {
    const auto at = [](ErrorCode code) { return fault(code, "set", {}); };
    if (to_text(set.tensor).empty() || !is_weight(set.of)) return at(ErrorCode::UnknownWord);
    if (!is_family(set.tensor) && set.of != Set{}.of) return at(ErrorCode::UnusedField);
    if (set.tensor != Tensor::x && set.index[2] != 0) return at(ErrorCode::UnusedField);
    if (!bounds.contains(set)) return at(ErrorCode::IndexOutOfRange);
    if (type == ElementType::float32 && !representable_in_float(set.bits))
        return at(ErrorCode::NotRepresentable);
    return std::nullopt;
}

}  // namespace

SetBounds::SetBounds(const Case& one)
    : x_{one.batch, rows_needed(one), one.width},
      weights_{{{saturating_product(one.heads, one.head_width), one.width},
                {saturating_product(one.kv_heads, one.head_width), one.width},
                {saturating_product(one.kv_heads, one.head_width), one.width},
                {one.width, saturating_product(one.heads, one.head_width)}}} {}

bool SetBounds::contains(const Set& set) const {
    if (set.tensor == Tensor::x) return set.index[0] < x_[0] && set.index[1] < x_[1] && set.index[2] < x_[2];
    const Tensor weight = is_family(set.tensor) ? set.of : set.tensor;
    const auto& sizes = weights_[static_cast<std::size_t>(weight) - static_cast<std::size_t>(Tensor::wq)];
    return set.index[0] < sizes[0] && set.index[1] < sizes[1];
}

bool print_may_be_too_long(const Case& one) {
    // Longest lines: a step 7 + 7 + 20 + 8 + 3 · 27 + 8 + 100, a set 20 + 66 + 30; all else once.
    std::size_t bytes = 1024 + one.fills.size() * 64 + one.sets.size() * 128 + one.steps.size() * 256;
    for (const std::string& comment : one.comments)
        bytes += comment.size() + 3;
    return bytes > kMaxTextBytes;
}

std::optional<Error> check(const Case& one) {
    if (auto error = check_words(one)) return error;
    if (one.sets.size() > kMaxSets) return fault(ErrorCode::TooMany, "set", std::to_string(one.sets.size()));
    if (one.steps.size() > kMaxSteps)
        return fault(ErrorCode::TooMany, "step", std::to_string(one.steps.size()));
    for (const Step& step : one.steps) {
        if (auto error = check_step(step)) return error;
    }
    const SetBounds bounds(one);
    for (const Set& set : one.sets) {
        if (auto error = check_set(set, one.type, bounds)) return error;
    }
    if (print_may_be_too_long(one)) {
        if (const auto bytes = print(one).size(); bytes > kMaxTextBytes)
            return fault(ErrorCode::TextTooLong, {}, std::to_string(bytes) + " bytes in canonical form");
    }
    return std::nullopt;
}

}  // namespace attest::cases
