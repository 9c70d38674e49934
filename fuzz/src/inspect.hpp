// What a driver does besides fuzzing, for whoever runs a campaign:
//   fuzz_NAME --judge FILE...   one line a file: name, verdict, law, error/bound, place, text, split by tabs
//   fuzz_NAME --case FILE       prints the case that the file's bytes stand for
//   fuzz_NAME --shrink FILE [SECONDS [OF_ONE]]  prints the simplest case that fails in the same way
#pragma once

#include "target.hpp"

#include <optional>
#include <span>
#include <string>

namespace attest::fuzzing {

// inspect gives the exit code of one of the commands above; nothing when the arguments are none of them.
// 0: done. 1: --shrink: the file does not fail. 2: unusable.
std::optional<int> inspect(const Target& target, const MakeSubject& make_subject,
                           std::span<const std::string> arguments);

}  // namespace attest::fuzzing
