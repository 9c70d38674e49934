// What a long run says of itself.
#include "../tools/progress.hpp"

#include <gtest/gtest.h>

namespace attest::reference::tool {
namespace {

TEST(Progress, SaysRateAndTimeLeft) {
    EXPECT_EQ(progress_line(0, 100, 1, true), "reading and projecting");
    EXPECT_EQ(progress_line(500, 2000, 10, false), "25 %, 50 keys/s, 30 s left");
    EXPECT_EQ(progress_line(500, 1000, 10, true),
              "[###############...............] 50 %, 50 keys/s, 10 s left");
    // More than was foreseen is no more than all.
    EXPECT_EQ(progress_line(2000, 1000, 1, false), "all keys attended, showing wrong kernels to the bound");
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
