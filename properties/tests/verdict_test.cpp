#include "attest/properties/verdict.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Within, DecidesFiniteNumbersByTheirDistance) {
    EXPECT_TRUE(within(1.0, 1.0, 0.0));
    EXPECT_TRUE(within(1.5, 1.0, 0.5));
    EXPECT_FALSE(within(std::nextafter(1.5, 2.0), 1.0, 0.5));
    EXPECT_TRUE(within(-0.0, 0.0, 0.0));
}

TEST(Within, LetsNothingThroughThatIsNoNumber) {
    EXPECT_FALSE(within(kNan, 1.0, 1e300));
    EXPECT_FALSE(within(1.0, kNan, 1e300));
    EXPECT_FALSE(within(kNan, kNan, 1e300));
    EXPECT_FALSE(within(kInfinity, kInfinity, 1e300));
    EXPECT_FALSE(within(1.0, 1.0, kNan));
    EXPECT_FALSE(within(1.0, 1.0, kInfinity));
    EXPECT_FALSE(within(1.0, 1.0, -1.0));
}

TEST(SameBits, TellsZerosAndNansApart) {
    EXPECT_FALSE(same_bits(0.0, -0.0));
    EXPECT_TRUE(same_bits(kNan, kNan));
    EXPECT_FALSE(same_bits(kNan, std::bit_cast<double>(std::uint64_t{0x7ff8000000000001})));
    const std::array<double, 2> two = {1, 2};
    EXPECT_FALSE(same_bits(std::span<const double>(two), std::span<const double>(two).first(1)));
}

TEST(Checks, KeepsTheFirstFailure) {
    Checks checks;
    checks.tested();
    EXPECT_TRUE(checks.bits("a", 1.0, 1.0));
    EXPECT_FALSE(checks.bits("b", 1.0, 2.0));
    EXPECT_FALSE(checks.bits("c", 3.0, 4.0));
    const Verdict verdict = checks.verdict();
    EXPECT_EQ(verdict.kind, VerdictKind::fails);
    EXPECT_EQ(verdict.place, "b");
    EXPECT_EQ(verdict.counters.checks, 3u);
}

TEST(Checks, ReportsTheElementThatDiffers) {
    Checks checks;
    const std::array<double, 3> got = {1, 2, 3};
    const std::array<double, 3> want = {1, 2, 4};
    EXPECT_FALSE(checks.bits("x", got, want));
    EXPECT_EQ(checks.verdict().place, "x[2]");
    EXPECT_EQ(checks.verdict().allowed, "the same bits");
}

TEST(Checks, WithoutATestIsVacuousWhateverWasChecked) {
    Checks checks;
    checks.equal("the way there", 1, 1);
    EXPECT_EQ(checks.verdict("no row").kind, VerdictKind::vacuous);
    EXPECT_EQ(checks.verdict("no row").why, "no row");
    checks.tested();
    EXPECT_EQ(checks.verdict().kind, VerdictKind::holds);
}

TEST(Checks, HoldsOnlyBlindlyWhereSomethingWrongWouldHavePassed) {
    Checks checks;
    checks.tested();
    checks.inside("y", 1.0, 1.0, 0.0, 0.5);
    checks.note_blind("zeros");
    checks.note_blind("zeros");
    EXPECT_EQ(checks.verdict().kind, VerdictKind::blind);
    EXPECT_EQ(checks.verdict().why, "zeros");
}

TEST(Checks, GaugesTheWorstRatio) {
    Checks checks;
    checks.tested();
    EXPECT_TRUE(checks.inside("a", 1.0, 1.1, 0.1, 0.4));
    EXPECT_TRUE(checks.inside("b", 1.0, 1.3, 0.3, 0.4));
    EXPECT_TRUE(checks.inside("c", 1.0, 1.0, 0.0, 0.0));
    EXPECT_DOUBLE_EQ(checks.counters().worst, 0.75);
    EXPECT_EQ(checks.counters().worst_place, "b");
    EXPECT_FALSE(checks.inside("d", 1.0, 1.5, kNan, 0.4));
    EXPECT_FALSE(checks.inside("e", 1.0, 1.0, 0.0, kInfinity));
}

TEST(Holds, WithoutAnyCheckIsVacuous) {
    EXPECT_EQ(holds({}).kind, VerdictKind::vacuous);
}

}  // namespace
}  // namespace attest::properties
