// parse(print(c)) = c and print(parse(print(c))) = print(c), for every case that passes check; the law of the
// case format, which every other law trusts.
//
// Kills a reader that drops or repairs what it does not understand: NaN payloads, −0, counts beyond 63 bits,
// comments; a counterexample that would replay as another case.
//
// Stays although no planted bug needs it: it judges the case format, on which all others stand, and bugs are
// planted into the library alone.

#include "attest/properties/laws.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"

namespace attest::properties::law {

Verdict print_then_parse_is_identity(const cases::Case& one, Subject&) {
    Checks checks;
    if (const auto error = cases::check(one)) return vacuous("no valid case: " + error->text());
    const std::string text = cases::print(one);
    const auto again = cases::parse(text);
    checks.tested();
    if (!again) {
        checks.fail("the printed case", again.error().text(), "read back", "nothing else");
        return checks.verdict();
    }
    checks.that("the case read back", *again == one, cases::print(*again), text);
    checks.equal("its text", cases::print(*again), text);

    // Normalising leaves a valid case alone, and blank lines and spaces mean nothing.
    cases::Case normal = one;
    cases::normalise(normal);
    checks.that("the case normalised", normal == one, cases::print(normal), text);
    // One more word on any line is refused, whatever the line.
    std::size_t end = 0;
    for (int line = 0; line < 64 && (end = text.find('\n', end)) != std::string::npos; ++line, ++end) {
        const std::size_t start = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
        if (end == start || text[start] == '#') continue;
        std::string spoilt = text;
        spoilt.insert(end, " surplus");
        checks.that("a line with a surplus word", !cases::parse(spoilt).has_value(), "read", "refused");
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
