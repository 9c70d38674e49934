// What a long run says of itself.
#include "../tools/progress.hpp"

#include <attest/reference/judge.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace attest::reference::tool {
namespace {

TEST(Progress, SaysRateAndTimeLeft) {
    EXPECT_EQ(progress_line(0, 100, 1, true), "reading and projecting");
    EXPECT_EQ(progress_line(500, 2000, 10, false), "25 %, 50 features/s, 30 s left");
    EXPECT_EQ(progress_line(500, 1000, 10, true),
              "[###############...............] 50 %, 50 features/s, 10 s left");
    // More than was foreseen is no more than all.
    EXPECT_EQ(progress_line(2000, 1000, 1, false), "all keys attended, showing wrong kernels to the bound");
}

// All that was foreseen is done in the end, so that the time left is the time left.
TEST(Progress, IsWholeWhenAJudgementIs) {
    const std::vector<double> numbers(4 * 6 * 6, 0.5);
    Core core{.batch = 1,
              .heads = 4,
              .kv_heads = 2,
              .length = 3,
              .keys = 5,
              .width = 4,
              .value_width = 2,
              .q = std::span(numbers).first(48),
              .k = std::span(numbers).first(40),
              .v = std::span(numbers).first(20),
              .causal = true};
    Progress progress;
    ASSERT_TRUE(judge(core, Arithmetic::foreign(Number::f32), {.threads = 2, .progress = &progress}));
    // Rows see 1, 2 and 3 keys: scores and mixes twice, the bound of the mix once.
    EXPECT_EQ(progress.total, 4U * 6 * (2 * (4 + 2) + 2));
    EXPECT_EQ(progress.done, progress.total);

    const Layer layer{.batch = 2,
                      .length = 3,
                      .width = 6,
                      .heads = 2,
                      .kv_heads = 1,
                      .head_width = 3,
                      .x = std::span(numbers).first(36),
                      .wq = std::span(numbers).first(36),
                      .wk = std::span(numbers).first(18),
                      .wv = std::span(numbers).first(18),
                      .wo = std::span(numbers).first(36)};
    Progress of_layer;
    ASSERT_TRUE(judge(layer, Arithmetic::attest<float>(), {.rows = {1, 2}, .progress = &of_layer}));
    EXPECT_EQ(of_layer.total, 2U * 2 * (2 + 3) * (2 * (3 + 3) + 3));
    EXPECT_EQ(of_layer.done, of_layer.total);
}

TEST(Progress, AShortRunPrintsNothing) {
    ::testing::internal::CaptureStderr();
    {
        const Progress progress;
        const Watch watch("short", progress);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace attest::reference::tool
