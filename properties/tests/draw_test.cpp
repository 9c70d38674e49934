#include "attest/properties/draw.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/case/rows.hpp"
#include "attest/properties/laws.hpp"
#include "attest/properties/predict.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

cases::Case drawn(std::uint64_t seed, std::string_view law, unsigned size) {
    SeededChoices choices(seed);
    return draw(choices, law, size);
}

TEST(SeededChoices, StaysBelowAndIsTheSameTwice) {
    SeededChoices left(7);
    SeededChoices right(7);
    for (std::uint64_t n = 1; n < 200; ++n) {
        const std::uint64_t choice = left.below(n);
        EXPECT_LT(choice, n);
        EXPECT_EQ(choice, right.below(n));
    }
}

TEST(Draw, GivesValidCasesOfTheLaw) {
    for (const Law& law : laws()) {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const cases::Case one = drawn(seed, law.name, static_cast<unsigned>(seed * 7 % 101));
            const auto error = cases::check(one);
            ASSERT_FALSE(error.has_value()) << error->text() << cases::print(one);
            EXPECT_EQ(one.law, law.name);
        }
    }
}

// What a generator never reaches is never tested.
TEST(Draw, ReachesWhatTheLawsAreAbout) {
    std::set<std::string> reached;
    const auto reach = [&](bool happened, std::string what) {
        if (happened) reached.insert(std::move(what));
    };
    const std::uint64_t huge = std::uint64_t{1} << 40;
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        const cases::Case one = drawn(seed, "cached_equals_full_prefix", static_cast<unsigned>(seed % 101));
        const std::uint64_t rows = cases::rows_needed(one);
        reach(one.batch == 0 || one.width == 0 || one.heads == 0 || one.kv_heads == 0 || one.head_width == 0,
              "a zero count");
        reach(one.batch >= huge || one.width >= huge || one.heads >= huge || one.head_width >= huge,
              "a huge count");
        reach(one.capacity >= huge, "a huge capacity");
        reach(one.heads != rows && rows != one.head_width && one.heads != one.head_width,
              "H, T and d all different");
        reach(one.width % 2 == 1, "an odd width");
        reach(one.head_width == 7 || one.head_width == 9, "an edge of 8 lanes");
        reach(one.head_width == 15 || one.head_width == 17, "an edge of 16 lanes");
        reach(rows > 63 && rows < 66, "an edge of a block");
        reach(rows > 192 && rows < 195, "an edge of four blocks");
        reach(one.head_width == 64 || one.head_width == 128, "a head width with a kernel of its own");
        reach(one.width > 64, "an output in pieces");
        reach(rows == one.capacity, "the exact capacity");
        reach(rows > one.capacity, "more rows than slots");
        reach(one.rope.first >= std::uint64_t{1} << 17, "a far position");
        reach(one.rope.width % 2 == 1, "an odd rope");
        reach(one.rope.width > one.head_width, "a rope wider than a head");
        reach(one.rope.width != 0 && one.rope.width < one.head_width, "a partial rope");
        reach(!std::isfinite(one.rope.base), "a base that is no number");
        reach(one.kv_heads != 0 && one.heads / one.kv_heads > 1, "grouped heads");
        for (const cases::Set& set : one.sets) {
            reach(!std::isfinite(std::bit_cast<double>(set.bits)), "a number that is not finite");
        }
        for (const cases::Fill& fill : one.fills) {
            reach(fill.filling == cases::Filling::huge, "huge numbers in one tensor");
            reach(fill.filling == cases::Filling::subnormal, "subnormal numbers");
            reach(fill.filling == cases::Filling::needle && fill.tensor == cases::Tensor::x, "a needle");
            reach(fill.filling == cases::Filling::zeros && fill.tensor == cases::Tensor::wk, "equal scores");
            reach(
                fill.filling == cases::Filling::equal && fill.tensor == cases::Tensor::x && one.sets.empty(),
                "equal keys");
        }
        for (const std::uint64_t edge : {63u, 64u, 65u, 127u, 128u, 129u}) {
            reach(rows == edge && rows == one.capacity, "full at " + std::to_string(edge));
        }
        reach(std::any_of(one.sets.begin(), one.sets.end(),
                          [](const cases::Set& set) {
                              return set.tensor == cases::Tensor::wq &&
                                     std::bit_cast<double>(set.bits) <= -512;
                          }),
              "scores below a sentinel");
        for (const cases::Tensor tensor : {cases::Tensor::wk, cases::Tensor::wv}) {
            reach(std::any_of(one.sets.begin(), one.sets.end(),
                              [&](const cases::Set& set) {
                                  const double value = std::abs(std::bit_cast<double>(set.bits));
                                  return set.tensor == tensor && (value == 0x1p116 || value == 0x1p1012);
                              }),
                  tensor == cases::Tensor::wk ? "a key that overflows unseen"
                                              : "a value that overflows unseen");
        }
        for (const cases::Step& step : one.steps) {
            reach(true, "verb " + cases::print(step).substr(0, cases::print(step).find(' ')));
            if (step.verb == cases::Verb::layer) reach(true, cases::print(step));
            reach(step.rank.has_value(), "another rank");
            reach(step.verb == cases::Verb::cache && step.batch.has_value(), "another batch");
        }
    }
    for (const char* const what : {"a zero count",
                                   "a huge count",
                                   "a huge capacity",
                                   "H, T and d all different",
                                   "an odd width",
                                   "an edge of 8 lanes",
                                   "an edge of 16 lanes",
                                   "an edge of a block",
                                   "an edge of four blocks",
                                   "a head width with a kernel of its own",
                                   "an output in pieces",
                                   "the exact capacity",
                                   "more rows than slots",
                                   "a far position",
                                   "an odd rope",
                                   "a rope wider than a head",
                                   "a partial rope",
                                   "a base that is no number",
                                   "grouped heads",
                                   "a number that is not finite",
                                   "huge numbers in one tensor",
                                   "subnormal numbers",
                                   "another rank",
                                   "another batch",
                                   "a needle",
                                   "equal scores",
                                   "equal keys",
                                   "scores below a sentinel",
                                   "a key that overflows unseen",
                                   "a value that overflows unseen",
                                   "full at 63",
                                   "full at 64",
                                   "full at 65",
                                   "full at 127",
                                   "full at 128",
                                   "full at 129",
                                   "verb append",
                                   "verb prefill",
                                   "verb prepare",
                                   "verb commit",
                                   "verb commit_all",
                                   "verb reset",
                                   "verb snapshot",
                                   "verb copy",
                                   "verb cache",
                                   "verb update",
                                   "verb update_nonfinite",
                                   "verb adamw",
                                   "verb discard",
                                   "verb fail",
                                   "verb rewind",
                                   "verb skip",
                                   "layer original",
                                   "layer rebuilt",
                                   "layer wider",
                                   "layer heads",
                                   "layer kv_heads",
                                   "layer head_width",
                                   "layer rope_base",
                                   "layer rope_width",
                                   "layer rope_pairs",
                                   "layer positions"}) {
        EXPECT_TRUE(reached.contains(what)) << what;
    }
}

