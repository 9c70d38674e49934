#include <attest/case/parse.hpp>
#include <attest/case/print.hpp>
#include <attest/case/rows.hpp>
#include <attest/case/words.hpp>

#include "random.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace attest::cases {
namespace {

Case with_steps(const std::vector<std::string>& steps) {
    std::string text = print(Case{});
    for (const std::string& step : steps)
        text += "step = " + step + "\n";
    const auto one = parse(text);
    EXPECT_TRUE(one) << one.error().text();
    return one.value_or(Case{});
}

using Counts = std::vector<std::uint64_t>;

TEST(Rows, ARefusedRowIsOfferedAgain) {
    const Case one = with_steps({"prefill 2", "append expect Full", "append", "append"});
    EXPECT_EQ(row_cursors(one), (Counts{0, 2, 2, 3}));
    EXPECT_EQ(rows_needed(one), 4U);
}

TEST(Rows, ALastRefusedRowStillExists) {
    EXPECT_EQ(rows_needed(with_steps({"append expect Full"})), 1U);
    EXPECT_EQ(rows_needed(with_steps({"prefill 3 expect Full"})), 3U);
    EXPECT_EQ(rows_needed(with_steps({"append rank 2"})), 1U);
    EXPECT_EQ(rows_needed(with_steps({"skip 9"})), 0U);
    EXPECT_EQ(rows_needed(with_steps({"skip 9", "prefill 0"})), 0U);
    EXPECT_EQ(rows_needed(with_steps({"skip 9", "prepare"})), 10U);
    EXPECT_EQ(rows_needed(with_steps({})), 0U);
}

TEST(Rows, MalformedCallsConsumeNothing) {
    for (const char* step :
         {"append rank 2", "append rows 2", "append batch 2", "append width 9", "prepare rows 0",
          "prefill 3 batch 4", "append expect Full", "prepare expect Full"})
        EXPECT_EQ(row_cursors(with_steps({"append", step, "append"})), (Counts{0, 1, 1})) << step;
    // Words that change nothing leave the call well formed.
    EXPECT_EQ(row_cursors(with_steps({"append rank 3 rows 1 batch 1 width 8", "append"})), (Counts{0, 1}));
    EXPECT_EQ(row_cursors(with_steps({"prefill 2 rank 3 batch 1 width 8", "append"})), (Counts{0, 2}));
}

TEST(Rows, SkipAndRewindMoveTheCursor) {
    const Case one = with_steps({"append", "append expect NonFinite", "skip 1", "prepare", "rewind 2",
                                 "append", "rewind 99", "prefill 2"});
    EXPECT_EQ(row_cursors(one), (Counts{0, 1, 1, 2, 3, 1, 2, 0}));
    EXPECT_EQ(rows_needed(one), 3U);
}

TEST(Rows, OtherStepsTakeNone) {
    const Case one = with_steps({"reset", "update wk", "update_nonfinite wk", "adamw", "layer wider",
                                 "cache 1", "commit", "commit_all", "discard", "copy", "snapshot", "fail 1"});
    EXPECT_EQ(row_cursors(one), Counts(12, 0));
    EXPECT_EQ(rows_needed(one), 0U);
}

TEST(Rows, HugeCountsSaturate) {
    const Case one =
        with_steps({"prefill 18446744073709551615", "append", "skip 18446744073709551615", "prefill 7"});
    EXPECT_EQ(row_cursors(one), (Counts{0, UINT64_MAX, UINT64_MAX, UINT64_MAX}));
    EXPECT_EQ(rows_needed(one), UINT64_MAX);
}

TEST(Rows, NeedsAreWhatTheCursorsSay) {
    testing::Random random(7);
    for (int i = 0; i < 5'000; ++i) {
        const Case one = testing::random_case(random);
        const Counts cursors = row_cursors(one);
        ASSERT_EQ(cursors.size(), one.steps.size());
        std::uint64_t needed = 0;
        for (std::size_t at = 0; at < cursors.size(); ++at) {
            const std::uint64_t offered = rows_offered(one.steps[at]);
            const std::uint64_t end =
                cursors[at] + offered < cursors[at] ? UINT64_MAX : cursors[at] + offered;
            if (offered != 0 && end > needed) needed = end;
        }
        ASSERT_EQ(rows_needed(one), needed) << print(one);
    }
}

TEST(Variants, EveryVariantDiffersInTheOneThingItNames) {
    Case one;
    one.heads = 6;
    one.kv_heads = 3;
    one.width = 24;
    one.head_width = 4;
    const auto only = [&](Variant variant, auto change) {
        Case want = one;
        change(want);
        EXPECT_EQ(variant_of(one, variant), want) << to_text(variant);
    };
    only(Variant::original, [](Case&) {});
    only(Variant::rebuilt, [](Case&) {});
    only(Variant::wider, [](Case& c) { c.width = 25; });
    only(Variant::heads, [](Case& c) { c.heads = 9; });
    only(Variant::kv_heads, [](Case& c) { c.kv_heads = 1; });
    only(Variant::head_width, [](Case& c) { c.head_width = 5; });
    only(Variant::rope_base, [](Case& c) { c.rope.base = 10001.0; });
    only(Variant::rope_width, [](Case& c) { c.rope.width = 2; });
    only(Variant::rope_pairs, [](Case& c) { c.rope.pairs = Pairs::half; });
    only(Variant::positions, [](Case& c) { c.rope.positions = 65; });
}

TEST(Variants, DifferAtEveryEnd) {
    testing::Random random(8);
    for (int i = 0; i < 20'000; ++i) {
        const Case one = testing::random_case(random);
        for (const Variant variant : all_variants()) {
            const bool same = variant == Variant::original || variant == Variant::rebuilt;
            ASSERT_EQ(variant_of(one, variant) == one, same) << to_text(variant) << "\n" << print(one);
        }
    }
    Case most;
    most.width = most.head_width = most.rope.positions = UINT64_MAX;
    EXPECT_EQ(variant_of(most, Variant::wider).width, UINT64_MAX - 1);
    EXPECT_EQ(variant_of(most, Variant::head_width).head_width, UINT64_MAX - 1);
    EXPECT_EQ(variant_of(most, Variant::positions).rope.positions, UINT64_MAX - 1);
    Case single;
    single.heads = single.kv_heads = 1;
    EXPECT_EQ(variant_of(single, Variant::kv_heads).heads, 2U);
    EXPECT_EQ(variant_of(single, Variant::kv_heads).kv_heads, 2U);
    Case multi;
    multi.heads = 4;
    multi.kv_heads = 1;
    EXPECT_EQ(variant_of(multi, Variant::kv_heads).heads, 4U);
    EXPECT_EQ(variant_of(multi, Variant::kv_heads).kv_heads, 4U);
    for (const double base :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        Case one;
        one.rope.base = base;
        EXPECT_EQ(variant_of(one, Variant::rope_base).rope.base, 1.0);
    }
}

}  // namespace
}  // namespace attest::cases
