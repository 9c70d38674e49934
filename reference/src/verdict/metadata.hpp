// The strings of a dump's metadata, read by key, each key at most once. A number without a dimension, as
// numpy writes causal=0 into an archive, is the string of that number.
#pragma once

#include <attest/dump/file.hpp>
#include <attest/reference/arithmetic.hpp>
#include <attest/reference/error.hpp>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace attest::reference {

class Metadata {
  public:
    explicit Metadata(const dump::File& file) : file_(file) {}

    // text gives the value of a key, or nothing where the dump does not hold it.
    std::optional<std::string_view> text(const std::string& key);
    // number is a finite decimal number, count a whole number that is not negative.
    std::expected<std::optional<double>, Error> number(const std::string& key);
    std::expected<std::optional<std::uint64_t>, Error> count(const std::string& key);

    // unknown gives the first key nothing has asked for.
    std::optional<Error> unknown() const;

    // Whether a tensor of this name was read as a key.
    bool told(const std::string& name) const { return told_.contains(name); }

    static Error bad(const std::string& key, std::string_view value, const std::string& expected);
    static Error missing(const std::string& key);

  private:
    const dump::File& file_;
    std::set<std::string> asked_;
    std::map<std::string, std::string> told_;  // numbers, as text
};

// arithmetic_in reads the keys that say how an answer was computed; `answer` is the type it was stored in.
std::expected<Arithmetic, Error> arithmetic_in(Metadata& metadata, Number answer);

}  // namespace attest::reference
