#include "attest/properties/verdict.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace attest::properties {

std::string_view to_text(VerdictKind kind) {
    switch (kind) {
        case VerdictKind::holds:
            return "holds";
        case VerdictKind::fails:
            return "fails";
        case VerdictKind::vacuous:
            return "vacuous";
        case VerdictKind::blind:
            return "blind";
    }
    return "unknown";
}

std::string Verdict::text() const {
    switch (kind) {
        case VerdictKind::holds:
            return fmt::format("holds ({} checks)", counters.checks);
        case VerdictKind::fails:
            return fmt::format("fails at {}: got {}, want {}, allowed {}", place, got, want, allowed);
        case VerdictKind::vacuous:
            return fmt::format("vacuous: {}", why);
        case VerdictKind::blind:
            return fmt::format("blind to {} ({} checks)", why, counters.checks);
    }
    return "unknown";
}

Verdict holds(Counters counters) {
    if (counters.checks == 0) {
        return vacuous("no check was made", std::move(counters));
    }
    Verdict verdict;
    verdict.kind = VerdictKind::holds;
    verdict.counters = std::move(counters);
    return verdict;
}

Verdict fails(std::string place, std::string got, std::string want, std::string allowed, Counters counters) {
    Verdict verdict;
    verdict.kind = VerdictKind::fails;
    verdict.place = std::move(place);
    verdict.got = std::move(got);
    verdict.want = std::move(want);
    verdict.allowed = std::move(allowed);
    verdict.counters = std::move(counters);
    return verdict;
}

Verdict vacuous(std::string why, Counters counters) {
    Verdict verdict;
    verdict.kind = VerdictKind::vacuous;
    verdict.why = std::move(why);
    verdict.counters = std::move(counters);
    return verdict;
}

Verdict blind(std::string would_have_passed, Counters counters) {
    Verdict verdict;
    verdict.kind = VerdictKind::blind;
    verdict.why = std::move(would_have_passed);
    verdict.counters = std::move(counters);
    return verdict;
}

bool same_bits(double left, double right) {
    return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

bool same_bits(std::span<const double> left, std::span<const double> right) {
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (!same_bits(left[i], right[i])) {
            return false;
        }
    }
    return true;
}

bool within(double got, double want, double allowed) {
    if (!std::isfinite(got) || !std::isfinite(want)) {
        return false;
    }
    if (!std::isfinite(allowed) || allowed < 0) {
        return false;
    }
    const double error = std::abs(got - want);
    // Written so that an error that is NaN is not within anything.
    if (!(error <= allowed)) {
        return false;
    }
    return true;
}

std::string number_text(double value) {
    if (std::isnan(value)) {
        return fmt::format("nan:{:#018x}", std::bit_cast<std::uint64_t>(value));
    }
    if (std::isinf(value)) {
        return std::signbit(value) ? "-inf" : "inf";
    }
    return fmt::format("{:a} ({:.9g})", value, value);
}

bool Checks::bits(Text place, double got, double want) {
    ++counters_.checks;
    if (same_bits(got, want)) {
        return true;
    }
    fail(place(), number_text(got), number_text(want), "the same bits");
    return false;
}

bool Checks::bits(Text place, std::span<const double> got, std::span<const double> want) {
    ++counters_.checks;
    if (got.size() != want.size()) {
        fail(place(), fmt::format("{} elements", got.size()), fmt::format("{} elements", want.size()),
             "the same bits");
        return false;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (!same_bits(got[i], want[i])) {
            fail(fmt::format("{}[{}]", place(), i), number_text(got[i]), number_text(want[i]),
                 "the same bits");
            return false;
        }
    }
    return true;
}

bool Checks::equal(Text place, std::uint64_t got, std::uint64_t want) {
    ++counters_.checks;
    if (got == want) {
        return true;
    }
    fail(place(), fmt::format("{}", got), fmt::format("{}", want), "equality");
    return false;
}

bool Checks::equal(Text place, std::string_view got, std::string_view want) {
    ++counters_.checks;
    if (got == want) {
        return true;
    }
    fail(place(), std::string(got), std::string(want), "equality");
    return false;
}

bool Checks::that(Text place, bool condition, Text got, Text want) {
    ++counters_.checks;
    if (condition) {
        return true;
    }
    fail(place(), got(), want(), "nothing else");
    return false;
}

bool Checks::inside(Text place, double got, double want, double error, double allowed) {
    ++counters_.checks;
    const bool judged = std::isfinite(got) && std::isfinite(want) && std::isfinite(allowed) && allowed >= 0;
    if (!judged || !(error <= allowed)) {
        fail(place(), number_text(got), number_text(want),
             fmt::format("{:.6g} (error {:.6g})", allowed, error));
        return false;
    }
    // An error of 0 under an allowance of 0 is exact, a ratio of 0.
    const double ratio = error > 0 ? error / allowed : 0;
    if (ratio > counters_.worst) {
        counters_.worst = ratio;
        counters_.worst_place = place();
    }
    return true;
}

void Checks::count(std::uint64_t comparisons) {
    counters_.checks += comparisons;
}

void Checks::fail(std::string place, std::string got, std::string want, std::string allowed) {
    if (failed_) {
        return;
    }
    failed_ = true;
    failure_ = fails(std::move(place), std::move(got), std::move(want), std::move(allowed));
}

void Checks::note_blind(std::string_view would_have_passed) {
    if (blind_.find(would_have_passed) == std::string::npos) {
        blind_ += blind_.empty() ? "" : ", ";
        blind_ += would_have_passed;
    }
}

Verdict Checks::verdict(std::string_view if_none) const {
    if (failed_) {
        Verdict failure = failure_;
        failure.counters = counters_;
        return failure;
    }
    if (tests_ == 0 || counters_.checks == 0) {
        return vacuous(std::string(if_none), counters_);
    }
    if (!blind_.empty()) {
        return blind(blind_, counters_);
    }
    return holds(counters_);
}

}  // namespace attest::properties
