// compare(got, want, allowed) is right ⇔ got and want are finite, allowed is finite and ≥ 0, and
// |got − want| ≤ allowed; for the comparators that laws use and for the oracle's. +0 and −0 are equal where
// errors are compared and differ where bits are.
//
// Kills the comparator in which NaN passes, and tolerances that are NaN, infinite or negative.
//
// Stays although no planted bug needs it: it judges the comparators, by which all others judge, and bugs are
// planted into the library alone.

#include "attest/properties/laws.hpp"
#include "attest/properties/scene.hpp"

#include "attest/case/values.hpp"
#include "attest/reference/compare.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace attest::properties::law {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// NaNs of both kinds and signs, with and without payload.
constexpr std::array<std::uint64_t, 6> kNans = {0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
                                                0x7fffffffffffffff, 0xfff0000000000001, 0x7ff8000000000001};

bool passes_checks(double got, double want, double allowed) {
    Checks checks;
    return checks.inside("x", got, want, std::abs(got - want), allowed);
}

bool passes_oracle(double got, double want, double allowed) {
    reference::Judged judged;
    judged.name = "x";
    judged.shape = {1};
    judged.exact = {reference::Exact(want)};
    judged.allowed = {allowed};
    const std::array<double, 1> answer = {got};
    return reference::compare(judged, answer).holds();
}

// All comparators must say `right`.
void all_say(Checks& checks, Text place, double got, double want, double allowed, bool right) {
    const std::string_view wanted = right ? "right" : "wrong";
    checks.that(place, within(got, want, allowed) == right, "another answer of within", wanted);
    checks.that(place, passes_checks(got, want, allowed) == right, "another answer of Checks", wanted);
    // The oracle's exact values are always finite.
    if (std::isfinite(want)) {
        checks.that(place, passes_oracle(got, want, allowed) == right, "another answer of the oracle",
                    wanted);
    }
}

void around(Checks& checks, double value) {
    const double largest = std::numeric_limits<double>::max();
    for (const std::uint64_t pattern : kNans) {
        const double nan = std::bit_cast<double>(pattern);
        all_say(checks, "NaN for a number", nan, value, largest, false);
        all_say(checks, "a number for NaN", value, nan, largest, false);
        all_say(checks, "NaN for NaN", nan, nan, largest, false);
        all_say(checks, "NaN allowed", value, value, nan, false);
        const bool itself = std::bit_cast<std::uint64_t>(value) == pattern;
        checks.that("NaN by bits", same_bits(nan, value) == itself && same_bits(nan, nan), "confused",
                    "told apart");
    }
    if (!std::isfinite(value)) {
        all_say(checks, "a non-finite answer", value, 0.0, largest, false);
        all_say(checks, "a non-finite answer for itself", value, value, largest, false);
        return;
    }
    for (const double infinity : {kInfinity, -kInfinity}) {
        all_say(checks, "infinity for a number", infinity, value, largest, false);
        all_say(checks, "a number for infinity", value, infinity, largest, false);
        all_say(checks, "infinity for infinity", infinity, infinity, largest, false);
    }
    all_say(checks, "everything allowed", value, value, kInfinity, false);
    all_say(checks, "less than nothing allowed", value, value, -1.0, false);
    all_say(checks, "the number itself", value, value, 0.0, true);
    const double next = std::nextafter(value, value > 0 ? 0.0 : 1.0);
    const double gap = std::abs(value - next);
    all_say(checks, "the next number, nothing allowed", next, value, 0.0, false);
    all_say(checks, "the next number, its distance allowed", next, value, gap, true);
    all_say(checks, "the next number, half its distance allowed", next, value, gap / 2, gap / 2 == gap);
    checks.that("the next number by bits", !same_bits(next, value), "the same", "another");
}

}  // namespace

Verdict comparator_flags_nan(const cases::Case& one, Subject&) {
    Checks checks;
    around(checks, 0.0);
    all_say(checks, "zeros of both signs", -0.0, 0.0, 0.0, true);
    checks.that("zeros of both signs by bits", !same_bits(-0.0, 0.0), "the same", "different");
    const auto shape = cases::shape_of(one, cases::Tensor::x);
    const bool fillable = shape && shape->elements <= 4096;
    const auto x = fillable ? cases::fill<double>(one, cases::Tensor::x)
                            : decltype(cases::fill<double>(one, cases::Tensor::x))(std::vector<double>());
    if (x) {
        std::size_t tried = 0;
        for (const double value : *x) {
            if (tried++ < 24 || !std::isfinite(value)) around(checks, value);
        }
    }
    checks.tested();
    return checks.verdict();
}

}  // namespace attest::properties::law
