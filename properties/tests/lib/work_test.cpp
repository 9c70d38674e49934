#include <gtest/gtest.h>

#include <attest/work.hpp>
#include <cstdint>
#include <vector>

#include "fixture.hpp"

namespace attest {
namespace {

StepRecord step(std::size_t length) {
    return {{length - 1, length, 1, length - 1}, length, length};
}

TEST(HistoryContrast, AddsUpThreeSteps) {
    const std::vector<StepRecord> steps{step(1), step(2), step(3)};
    EXPECT_EQ(history_contrast(steps), (HistoryContrast{6, 3, 3, 3}));
}

TEST(HistoryContrast, RefusesRecordsThatContradictThemselves) {
    EXPECT_EQ(test::refusal(history_contrast({})), "HistoryEmpty");
    const auto refused = [](auto change) {
        std::vector<StepRecord> steps{step(1), step(2)};
        change(steps[1]);
        const auto contrast = history_contrast(steps);
        return !contrast && contrast.error().get_if<HistoryInconsistent>()->step == 1;
    };
    EXPECT_TRUE(refused([](StepRecord& record) { ++record.key_rows; }));
    EXPECT_TRUE(refused([](StepRecord& record) { ++record.cache_length; }));
    EXPECT_TRUE(refused([](StepRecord& record) { ++record.work.full_prefix_rows; }));
    EXPECT_TRUE(refused([](StepRecord& record) { --record.work.reused_key_value_rows; }));
    EXPECT_TRUE(refused([](StepRecord& record) { ++record.work.incremental_rows; }));
    EXPECT_TRUE(refused([](StepRecord& record) { record = step(SIZE_MAX); }));
}

}  // namespace
}  // namespace attest
