// The table of laws. Adding a law is one row in laws.list and one file laws/<name>.cpp.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/subject.hpp"
#include "attest/properties/verdict.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace attest::properties {

enum class LawKind : std::uint8_t {
    bits,    // compares bits; fast
    oracle,  // asks the oracle for exact values and bounds
};

std::string_view to_text(LawKind kind);

// A law is pure: the same case and the same code under test give the same verdict. It bounds its own work to
// less than a second and leaves the subject without armed failures or limits.
using LawFunction = Verdict (*)(const cases::Case& one, Subject& subject);

struct Law {
    std::string_view name;
    LawFunction function;
    std::string_view sentence;
    LawKind kind;
    std::uint64_t default_cases;  // for a ctest
};

std::span<const Law> laws();

// nullptr where there is no such law.
const Law* find_law(std::string_view name);

// The law's verdict. An exception is no verdict but a failure.
Verdict verdict_of(const Law& law, const cases::Case& one, Subject& subject);

namespace law {
#define ATTEST_LAW(name, kind, cases_drawn, sentence) Verdict name(const cases::Case& one, Subject& subject);
#include "attest/properties/laws.list"
#undef ATTEST_LAW
}  // namespace law

}  // namespace attest::properties
