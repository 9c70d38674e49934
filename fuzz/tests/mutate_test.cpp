// The mutators: whatever they are given, a mutant is a case of the right law that fits, and is another case
// than its parent nearly always.
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/case/rows.hpp"
#include "attest/properties/laws.hpp"

#include "../src/cost.hpp"
#include "../src/mutate.hpp"
#include "corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace attest::fuzzing {
namespace {

constexpr std::size_t kBytesMax = 4096;  // libFuzzer's own default where seeds are shorter

// Sanitizers make a mutant ten times as dear; there a tenth of them must do.
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned kMutants = 1000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr unsigned kMutants = 1000;
#else
constexpr unsigned kMutants = 10000;
#endif
#else
constexpr unsigned kMutants = 10000;
#endif

// What drivers do with texts. A mutant's case is the one that its text says; every 16th is looked at.
std::optional<std::string> text_of(const std::optional<Mutant>& mutant) {
    if (!mutant) {
        return std::nullopt;
    }
    static unsigned seen = 0;
    if (++seen % 16 == 0) {
        EXPECT_TRUE(cases::parse(mutant->text) == mutant->one) << mutant->text;
    }
    return mutant->text;
}

std::optional<std::string> mutated(const Mutator& mutator, std::string_view text, std::size_t bytes_max,
                                   std::uint64_t seed) {
    const auto one = cases::parse(text);
    return text_of(mutator.mutate(one ? &*one : nullptr, bytes_max, seed));
}

std::optional<std::string> crossed(const Mutator& mutator, std::string_view left, std::string_view right,
                                   std::uint64_t seed) {
    const auto one = cases::parse(left);
    const auto other = cases::parse(right);
    return text_of(mutator.cross(one ? &*one : nullptr, other ? &*other : nullptr, kBytesMax, seed));
}

// What must hold of every mutant; empty where it does.
std::string fault_of(const std::optional<std::string>& text, const Mutator& mutator, std::string_view law,
                     std::size_t bytes_max) {
    if (!text) {
        return "no mutant";
    }
    if (text->size() > bytes_max) {
        return "too long";
    }
    const auto one = cases::parse(*text);
    if (!one) {
        return "does not parse: " + one.error().text();
    }
    if (cases::print(*one) != *text) {
        return "not canonical";
    }
    if (one->law != law) {
        return "of another law";
    }
    return affordable(*one, mutator.budget()) ? "" : "too dear";
}

// Starts over from `seed` now and then, so that mutants both near and far are seen.
void mutate_often(const std::string& seed, const Mutator& mutator, std::string_view law, unsigned times,
                  std::set<std::string>& seen) {
    std::string parent = seed;
    unsigned unchanged = 0;
    for (unsigned turn = 0; turn < times; ++turn) {
        const auto child = mutated(mutator, parent, kBytesMax, turn);
        ASSERT_EQ(fault_of(child, mutator, law, kBytesMax), "") << "from\n" << parent << "mutant\n" << *child;
        unchanged += *child == parent ? 1U : 0U;
        seen.insert(*child);
        parent = turn % 50 == 49 ? seed : *child;
    }
    EXPECT_LT(unchanged, times / 50) << "from\n" << seed;
}

TEST(Mutate, TenThousandMutantsOfEachCorpusCaseAreCases) {
    const auto files = corpus_cases();
    ASSERT_FALSE(files.empty());
    for (const CorpusFile& file : files) {
        SCOPED_TRACE(file.path.string());
        const Mutator mutator = mutator_of(file.folder);
        std::set<std::string> seen;
        mutate_often(file.text, mutator, file.folder, kMutants, seen);
        EXPECT_GT(seen.size(), kMutants / 2);
        if (HasFatalFailure()) {
            return;
        }
    }
}

TEST(Mutate, TextThatIsNoCaseGivesACase) {
    for (const properties::Law& law : properties::laws()) {
        const Mutator mutator = mutator_of(law.name);
        for (unsigned seed = 0; seed < 200; ++seed) {
            const auto child = mutated(mutator, "not a case", kBytesMax, seed);
            ASSERT_EQ(fault_of(child, mutator, law.name, kBytesMax), "") << law.name << ' ' << seed;
        }
    }
}

TEST(Mutate, OneSeedMeansOneMutant) {
    const Mutator mutator = mutator_of("cached_equals_full_prefix");
    for (unsigned seed = 0; seed < 200; ++seed) {
        EXPECT_EQ(mutated(mutator, "", kBytesMax, seed), mutated(mutator, "", kBytesMax, seed));
    }
}

TEST(Mutate, ShortLimitsAreKept) {
    const Mutator mutator = mutator_of("cached_equals_full_prefix");
    std::size_t made = 0;
    for (std::size_t bytes_max = 0; bytes_max < 600; ++bytes_max) {
        const auto child = mutated(mutator, "", bytes_max, bytes_max);
        if (child) {
            ++made;
            ASSERT_EQ(fault_of(child, mutator, "cached_equals_full_prefix", bytes_max), "");
        }
    }
    EXPECT_GT(made, 200U);
}

// Where the mutators must get without luck: every verb, every kind of number, full caches and their
// neighbours, layers that do not match.
TEST(Mutate, ReachesWhatCasesCanSay) {
    const Mutator mutator = mutator_of("refusal_changes_nothing");
    std::set<cases::Verb> verbs;
    std::set<cases::Variant> variants;
    std::set<cases::Filling> fillings;
    std::set<cases::Tensor> filled;
    std::set<std::string> seen;
    bool nan = false, infinity = false, full = false, float_type = false, both_pairs = false, huge = false;
    std::string parent;
    for (unsigned turn = 0; turn < 20000; ++turn) {
        parent = *mutated(mutator, turn % 200 == 0 ? "" : parent, kBytesMax, turn);
        const auto one = cases::parse(parent);
        ASSERT_TRUE(one);
        for (const cases::Step& step : one->steps) {
            verbs.insert(step.verb);
            if (step.verb == cases::Verb::layer) {
                variants.insert(step.variant);
            }
        }
        for (const cases::Fill& fill : one->fills) {
            fillings.insert(fill.filling);
            filled.insert(fill.tensor);
        }
        for (const cases::Set& set : one->sets) {
            const std::uint64_t magnitude = set.bits & 0x7fffffffffffffffU;
            nan = nan || magnitude > 0x7ff0000000000000U;
            infinity = infinity || magnitude == 0x7ff0000000000000U;
        }
        full = full || cases::rows_needed(*one) == one->capacity + 1;
        float_type = float_type || one->type == cases::ElementType::float32;
        both_pairs = both_pairs || one->rope.pairs == cases::Pairs::half;
        huge = huge || one->capacity > (std::uint64_t{1} << 40U);
    }
    EXPECT_EQ(verbs.size(), 17U);
    EXPECT_EQ(variants.size(), 10U);
    EXPECT_EQ(fillings.size(), 15U);
    EXPECT_EQ(filled.size(), 7U);
    EXPECT_TRUE(nan && infinity && full && float_type && both_pairs && huge);
}

TEST(Cross, ChildrenOfTwoCasesAreCases) {
    const Mutator mutator = mutator_of("copies_are_independent");
    std::set<std::string> seen;
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const std::string left = *mutated(mutator, "", kBytesMax, seed);
        const std::string right = *mutated(mutator, "", kBytesMax, seed + 100000);
        const auto child = crossed(mutator, left, right, seed);
        ASSERT_EQ(fault_of(child, mutator, "copies_are_independent", kBytesMax), "");
        seen.insert(*child);
    }
    EXPECT_GT(seen.size(), 1500U);
}

}  // namespace
}  // namespace attest::fuzzing
