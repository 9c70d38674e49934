#include "verdict/metadata.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace attest::reference {

std::optional<std::string_view> Metadata::text(const std::string& key) {
    asked_.insert(key);
    if (const auto text = file_.metadata(key)) return text;
    const dump::Tensor* const number = file_.find(key);
    if (number == nullptr || !number->shape().empty()) return std::nullopt;
    std::string& told = told_[key];
    if (const auto whole = number->integer(0)) {
        told = std::to_string(*whole);
    } else {
        char digits[32];
        told.assign(digits, std::to_chars(digits, digits + sizeof digits, number->number(0)).ptr);
    }
    return told;
}

Error Metadata::bad(const std::string& key, std::string_view value, const std::string& expected) {
    return {Error::Code::bad_value, key, "is \"" + std::string(value) + "\", expected " + expected};
}

Error Metadata::missing(const std::string& key) {
    return {Error::Code::missing_key, key, "the metadata does not hold this key"};
}

std::expected<std::optional<double>, Error> Metadata::number(const std::string& key) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    // strtod also takes spaces, hexadecimal, infinities and NaN; a dump's numbers are plain decimals.
    const std::string held(*value);
    char* end = nullptr;
    const bool plain = !held.empty() && held.find_first_not_of("0123456789+-.eE") == std::string::npos;
    const double number = plain ? std::strtod(held.c_str(), &end) : 0;
    if (!plain || end != held.c_str() + held.size() || !std::isfinite(number))
        return std::unexpected(bad(key, *value, "a finite decimal number"));
    return number;
}

std::expected<std::optional<std::uint64_t>, Error> Metadata::count(const std::string& key) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (code != std::errc() || end != value->data() + value->size())
        return std::unexpected(bad(key, *value, "a whole number"));
    return number;
}

std::optional<Error> Metadata::unknown() const {
    for (const auto& [key, value] : file_.metadata())
        if (!asked_.contains(key))
            return Error{Error::Code::unknown_key, key, "no such key for this kind of dump"};
    return std::nullopt;
}

namespace {

template <class T>
using Words = std::initializer_list<std::pair<std::string_view, T>>;

// Sets `target` to what the key says; leaves it where the dump does not hold the key.
template <class T>
std::optional<Error> choose(Metadata& metadata, const std::string& key, Words<T> words, T& target) {
    const auto value = metadata.text(key);
    if (!value) return std::nullopt;
    std::string expected;
    for (const auto& [word, meaning] : words) {
        if (word == *value) {
            target = meaning;
            return std::nullopt;
        }
        expected += (expected.empty() ? "" : ", ") + std::string(word);
    }
    return Metadata::bad(key, *value, "one of " + expected);
}

std::optional<Error> choose_type(Metadata& metadata, const std::string& key, Number& target) {
    return choose<Number>(metadata, key,
                          {{"f64", Number::f64},
                           {"f32", Number::f32},
                           {"tf32", Number::tf32},
                           {"f16", Number::f16},
                           {"bf16", Number::bf16}},
                          target);
}

// A word, or a word and a positive whole number: "blocked:64".
struct Sized {
    std::string_view word;
    std::uint64_t size = 0;
    bool good = false;
};

Sized sized(std::string_view value) {
    const std::size_t colon = value.find(':');
    if (colon == std::string_view::npos) return {value, 0, true};
    const std::string_view digits = value.substr(colon + 1);
    Sized result{value.substr(0, colon), 0, false};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), result.size);
    result.good = code == std::errc() && end == digits.data() + digits.size() && result.size > 0;
    return result;
}

std::optional<Error> choose_summation(Metadata& metadata, Summation& target) {
    const auto value = metadata.text("summation");
    if (!value) return std::nullopt;
    const Sized said = sized(*value);
    if (said.good && said.size == 0 && said.word == "any") {
        target = {.kind = Summation::Kind::any, .block = 0};
    } else if (said.good && said.size == 0 && said.word == "pairwise") {
        target = {.kind = Summation::Kind::pairwise, .block = 0};
    } else if (said.good && said.size == 0 && said.word == "attest") {
        target = {.kind = Summation::Kind::attest, .block = 0};
    } else if (said.good && said.size != 0 && said.word == "blocked") {
        target = {.kind = Summation::Kind::blocked, .block = said.size};
    } else {
        return Metadata::bad("summation", *value, "any, blocked:N, pairwise or attest");
    }
    return std::nullopt;
}

