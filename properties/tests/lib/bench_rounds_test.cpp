// The arithmetic of the benchmarks, from made-up readings: which probe is the limit, which rounds count, what
// the ratios are, and what a check finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "asked.hpp"
#include "rounds.hpp"

namespace attest::bench {
namespace {

// A round on a quiet host, in which the library takes `attest` microseconds.
Round quiet(double attest) {
    return {{kClock, 100},
            {kClockOfTwo, 100},
            {"attest", attest},
            {"limit:slow", 140},
            {"limit:fast", 100},
            {"both:fast_2_threads", 50},
            {"attest_2_threads", 50},
            {"both:slow_2_threads", 70},
            {"compute", 20}};
}

Group group(const std::string& name, std::vector<Round> rounds) {
    Group made;
    made.name = name;
    made.rounds = std::move(rounds);
    return made;
}

std::vector<Group> decided(std::vector<Group> groups) {
    decide(groups);
    return groups;
}

constexpr const char* kInside = "attention/h32_kv32_d64_t1024";
constexpr const char* kBeyond = "attention/h32_kv32_d128_t16384";
constexpr const char* kGrouped = "attention/h32_kv8_d64_t1024";

std::vector<Group> steady(const std::string& name, double attest, std::size_t rounds = 6) {
    return decided({group(name, std::vector<Round>(rounds, quiet(attest)))});
}

TEST(Quartiles, LieBetweenValues) {
    const Quartiles odd = quartiles({5, 1, 3, 2, 4});
    EXPECT_EQ(odd.lower, 2);
    EXPECT_EQ(odd.median, 3);
    EXPECT_EQ(odd.upper, 4);
    const Quartiles even = quartiles({4, 1, 3, 2});
    EXPECT_EQ(even.lower, 1.75);
    EXPECT_EQ(even.median, 2.5);
    EXPECT_EQ(even.upper, 3.25);
    EXPECT_EQ(quartiles({7}).upper, 7);
}

TEST(RoundOf, TakesMediansButThePulsesMean) {
    const Round round =
        round_of({{"attest", {3, 1, 2}}, {kClock, {1, 7, 1}}, {kClockOfTwo, {2, 2, 8}}, {"none", {}}});
    EXPECT_EQ(round, (Round{{"attest", 2}, {kClock, 3}, {kClockOfTwo, 4}}));
}

TEST(Rounds, TheProbeIsChosenByItsMedianOverAllRounds) {
    std::vector<Round> rounds(7, quiet(110));
    // One lucky reading of another probe chooses nothing.
    rounds[3]["limit:slow"] = 60;
    rounds[3]["both:slow_2_threads"] = 10;
    const auto groups = decided({group(kInside, rounds)});
    EXPECT_EQ(groups[0].reading, "limit:fast");
    EXPECT_EQ(groups[0].reading_of_two, "both:fast_2_threads");
    EXPECT_EQ(reading(groups[0], rounds[3], kLimit), 100);
    EXPECT_EQ(reading(groups[0], rounds[3], "nobody"), std::nullopt);
}

TEST(Rounds, MultiplyAddsAreTheLimitWhereTheirMedianIsLarger) {
    std::vector<Round> rounds(7, quiet(110));
    for (const std::size_t i : {0U, 1U, 2U})
        rounds[i]["compute"] = 400;
    auto groups = decided({group(kInside, rounds)});
    EXPECT_EQ(groups[0].limit, "limit:fast");
    EXPECT_EQ(reading(groups[0], rounds[0], kLimit), 100);
    for (Round& round : rounds)
        round["compute"] = 101;
    groups = decided({group(kInside, rounds)});
    EXPECT_EQ(groups[0].limit, "compute");
    EXPECT_EQ(reading(groups[0], rounds[0], kLimit), 101);
    EXPECT_EQ(groups[0].reading, "limit:fast");
    for (Round& round : rounds)
        round.erase("compute");
    EXPECT_EQ(decided({group(kInside, rounds)})[0].limit, "limit:fast");
}

// Minutes of different speed: the ratio of the medians is far from the ratio in any minute.
TEST(Rounds, RatiosAreFormedInsideRounds) {
    std::vector<Round> rounds;
    for (const double speed : {1.0, 1.05, 1.10, 1.15, 1.20, 1.25}) {
        Round round = quiet(120 * speed);
        for (const char* who : {"limit:fast", "limit:slow"})
            round[who] *= speed;
        rounds.push_back(round);
    }
    // In one round the library alone was hindered.
    rounds[0]["attest"] *= 3;
    const auto ratio = ratio_of(decided({group(kInside, rounds)})[0], "attest", kLimit);
    ASSERT_TRUE(ratio);
    EXPECT_TRUE(ratio->trusted);
    EXPECT_EQ(ratio->undisturbed, 6U);
    EXPECT_NEAR(ratio->value.lower, 1.2, 1e-12);
    EXPECT_NEAR(ratio->value.median, 1.2, 1e-12);
    EXPECT_NEAR(ratio->value.upper, 1.2, 1e-12);
}

TEST(Rounds, DisturbedOnesAreLeftOut) {
    std::vector<Round> rounds(9, quiet(110));
    // A slow clock, a clock of the second core, and neighbours of the memory; each with a strange library.
    rounds[0] = quiet(200);
    rounds[0][kClock] = 111;
    rounds[1] = quiet(200);
    rounds[1][kClockOfTwo] = 111;
    rounds[2] = quiet(200);
    rounds[2]["limit:fast"] = 100 * kReadTolerance + 1;
    rounds[3]["both:fast_2_threads"] = 50 * kReadTolerance + 1;
    const auto groups = decided({group(kInside, rounds)});
    EXPECT_EQ(groups[0].disturbed,
              (std::vector<bool>{true, false, true, false, false, false, false, false, false}));
    EXPECT_EQ(groups[0].disturbed_of_two,
              (std::vector<bool>{true, true, true, true, false, false, false, false, false}));
    EXPECT_EQ(times_of(groups[0], "attest")->undisturbed, 7U);
    const auto two = ratio_of(groups[0], "attest", "attest_2_threads");
    EXPECT_EQ(two->undisturbed, 5U);
    EXPECT_EQ(two->rounds, 9U);
    EXPECT_TRUE(two->trusted);
    EXPECT_EQ(two->value.upper, 110.0 / 50);
    // What is chosen and what is slow among those who are no limit says nothing.
    rounds[5]["limit:slow"] = 1000;
    rounds[5]["compute"] = 99;
    EXPECT_FALSE(decided({group(kInside, rounds)})[0].disturbed[5]);
}

// The choice of rounds must not look at the library, nor at its peers.
TEST(Rounds, NoTimeOfTheLibraryDisturbsARound) {
    std::vector<Round> rounds(6, quiet(110));
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        rounds[i]["attest"] = std::pow(10, static_cast<double>(i));
        rounds[i]["attest_2_threads"] = std::pow(10, static_cast<double>(6 - i));
        rounds[i]["peer:any"] = static_cast<double>(i + 1);
    }
    const auto groups = decided({group(kInside, rounds)});
    EXPECT_EQ(std::ranges::count(groups[0].disturbed_of_two, true), 0);
}

// Every group's pulses are the same work: one that was busy all the time has no quiet pulse of its own.
TEST(Rounds, PulsesAreComparedOverTheWholeRun) {
    std::vector<Round> slow(6, quiet(110));
    for (Round& round : slow)
        round[kClock] = 125;
    const auto groups = decided({group(kInside, std::vector<Round>(6, quiet(110))), group(kBeyond, slow)});
    EXPECT_EQ(std::ranges::count(groups[0].disturbed, true), 0);
    EXPECT_EQ(std::ranges::count(groups[1].disturbed, true), 6);
    EXPECT_EQ(groups[1].clock[2], 1.25);
}

TEST(Rounds, TwoThreadsOnOneCoreAreDisturbed) {
    std::vector<Round> rounds(6, quiet(110));
    for (Round& round : rounds)
        round[kClockOfTwo] = 160;
    const auto groups = decided({group(kInside, rounds)});
    EXPECT_EQ(std::ranges::count(groups[0].disturbed, true), 0);
    EXPECT_EQ(std::ranges::count(groups[0].disturbed_of_two, true), 6);
    EXPECT_EQ(groups[0].pair, 1.6);
    EXPECT_EQ(findings(groups).exit_code(), 3);
}

TEST(Rounds, WithoutAPulseNoRoundIsUndisturbed) {
    std::vector<Round> rounds(6, quiet(110));
    for (Round& round : rounds)
        round.erase(kClock);
    EXPECT_EQ(findings(decided({group(kInside, rounds)})).exit_code(), 3);
}

TEST(Rounds, TooFewGiveNoVerdict) {
    EXPECT_EQ(findings(steady(kInside, 110, kFewestRounds)).exit_code(), 0);
    EXPECT_EQ(findings(steady(kInside, 110, kFewestRounds - 1)).exit_code(), 3);
    // However many rounds there were, and although the library was over: the ratio over all is only told.
    std::vector<Round> rounds(40, quiet(500));
    for (std::size_t i = kFewestRounds - 1; i < rounds.size(); ++i)
        rounds[i][kClock] = 150;
    const auto groups = decided({group(kInside, rounds)});
    const auto ratio = ratio_of(groups[0], "attest", kLimit);
    EXPECT_FALSE(ratio->trusted);
    EXPECT_EQ(ratio->undisturbed, kFewestRounds - 1);
    EXPECT_EQ(ratio->rounds, 40U);
    EXPECT_EQ(ratio->value.median, 5);
    const Findings found = findings(groups);
    EXPECT_TRUE(found.missed.empty());
    EXPECT_EQ(found.undecided.size(), 2U);
    EXPECT_EQ(found.exit_code(), 3);
}

struct Limit {
    const char* group;
    double most;
};

TEST(Asked, OfEachKindInLimits) {
    for (const Limit& limit :
         {Limit{kInside, 1.2}, Limit{kGrouped, 1.7}, Limit{kBeyond, 1.25},
          Limit{"attention/h32_kv8_d128_t16384", 2.5}, Limit{"layer/D512_h8_t1024", 1.15},
          Limit{"projections/D1024_h16_t512", 1 / 0.75}, Limit{"prefill/D1024_h16_t512", 1 / 0.6}}) {
        const Findings within = findings(steady(limit.group, 99.9 * limit.most));
        EXPECT_TRUE(within.missed.empty()) << limit.group;
        const Findings over = findings(steady(limit.group, 100.1 * limit.most));
        ASSERT_EQ(over.missed.size(), 1U) << limit.group;
        EXPECT_TRUE(over.missed[0].starts_with(std::string(limit.group) + ", attest: ")) << over.missed[0];
        EXPECT_EQ(over.exit_code(), 1);
    }
    EXPECT_EQ(findings(steady("attention_double/h32_kv32_d64_t1024", 900)).missed.size(), 0U);
}

TEST(Asked, OfTwoThreads) {
    const auto with = [](double two, double both) {
        std::vector<Round> rounds(6, quiet(110));
        for (Round& round : rounds) {
            round["attest_2_threads"] = two;
            round["both:fast_2_threads"] = both;
        }
        return findings(decided({group(kInside, rounds)})).missed;
    };
    EXPECT_TRUE(with(110 / 1.71, 100 / 1.91).empty());
    EXPECT_EQ(with(110 / 1.69, 100 / 1.91).size(), 1U);
    // Where reading does not double either, not being slower is enough.
    EXPECT_TRUE(with(110 / 1.01, 100 / 1.89).empty());
    EXPECT_EQ(with(110 / 0.99, 100 / 1.89).size(), 1U);
}

TEST(Asked, OfPeers) {
    const auto with = [](const char* name, double peer) {
        std::vector<Round> rounds(6, quiet(100));
        for (Round& round : rounds) {
            round["peer:quick"] = 100 * peer;
            round["peer:slow"] = 1000;
        }
        return decided({group(name, rounds)});
    };
    EXPECT_TRUE(findings(with(kInside, 2.01)).missed.empty());
    // Slower nowhere, but not twice as fast by the mean; then both.
    EXPECT_EQ(findings(with(kInside, 1.01)).missed.size(), 1U);
    EXPECT_EQ(findings(with(kInside, 0.99)).missed.size(), 2U);
    EXPECT_EQ(findings(with(kBeyond, 0.98)).missed.size(), 1U);
    EXPECT_EQ(findings(with(kBeyond, 0.96)).missed.size(), 2U);
    // Projections are compared, and nothing is asked.
    EXPECT_TRUE(findings(with("projections/D1024_h16_t512", 0.5)).missed.empty());

    auto both = with(kInside, 4);
    both.push_back(with(kBeyond, 1)[0]);
    const auto mean = mean_of_peers(against_peers(both));
    ASSERT_EQ(mean.size(), 1U);
    EXPECT_NEAR(mean[0].ratio.value.median, 2, 1e-12);
    EXPECT_TRUE(mean[0].ratio.trusted);
    // One shape without a verdict leaves the mean without one.
    both[1].disturbed.assign(6, true);
    EXPECT_EQ(verdict(mean_of_peers(against_peers(both))[0]), Verdict::none);
    EXPECT_TRUE(mean_of_peers({}).empty());
}

TEST(Asked, OfNarrowStorage) {
    const auto with = [](const char* name, double wide) {
        std::vector<Round> rounds(6, quiet(100));
        for (Round& round : rounds)
            round["attest_float"] = 100 * wide;
        return findings(decided({group(name, rounds)})).missed;
    };
    EXPECT_TRUE(with("attention_bf16/h32_kv32_d128_t16384", 1.61).empty());
    EXPECT_EQ(with("attention_bf16/h32_kv32_d128_t16384", 1.59).size(), 1U);
    EXPECT_TRUE(with("attention_bf16/h32_kv32_d128_t4096", 1.0).empty());
    EXPECT_TRUE(with("attention_f16/h32_kv32_d128_t16384", 1.0).empty());
}

// A check that looked at nothing has not passed.
TEST(Findings, OfNothingAreUnusable) {
    EXPECT_EQ(findings({}).exit_code(), 2);
    EXPECT_EQ(findings(steady(kInside, 110)).exit_code(), 0);
}

// What was seen on a quiet host stands, whatever else could not be seen.
TEST(Findings, AMissOutweighsABusyHost) {
    auto groups = steady(kInside, 500);
    groups.push_back(steady(kBeyond, 110, 2)[0]);
    const Findings found = findings(groups);
    EXPECT_EQ(found.missed.size(), 1U);
    EXPECT_EQ(found.undecided.size(), 2U);
    EXPECT_EQ(found.met, 1U);
    EXPECT_EQ(found.exit_code(), 1);
}

}  // namespace
}  // namespace attest::bench
