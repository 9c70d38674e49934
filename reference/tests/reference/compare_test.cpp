// The comparator has its own test: what does not compare must not pass.
#include <attest/reference/compare.hpp>

#include "attack/random.hpp"
#include "exact.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Judged judged_of(std::vector<double> exact, std::vector<double> allowed) {
    Judged judged;
    judged.name = "y";
    judged.shape = {1, exact.size()};
    judged.row_axis = 1;
    judged.first_row = 3;
    for (const double value : exact)
        judged.exact.emplace_back(value);
    judged.allowed = std::move(allowed);
    return judged;
}

TEST(Compare, ErrorsUpToTheAllowedPassAndTheNextDoubleDoesNot) {
    const Judged judged = judged_of({1.0}, {0x1p-10});
    EXPECT_TRUE(compare(judged, std::vector{1.0 + 0x1p-10}).holds());
    EXPECT_TRUE(compare(judged, std::vector{1.0 - 0x1p-10}).holds());
    EXPECT_FALSE(compare(judged, std::vector{std::nextafter(1.0 + 0x1p-10, 2)}).holds());
}

TEST(Compare, NanAndInfinityAreWrong) {
    const Judged judged = judged_of({1.0, 2.0}, {1.0, 1.0});
    for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
        const Comparison comparison = compare(judged, std::vector{1.0, bad});
        EXPECT_FALSE(comparison.holds());
        EXPECT_EQ(comparison.wrong, 1U);
        EXPECT_EQ(comparison.first_wrong.place, (std::vector<std::size_t>{0, 4}));
        EXPECT_EQ(comparison.worst.ratio, kInfinity);
        EXPECT_EQ(comparison.worst.place, (std::vector<std::size_t>{0, 4}));
    }
}

TEST(Compare, WithoutABoundNothingPasses) {
    const Judged judged = judged_of({1.0}, {kInfinity});
    EXPECT_FALSE(compare(judged, std::vector{1.0}).holds());
    EXPECT_EQ(compare(judged, std::vector{1.0}).unproved, 1U);
    EXPECT_EQ(compare(judged, std::vector{std::nan("")}).wrong, 1U);
    EXPECT_EQ(compare(judged, std::vector{kInfinity}).wrong, 1U);
}

TEST(Compare, NothingComparedDoesNotHold) {
    EXPECT_FALSE(compare(judged_of({}, {}), std::vector<double>{}).holds());
    EXPECT_FALSE(compare(judged_of({1.0}, {1.0}), std::vector{1.0, 1.0}).holds());
}

TEST(Compare, NothingAllowedMeansEqual) {
    const Judged judged = judged_of({0.0}, {0.0});
    EXPECT_TRUE(compare(judged, std::vector{0.0}).holds());
    EXPECT_TRUE(compare(judged, std::vector{-0.0}).holds());
    EXPECT_FALSE(compare(judged, std::vector{0x1p-1074}).holds());
}

TEST(Compare, TheWorstIsTheWorstWrongOne) {
    const Judged judged = judged_of({0, 0, 0}, {1, 1, 1});
    const Comparison comparison = compare(judged, std::vector{0.5, 2.0, 1.5});
    EXPECT_EQ(comparison.wrong, 2U);
    EXPECT_EQ(comparison.worst.place, (std::vector<std::size_t>{0, 4}));
    EXPECT_EQ(comparison.worst.ratio, 2.0);
    EXPECT_EQ(place_text(comparison.worst.place), "[0, 4]");
}

// The exact error decides, not its difference in double: 1 + 2^−60 is not 1.
TEST(Compare, ErrorsAreExact) {
    Judged judged = judged_of({1.0}, {0x1p-61});
    judged.exact[0].tail = 0x1p-60;
    EXPECT_FALSE(compare(judged, std::vector{1.0}).holds());
    judged.allowed[0] = 0x1p-60;
    EXPECT_TRUE(compare(judged, std::vector{1.0}).holds());
}

// Against fifty digits: never below the exact difference, and at most a unit in the last place above it.
TEST(Compare, ErrorsAreRoundedUp) {
    attack::Random random(11);
    std::size_t inexact = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        const Real value = Real(random.normal()) + random.normal() * std::ldexp(1.0, -50 - trial % 60);
        const Exact want = exact_of(value);
        const double near = std::ldexp(random.normal(), -(trial % 80));
        const double got = trial % 4 == 0 ? want.head : want.head + near;
        const Real difference = abs(Real(Real(got) - real_of<Real>(want)));
        const double error = error_of(want, got);
        ASSERT_GE(Real(error), difference) << trial;
        ASSERT_LE(Real(std::nextafter(error, 0)), difference) << trial;
        if (Real(error) != difference) ++inexact;
    }
    EXPECT_GT(inexact, 1000U);
}

TEST(Compare, AnExactValueIsWithinItsLastBitOfTheReal) {
    const Real third = Real(1) / 3;
    const Exact exact = exact_of(third);
    EXPECT_EQ(exact.head, 1.0 / 3);
    EXPECT_NE(exact.tail, 0);
    EXPECT_LT(abs(real_of<Real>(exact) - third), third * 0x1p-106);
    EXPECT_EQ(digits_of(exact), "0.333333333333333333333333333333");
    EXPECT_EQ(exact_of(Real(0.1)), Exact(0.1));
}

}  // namespace
}  // namespace attest::reference
