// Reading a case. Nothing is repaired or guessed: an unknown key, a bad value or a left-over word is an error
// that names its line and key.
#pragma once

#include <attest/case/case.hpp>
#include <attest/case/error.hpp>

#include <expected>
#include <optional>
#include <string_view>

namespace attest::cases {

// parse reads one case. It refuses text beyond the limits of case.hpp before looking at it.
//
// Cost: linear in the text. Whatever it returns passes check, and print writes it so that parse gives it
// again.
std::expected<Case, Error> parse(std::string_view text);

// check says what a case made in memory violates: what parse would refuse in the text that print writes.
std::optional<Error> check(const Case& one);

// normalise makes any case pass check, for mutators and generators: it drops what does not fit (sets outside
// their tensor, second fills, counts beyond their limits, fields a verb does not use) and rounds set values
// to the type. A case that passes check is left alone.
void normalise(Case& one);

}  // namespace attest::cases