// A case that no wrong kernel could fail is worth nothing, however many there are: one pair of features,
// equal scores or values, one head, as many heads as rows, nothing but early positions.
TEST(Draw, GivesCasesThatCanFail) {
    constexpr unsigned kCases = 2000;
    for (const std::string_view law :
         {"inside_the_bound", "weights_are_probabilities", "positions_are_relative",
          "cached_equals_full_prefix", "prefill_in_any_chunks_is_the_same"}) {
        unsigned pairs = 0, rows = 0, heads = 0, groups = 0, values = 0, far = 0, apart = 0;
        for (std::uint64_t seed = 0; seed < kCases; ++seed) {
            const cases::Case one = drawn(seed, law, static_cast<unsigned>(seed % 101));
            const std::uint64_t count = cases::rows_needed(one);
            const cases::Filling filling = one.values.filling;
            pairs += one.rope.width >= 4 ? 1u : 0u;
            rows += count >= 3 ? 1u : 0u;
            heads += one.heads > 1 ? 1u : 0u;
            groups += one.kv_heads > 1 && one.heads > one.kv_heads ? 1u : 0u;
            apart += one.heads != count && one.head_width != count ? 1u : 0u;
            values += filling != cases::Filling::equal && filling != cases::Filling::ones &&
                              filling != cases::Filling::zeros
                          ? 1u
                          : 0u;
            far += one.rope.first > 40 ? 1u : 0u;
        }
        EXPECT_GT(pairs, kCases / 4) << law;
        EXPECT_GT(rows, kCases / 2) << law;
        EXPECT_GT(heads, kCases / 2) << law;
        EXPECT_GT(groups, kCases / 10) << law;
        EXPECT_GT(apart, kCases / 2) << law;
        EXPECT_GT(values, kCases / 2) << law;
        EXPECT_GT(far, kCases / 20) << law;
    }
}

TEST(Draw, IsMostlyGood) {
    unsigned good = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const cases::Case one = drawn(seed, "cached_equals_full_prefix", 50);
        good += predict_layer(one, nullptr).allows("") &&
                        predict_cache(one, one.batch, one.capacity, one.rope.first).allows("")
                    ? 1u
                    : 0u;
    }
    EXPECT_GT(good, 900u);
    EXPECT_LT(good, 1000u);
}

TEST(Mutate, KeepsTheLawAndTheCaseValid) {
    SeededChoices choices(3);
    cases::Case one = drawn(1, "stale_ticket_is_refused", 50);
    unsigned changed = 0;
    for (int i = 0; i < 2000; ++i) {
        const cases::Case before = one;
        mutate(one, choices);
        ASSERT_FALSE(cases::check(one).has_value());
        EXPECT_EQ(one.law, "stale_ticket_is_refused");
        changed += one == before ? 0u : 1u;
    }
    EXPECT_GT(changed, 1500u);
}

TEST(Shrink, GivesValidSimplerCasesOnly) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const cases::Case one = drawn(seed, "refusal_changes_nothing", 90);
        for (const cases::Case& simpler : shrink(one)) {
            ASSERT_FALSE(cases::check(simpler).has_value());
            EXPECT_FALSE(simpler == one);
            EXPECT_EQ(simpler.law, one.law);
        }
    }
}

// Accepting every candidate that keeps a property comes to an end, and to something small.
TEST(Shrink, EndsAtSmallCases) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        cases::Case one = drawn(seed, "cached_equals_full_prefix", 90);
        one.steps.push_back({});
        unsigned accepted = 0;
        bool progress = true;
        while (progress) {
            progress = false;
            for (const cases::Case& simpler : shrink(one)) {
                if (simpler.steps.empty()) continue;
                one = simpler;
                progress = true;
                ASSERT_LT(++accepted, 2000u) << cases::print(one);
                break;
            }
        }
        EXPECT_EQ(one.steps.size(), 1u);
        EXPECT_LE(one.batch, 1u);
        EXPECT_LE(one.width, 1u);
        EXPECT_LE(one.heads, 1u);
        EXPECT_TRUE(one.fills.empty() && one.sets.empty());
    }
}

}  // namespace
}  // namespace attest::properties
