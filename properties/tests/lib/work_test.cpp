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
    EXPECT_TRUE(refused([](StepRecord& record) { record.work.reused_key_value_rows = SIZE_MAX; }));
    // Both of them agree with each other, and not with the work.
    EXPECT_TRUE(refused([](StepRecord& record) { ++record.key_rows, ++record.cache_length; }));
}

TEST(HistoryContrast, EveryCountTellsItFromAnother) {
    const auto differs = [](auto of, auto member) {
        auto other = of;
        other.*member += 1;
        return of == of && !(other == of);
    };
    for (const auto member :
         {&Work::position, &Work::full_prefix_rows, &Work::incremental_rows, &Work::reused_key_value_rows})
        EXPECT_TRUE(differs(Work{1, 2, 3, 4}, member));
    using History = HistoryContrast;
    for (const auto member :
         {&History::complete_prefix_rows_per_projection, &History::incremental_rows_per_projection,
          &History::reused_key_rows, &History::reused_value_rows})
        EXPECT_TRUE(differs(History{1, 2, 3, 4}, member));
}

}  // namespace
}  // namespace attest
