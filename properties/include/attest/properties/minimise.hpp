// Minimising a failing case: the laws' own shrinking, each candidate judged in a process of its own, so that
// a crash is as good a failure as a verdict.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/subject.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attest::properties {

using MakeSubject = std::function<std::unique_ptr<Subject>()>;

// How a case ends.
struct Ending {
    bool failed = false;  // a law fails, or the process died
    std::string place;    // where the law fails; empty where the process died
    std::string text;     // of the verdict, or what the process died of

    // Whether two failures look like one bug: both die, or both fail at the same place but for its numbers.
    bool alike(const Ending& other) const;
};

// judge_apart runs a case through the law it names in a child process, which is killed after `seconds`.
// Nothing when there is no such law or no process could be made.
std::optional<Ending> judge_apart(const cases::Case& one, const MakeSubject& make_subject, unsigned seconds);

struct Minimised {
    cases::Case one;
    std::string text;  // how the smallest case fails
    std::uint64_t tried = 0;
};

// How long minimise looks, and after how long one case counts as one that hangs.
struct ShrinkLimits {
    std::chrono::seconds all{60};
    std::chrono::seconds one{10};
};

// minimise looks for the simplest case that still fails alike, until nothing simpler does or the time is
// over. It gives nothing when `one` itself does not fail. The result's first comment says how it fails.
std::optional<Minimised> minimise(const cases::Case& one, const MakeSubject& make_subject,
                                  const ShrinkLimits& limits);

}  // namespace attest::properties
