// Replay: runs files through the law, or the property of bytes, that they belong to.
#pragma once

#include "attest/properties/subject.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace attest::fuzzing {

struct ReplayOptions {
    // A vacuous case counts as a failure: in the corpus it would only look like a test.
    bool refuse_vacuous = false;
    // Makes the implementation under test, anew for each file.
    std::function<std::unique_ptr<properties::Subject>()> make_subject = properties::make_attest_subject;
};

struct ReplayCounts {
    std::uint64_t right = 0;  // holds or blind
    std::uint64_t wrong = 0;  // fails; vacuous where that is refused
    std::uint64_t vacuous = 0;
    std::uint64_t unreadable = 0;

    // 0 right, 1 wrong, 2 unusable: something unreadable, or nothing checked.
    int exit_code() const;
};

// replay prints one line a file. A folder stands for all files below it but those whose name starts with a
// dot, in order of their names; a file in a folder called after a reader (case_bytes, npy_bytes …), or
// against_the_oracle, is raw bytes.
ReplayCounts replay(std::span<const std::string> paths, const ReplayOptions& options, std::ostream& out);

}  // namespace attest::fuzzing
