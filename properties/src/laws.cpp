#include "attest/properties/laws.hpp"

#include <array>
#include <exception>

namespace attest::properties {

namespace {

constexpr LawKind bits = LawKind::bits;
constexpr LawKind oracle = LawKind::oracle;

constexpr std::array kLaws = {
#define ATTEST_LAW(name, kind, cases_drawn, sentence) Law{#name, &law::name, sentence, kind, cases_drawn},
#include "attest/properties/laws.list"
#undef ATTEST_LAW
};

}  // namespace

std::string_view to_text(LawKind kind) {
    return kind == LawKind::bits ? "bits" : "oracle";
}

std::span<const Law> laws() {
    return kLaws;
}

const Law* find_law(std::string_view name) {
    for (const Law& candidate : kLaws) {
        if (candidate.name == name) {
            return &candidate;
        }
    }
    return nullptr;
}

Verdict verdict_of(const Law& law, const cases::Case& one, Subject& subject) {
    try {
        return law.function(one, subject);
    } catch (const SubjectFault& fault) {
        return fails("a call of the subject", fault.what(), kSoundSubject, "nothing else");
    } catch (const std::exception& error) {
        return fails("the law", error.what(), "no exception", "nothing else");
    }
}

}  // namespace attest::properties