std::optional<Error> choose_passes(Metadata& metadata, Passes& target) {
    const auto value = metadata.text("passes");
    if (!value) return std::nullopt;
    const Sized said = sized(*value);
    if (said.good && said.size == 0 && said.word == "any") {
        target = {.kind = Passes::Kind::any, .size = 0};
    } else if (said.good && said.size == 0 && said.word == "two_pass") {
        target = {.kind = Passes::Kind::two_pass, .size = 0};
    } else if (said.good && said.word == "online") {
        target = {.kind = Passes::Kind::online, .size = said.size};
    } else if (said.good && said.word == "split") {
        target = {.kind = Passes::Kind::split, .size = said.size};
    } else {
        return Metadata::bad("passes", *value, "any, two_pass, online:N or split:N");
    }
    return std::nullopt;
}

std::optional<Error> choose_number(Metadata& metadata, const std::string& key, bool positive,
                                   double& target) {
    const auto value = metadata.number(key);
    if (!value) return value.error();
    if (!*value) return std::nullopt;
    if (**value < 0 || (positive && **value == 0))
        return Metadata::bad(key, *metadata.text(key), positive ? "a positive number" : "no negative number");
    target = **value;
    return std::nullopt;
}

}  // namespace

std::expected<Arithmetic, Error> arithmetic_in(Metadata& metadata, Number answer) {
    // Defaults hang on what is stored, so that is read first; the library's own order, where it is told, on
    // it.
    if (auto bad = choose_type(metadata, "arithmetic", answer)) return std::unexpected(*bad);
    Arithmetic told = Arithmetic::foreign(answer);
    if (auto bad = choose_summation(metadata, told.summation)) return std::unexpected(*bad);
    if (told.summation.kind == Summation::Kind::attest) {
        const Arithmetic own = Arithmetic::attest<double>();
        told.passes = own.passes;
        told.exponent = own.exponent;
        told.scaled = own.scaled;
        told.exp_ulps = own.exp_ulps;
        told.rope_angles = own.rope_angles;
    }
    if (auto bad = choose_type(metadata, "accumulate", told.accumulate)) return std::unexpected(*bad);
    told.softmax_precision = told.weights_type = told.accumulate;
    if (auto bad = choose_type(metadata, "softmax_precision", told.softmax_precision))
        return std::unexpected(*bad);
    if (auto bad = choose_type(metadata, "weights_type", told.weights_type)) return std::unexpected(*bad);
    const std::optional<Error> choices[] = {
        choose<WeightsStored>(metadata, "weights_stored",
                              {{"before", WeightsStored::before}, {"after", WeightsStored::after}},
                              told.weights_stored),
        choose_passes(metadata, told.passes),
        choose<Exponent>(metadata, "exponent",
                         {{"any", Exponent::any}, {"e", Exponent::e}, {"two", Exponent::two}}, told.exponent),
        choose<Scaled>(
            metadata, "scaled",
            {{"any", Scaled::any}, {"score", Scaled::score}, {"q", Scaled::q}, {"both", Scaled::both}},
            told.scaled),
        choose_number(metadata, "exp_ulps", true, told.exp_ulps),
        choose<RopeAngles>(metadata, "rope_angles",
                           {{"exact", RopeAngles::exact}, {"f64", RopeAngles::f64}, {"f32", RopeAngles::f32}},
                           told.rope_angles),
        choose<Rounding>(metadata, "rounding",
                         {{"nearest", Rounding::nearest}, {"faithful", Rounding::faithful}}, told.rounding),
        choose<Subnormals>(metadata, "subnormals",
                           {{"kept", Subnormals::kept}, {"flushed", Subnormals::flushed}}, told.subnormals),
        choose_number(metadata, "answer_error", false, told.answer_error),
    };
    for (const std::optional<Error>& bad : choices)
        if (bad) return std::unexpected(*bad);
    (void)metadata.text("source");
    return told;
}

}  // namespace attest::reference
