// The table of counted roundings and the heights of sums.
#include "bound/model.hpp"

#include "attack/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attest::reference {
namespace {

Model own(double) {
    return Model(Arithmetic::attest<double>(), 8);
}
Model own(float) {
    return Model(Arithmetic::attest<float>(), 8);
}

// The library's trees, followed leaf by leaf: the depth of the deepest addition of two sums that may not be
// 0.
std::uint64_t lane_depth(std::uint64_t terms, std::uint64_t lanes) {
    std::vector<std::int64_t> depth(lanes, -1);  // −1: nothing there yet
    for (std::uint64_t i = 0; i < terms; ++i)
        depth[i % lanes] += 1;
    for (std::uint64_t half = lanes / 2; half != 0; half /= 2)
        for (std::uint64_t l = 0; l < half; ++l) {
            const std::int64_t a = depth[l], b = depth[l + half];
            depth[l] = a < 0 ? b : (b < 0 ? a : std::max(a, b) + 1);
        }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(depth[0], 0));
}

std::uint64_t block_depth(std::uint64_t terms) {
    std::vector<std::uint64_t> depth;
    for (std::uint64_t first = 0; first < terms; first += 64)
        depth.push_back(std::min<std::uint64_t>(64, terms - first) - 1);
    while (depth.size() > 1) {
        std::vector<std::uint64_t> next;
        for (std::size_t n = 0; n < depth.size(); n += 2)
            next.push_back(n + 1 < depth.size() ? std::max(depth[n], depth[n + 1]) + 1 : depth[n]);
        depth = next;
    }
    return depth.empty() ? 0 : depth[0];
}

TEST(Model, HeightsCoverTheLibrarysTreesAndAreReached) {
    for (std::uint64_t n = 1; n <= 2000; ++n) {
        ASSERT_GE(own(float()).dot_height(n), lane_depth(n, 16)) << n;
        ASSERT_LE(own(float()).dot_height(n), lane_depth(n, 16) + 1) << n;
        ASSERT_GE(own(double()).dot_height(n), lane_depth(n, 8)) << n;
        ASSERT_GE(own(double()).position_height({n, n, n}), block_depth(n)) << n;
        ASSERT_LE(own(double()).position_height({n, n, n}), block_depth(n) + 1) << n;
    }
    EXPECT_EQ(own(double()).dot_height(64), lane_depth(64, 8));
    EXPECT_EQ(own(float()).dot_height(64), lane_depth(64, 16));
    EXPECT_EQ(own(float()).position_height({4096, 4096, 4096}), block_depth(4096));
}

TEST(Model, HeightsOfForeignSums) {
    Arithmetic told = Arithmetic::foreign(Number::f32);
    told.passes.kind = Passes::Kind::two_pass;
    EXPECT_EQ(Model(told, 8).dot_height(100), 99U);
    told.summation = {.kind = Summation::Kind::blocked, .block = 16};
    EXPECT_EQ(Model(told, 8).dot_height(100), 16U + 7U - 2U);
    EXPECT_EQ(Model(told, 8).dot_height(5), 4U);
    told.summation = {.kind = Summation::Kind::pairwise, .block = 0};
    EXPECT_EQ(Model(told, 8).dot_height(100), 7U);
    EXPECT_EQ(Model(told, 8).dot_height(1), 0U);
    // Few keys seen among many columns: no tree over n terms is higher than n − 1.
    EXPECT_EQ(Model(told, 8).position_height({3, 1000, 1000}), 2U);
}

// Blocks by index, some keys hidden: the formula covers the depth of every such sum.
TEST(Model, BlockedHeightsCoverSumsWithHoles) {
    attack::Random random(4);
    Arithmetic told = Arithmetic::foreign(Number::f32);
    told.passes.kind = Passes::Kind::two_pass;
    for (int trial = 0; trial < 20000; ++trial) {
        const std::uint64_t columns = 1 + random.below(60), block = 1 + random.below(12);
        told.summation = {.kind = Summation::Kind::blocked, .block = block};
        std::uint64_t seen = 0, last = 0;
        std::int64_t total = -1, inside = -1;
        for (std::uint64_t c = 0; c < columns; ++c) {
            if (c % block == 0) {
                total = inside < 0 ? total : (total < 0 ? inside : std::max(total, inside) + 1);
                inside = -1;
            }
            if (random.chance(2)) continue;
            ++seen;
            last = c + 1;
            ++inside;
        }
        total = inside < 0 ? total : (total < 0 ? inside : std::max(total, inside) + 1);
        if (seen == 0) continue;
        ASSERT_GE(static_cast<std::int64_t>(Model(told, 8).position_height({seen, last, columns})), total);
    }
}

TEST(Model, CountsFollowTheTable) {
    const Counts mine = own(float()).counts();
    EXPECT_EQ(mine.q, 0U);
    EXPECT_EQ(mine.s, 3U);
    EXPECT_EQ(mine.a, 1U);
    EXPECT_EQ(mine.z, 0U);
    EXPECT_EQ(mine.w, 0U);
    EXPECT_EQ(mine.o, 1U);
    Arithmetic told = Arithmetic::foreign(Number::f32);
    told.passes.kind = Passes::Kind::two_pass;
    const Counts foreign = Model(told, 8).counts();
    EXPECT_EQ(foreign.q, 2U);
    EXPECT_EQ(foreign.s, 6U);
    EXPECT_EQ(foreign.a, 3U);
    EXPECT_EQ(foreign.z, 2U);
    EXPECT_EQ(foreign.w, 2U);
    EXPECT_EQ(foreign.o, 3U);
    told.passes.kind = Passes::Kind::any;  // perhaps merged partials
    EXPECT_EQ(Model(told, 8).counts().w, 4U);
    EXPECT_EQ(Model(told, 8).counts().o, 5U);
    EXPECT_EQ(Model(Arithmetic::attest<double>(), 8).exp_error().value(),
              step_up(step_up(2 * 0x1p-53)));  // e = 2u, and the two products' steps
    // √257 of a width bf16 can't hold.
    EXPECT_EQ(Model(Arithmetic::foreign(Number::bf16), 257).counts().s, 7U + 0U);
    EXPECT_EQ(Model(Arithmetic::foreign(Number::bf16), 256).counts().s, 6U);
}

TEST(Model, GammaIsUndefinedWhereItMustBe) {
    EXPECT_FALSE(Model::gamma(256, Upper(0x1p-8)).finite());
    EXPECT_TRUE(Model::gamma(255, Upper(0x1p-8)).finite());
    EXPECT_EQ(Model::gamma(0, Upper(0x1p-8)).value(), 0.0);
}

TEST(Model, InputsAreOffByWhatTheirTypeCannotHold) {
    const Model model(Arithmetic::foreign(Number::bf16), 8);
    EXPECT_EQ(model.input(1.0).value(), 0.0);
    EXPECT_GE(model.input(1.001).value(), 0x1p-8);
    Arithmetic flushing = Arithmetic::foreign(Number::f32);
    flushing.subnormals = Subnormals::flushed;
    EXPECT_GE(Model(flushing, 8).input(0x1p-130).value(), 0x1p-126);
    EXPECT_EQ(Model(flushing, 8).input(0.0).value(), 0.0);
}

}  // namespace
}  // namespace attest::reference
