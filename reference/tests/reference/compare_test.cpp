// The comparator has its own test: what does not compare must not pass.
#include <attest/reference/compare.hpp>

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
    judged.exact[0] += Real(0x1p-60);
    EXPECT_FALSE(compare(judged, std::vector{1.0}).holds());
    judged.allowed[0] = 0x1p-60;
    EXPECT_TRUE(compare(judged, std::vector{1.0}).holds());
}

}  // namespace
}  // namespace attest::reference
