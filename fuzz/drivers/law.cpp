// The libFuzzer driver of one law. ATTEST_FUZZ_LAW is its name; an input is the text of a case, so what
// libFuzzer leaves after a finding is a file that replay takes as it is.
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/laws.hpp"
#include "attest/properties/subject.hpp"

#include "../src/cost.hpp"
#include "../src/gauge.hpp"
#include "../src/mutate.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#define ATTEST_TEXT_OF(name) #name
#define ATTEST_TEXT(name) ATTEST_TEXT_OF(name)

namespace {

namespace fuzzing = attest::fuzzing;
namespace cases = attest::cases;
namespace properties = attest::properties;

constexpr std::string_view kLaw = ATTEST_TEXT(ATTEST_FUZZ_LAW);

const fuzzing::Mutator& mutator() {
    static const fuzzing::Mutator made = fuzzing::mutator_of(kLaw);
    return made;
}

std::string_view text_of(const std::uint8_t* data, std::size_t bytes) {
    return {reinterpret_cast<const char*>(data), bytes};
}

std::size_t hand_over(const std::optional<std::string>& text, std::uint8_t* out) {
    if (!text) {
        return 0;
    }
    std::memcpy(out, text->data(), text->size());
    return text->size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    const auto parsed = cases::parse(text_of(data, bytes));
    // Another law's case would leave a finding that replay runs through that law, so it is not run.
    if (!parsed || parsed->law != kLaw || !fuzzing::affordable(*parsed, mutator().multiplications_max())) {
        return -1;
    }
    const auto subject = properties::make_attest_subject();
    const properties::Verdict verdict = properties::law::ATTEST_FUZZ_LAW(*parsed, *subject);
    if (verdict.kind == properties::VerdictKind::fails) {
        std::fprintf(stderr, "%s\n\n%s", verdict.text().c_str(), cases::print(*parsed).c_str());
        std::abort();
    }
    if (verdict.kind == properties::VerdictKind::vacuous) {
        return -1;
    }
    fuzzing::record(verdict.counters);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                               unsigned seed) {
    return hand_over(mutator().mutate(text_of(data, bytes), bytes_max, seed), data);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* left, std::size_t left_bytes,
                                                 const std::uint8_t* right, std::size_t right_bytes,
                                                 std::uint8_t* out, std::size_t bytes_max, unsigned seed) {
    const auto child =
        mutator().cross(text_of(left, left_bytes), text_of(right, right_bytes), bytes_max, seed);
    return hand_over(child, out);
}
