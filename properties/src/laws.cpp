#include "attest/properties/laws.hpp"

#include <array>

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

}  // namespace attest::properties
