// A driver runs what is affordable. A corpus case that is not would be skipped by its own driver, silently.
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/predict.hpp"

#include "../src/cost.hpp"
#include "../src/mutate.hpp"
#include "corpus.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace attest::fuzzing {
namespace {

TEST(Cost, EveryCorpusCaseIsAffordable) {
    for (const CorpusFile& file : corpus_cases()) {
        const auto one = cases::parse(file.text);
        ASSERT_TRUE(one) << file.path;
        EXPECT_TRUE(affordable(*one, mutator_of(file.folder).budget())) << file.path;
    }
}

TEST(Cost, LargeCasesAreNot) {
    cases::Case one;
    one.steps.assign(4, cases::Step{});
    const Budget& most = kForBits;
    EXPECT_TRUE(affordable(one, most));
    cases::Case wide = one;
    wide.width = wide.head_width = 400;
    EXPECT_FALSE(affordable(wide, most));
    cases::Case roomy = one;
    roomy.capacity = 100000;
    EXPECT_FALSE(affordable(roomy, most));
    cases::Case long_one = one;
    long_one.steps.assign(65, cases::Step{});
    EXPECT_FALSE(affordable(long_one, most));
    cases::Case long_table = one;
    long_table.rope.positions = std::uint64_t{1} << 20;
    EXPECT_FALSE(affordable(long_table, most));
}

// The most that a cache or a table may take is made, walked along and compared, which takes seconds.
TEST(Cost, WhatIsJustNotRefusedIsNotAffordable) {
    struct Kind {
        cases::ElementType type;
        cases::KvStorage storage;
        std::uint64_t bytes;
    };
    for (const Kind& kind : {Kind{cases::ElementType::float32, cases::KvStorage::computing, 4},
                             Kind{cases::ElementType::float64, cases::KvStorage::computing, 8},
                             Kind{cases::ElementType::float32, cases::KvStorage::bf16, 2},
                             Kind{cases::ElementType::float32, cases::KvStorage::f16, 2}}) {
        cases::Case one;
        one.type = kind.type;
        one.storage = kind.storage;
        one.width = one.heads = one.kv_heads = one.head_width = 1;
        one.steps.assign(2, cases::Step{});
        const std::uint64_t most = properties::kAllocationLimit / kind.bytes;
        for (const std::uint64_t capacity : {most / 2 - 4, most / 2 + 4, most}) {
            one.capacity = capacity;
            EXPECT_FALSE(affordable(one, kForBits)) << cases::print(one);
        }
        one.capacity = most + 1;
        EXPECT_TRUE(affordable(one, kForBits)) << cases::print(one);

        cases::Case turning = one;
        turning.capacity = 4;
        turning.head_width = turning.rope.width = 2;
        turning.rope.positions =
            properties::kAllocationLimit / (kind.type == cases::ElementType::float32 ? 4 : 8);
        EXPECT_FALSE(affordable(turning, kForBits)) << cases::print(turning);
        ++turning.rope.positions;
        EXPECT_TRUE(affordable(turning, kForBits)) << cases::print(turning);
    }
}

// Geometry that nobody may allocate costs nothing: it must be refused, and a driver must get there.
TEST(Cost, WhatMustBeRefusedIsAffordable) {
    for (const std::uint64_t huge :
         {std::uint64_t{1} << 32, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
        cases::Case one;
        one.steps.assign(2, cases::Step{});
        cases::Case wide = one;
        wide.width = huge;
        EXPECT_TRUE(affordable(wide, Budget{1 << 16}));
        cases::Case roomy = one;
        roomy.capacity = huge;
        EXPECT_TRUE(affordable(roomy, Budget{1 << 16}));
        cases::Case headless = one;
        headless.heads = 0;
        headless.head_width = huge;
        EXPECT_TRUE(affordable(headless, Budget{1 << 16}));
    }
}

}  // namespace
}  // namespace attest::fuzzing
