#include "../run/run.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/scene.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

// Laws that misbehave, to see what becomes of the run.
Verdict always_vacuous(const cases::Case&, Subject&) {
    return vacuous("a test's reason");
}

Verdict wants_few_rows(const cases::Case& one, Subject&) {
    Counters counters;
    counters.checks = 1;
    return one.steps.size() < 3 ? holds(counters)
                                : fails("the steps", "three or more", "fewer", "nothing else");
}

Verdict crashes_on_wide_layers(const cases::Case& one, Subject&) {
    Counters counters;
    counters.checks = 1;
    if (one.width > 8) std::raise(SIGKILL);
    return holds(counters);
}

Verdict refuses_seventy_seven_slots(const cases::Case& one, Subject&) {
    Counters counters;
    counters.checks = 1;
    return one.capacity != 77 ? holds(counters) : fails("the capacity", "77", "another", "nothing else");
}

Verdict hangs(const cases::Case&, Subject&) {
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return holds({});
}

Verdict throws(const cases::Case&, Subject&) {
    throw std::runtime_error("a test's exception");
}

Law law_of(LawFunction function) {
    return {.name = "cached_equals_full_prefix",
            .function = function,
            .sentence = "",
            .kind = LawKind::bits,
            .default_cases = 100};
}

RunOptions options_of(const std::string& findings = "") {
    RunOptions options;
    options.engine.seed = 1;
    options.engine.seed_given = true;
    options.findings = findings;
    options.stall_seconds = 1;
    return options;
}

std::string all(const Row& row) {
    std::string text = row.verdict;
    for (const std::string& detail : row.details) {
        text += "\n" + detail;
    }
    return text;
}

TEST(RunLaw, ThatTestsNothingIsAFailure) {
    const Row row = run_law(law_of(always_vacuous), make_attest_subject, options_of());
    EXPECT_EQ(row.outcome, RowOutcome::wrong);
    EXPECT_EQ(row.verdict, "VACUOUS");
    EXPECT_NE(all(row).find("a test's reason"), std::string::npos);
}

TEST(RunLaw, ShrinksAndWritesACounterexampleThatReplays) {
    const std::string findings = testing::TempDir() + "/attest_findings";
    std::filesystem::remove_all(findings);
    const Row row = run_law(law_of(wants_few_rows), make_attest_subject, options_of(findings));
    EXPECT_EQ(row.verdict, "FAILS");
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(findings)) {
        if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    ASSERT_EQ(files.size(), 1u);
    EXPECT_NE(all(row).find("--replay " + files[0]), std::string::npos) << all(row);
    const std::vector<Row> replayed = replay_files(files, make_attest_subject, options_of());
    ASSERT_EQ(replayed.size(), 1u);
    EXPECT_NE(replayed[0].outcome, RowOutcome::unusable) << all(replayed[0]);
    // Shrunk to the smallest case that still has three steps.
    const std::size_t start = all(row).find("law = ");
    ASSERT_NE(start, std::string::npos);
    const auto one = cases::parse(all(row).substr(start, all(row).rfind("again:") - start));
    ASSERT_TRUE(one.has_value()) << one.error().text();
    EXPECT_EQ(one->steps.size(), 3u);
    EXPECT_EQ(one->width, 1u);
}

// A time given means further rounds, and ends a round in the middle.
TEST(RunLaw, GoesOnForTheTimeGiven) {
    RunOptions options = options_of();
    options.engine.cases = 5;
    options.engine.cases_given = true;
    options.engine.seconds = 0.3;
    const Row more = run_law(*find_law("comparator_flags_nan"), make_attest_subject, options);
    EXPECT_EQ(more.outcome, RowOutcome::right) << all(more);
    EXPECT_GT(more.cases, 5u);
    options.engine.cases = 1000000000;
    const Row fewer = run_law(*find_law("comparator_flags_nan"), make_attest_subject, options);
    EXPECT_EQ(fewer.outcome, RowOutcome::right) << all(fewer);
    EXPECT_LT(fewer.cases, 1000000000u);
}

TEST(RunLaw, TellsWhenItFailed) {
    const Row row = run_law(law_of(wants_few_rows), make_attest_subject, options_of());
    EXPECT_GT(row.failed_seconds, 0);
    EXPECT_LE(row.failed_seconds, row.seconds);
    EXPECT_TRUE(cases::parse(row.counterexample).has_value());
}

TEST(RunLaw, SurvivesACrashAndKeepsTheCase) {
    const Row row = run_law(law_of(crashes_on_wide_layers), make_attest_subject, options_of());
    EXPECT_EQ(row.outcome, RowOutcome::wrong);
    EXPECT_EQ(row.verdict, "CRASHES");
    EXPECT_NE(all(row).find("signal 9"), std::string::npos) << all(row);
    // Shrunk in children of its own to the narrowest layer that still crashes.
    const std::size_t start = all(row).find("law = ");
    ASSERT_NE(start, std::string::npos);
    const auto one = cases::parse(all(row).substr(start));
    ASSERT_TRUE(one.has_value()) << one.error().text();
    EXPECT_EQ(one->width, 9u);
    EXPECT_EQ(one->batch, 1u);
    EXPECT_TRUE(one->steps.empty());
}

TEST(RunLaw, ShrinksACrashOnlyAsLongAsItMay) {
    RunOptions options = options_of();
    options.engine.shrink_seconds = 0.2;
    const auto start = std::chrono::steady_clock::now();
    run_law(law_of(hangs), make_attest_subject, options);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

Verdict takes_all_memory(const cases::Case&, Subject&) {
    std::vector<std::vector<double>> all;
    for (;;) {
        all.emplace_back().reserve(std::size_t{1} << 20);
    }
}

TEST(RunLaw, EndsMemoryWithoutEnd) {
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
    GTEST_SKIP() << "sanitizers need the whole address space";
#endif
    RunOptions options = options_of();
    options.engine.shrink_seconds = 1;
    options.memory_bytes = std::uint64_t{512} << 20;
    const Row row = run_law(law_of(takes_all_memory), make_attest_subject, options);
    EXPECT_EQ(row.outcome, RowOutcome::wrong);
    EXPECT_NE(all(row).find("bad_alloc"), std::string::npos) << all(row);
}

TEST(RunLaw, ReplaysTheCorpusFirst) {
    const std::string corpus = testing::TempDir() + "/attest_corpus";
    std::filesystem::create_directories(corpus + "/cached_equals_full_prefix");
    cases::Case one;
    one.capacity = 77;
    std::ofstream(corpus + "/cached_equals_full_prefix/seventy_seven_slots.case") << cases::print(one);
    RunOptions options = options_of();
    options.corpus = corpus;
    const Row row = run_law(law_of(refuses_seventy_seven_slots), make_attest_subject, options);
    EXPECT_EQ(row.verdict, "FAILS");
    EXPECT_EQ(row.cases, 0u);
    EXPECT_NE(all(row).find("capacity = 77"), std::string::npos) << all(row);
    options.corpus.clear();
    EXPECT_EQ(run_law(law_of(refuses_seventy_seven_slots), make_attest_subject, options).verdict, "holds");
}

TEST(RunLaw, SaysWhatWasDrawn) {
    RunOptions options = options_of();
    options.verbose = true;
    const Row row = run_law(law_of(refuses_seventy_seven_slots), make_attest_subject, options);
    EXPECT_NE(all(row).find("type: "), std::string::npos) << all(row);
    EXPECT_NE(all(row).find("cases with: "), std::string::npos) << all(row);
}

Verdict asks_too_much(const cases::Case&, Subject& subject) {
    return unable(subject, Capability::tickets);
}

TEST(RunLaw, ThatAsksForWhatASubjectHasNotIsVacuous) {
    const Row row = run_law(law_of(asks_too_much), make_attest_subject, options_of());
    EXPECT_EQ(row.outcome, RowOutcome::right);
    EXPECT_EQ(row.verdict, "vacuous");
    EXPECT_FALSE(row.tested);
    EXPECT_NE(all(row).find("can't do: prepare and commit"), std::string::npos) << all(row);
}

TEST(RunLaws, RunsSeveralAtATimeAndEachOnce) {
    RunOptions options = options_of();
    options.jobs = 3;
    std::vector<LawRun> runs;
    for (const char* const name : {"comparator_flags_nan", "print_then_parse_is_identity",
                                   "work_counts_add_up", "capacity_does_not_matter"}) {
        runs.push_back({find_law(name), 20});
    }
    std::set<std::string> names;
    run_laws(runs, make_attest_subject, options, [&](const Row& row) {
        EXPECT_EQ(row.outcome, RowOutcome::right) << all(row);
        EXPECT_EQ(row.cases, 20u);
        EXPECT_TRUE(names.insert(row.name).second);
    });
    EXPECT_EQ(names.size(), 4u);
}

TEST(RunLaw, EndsAHang) {
    RunOptions options = options_of();
    options.engine.shrink_seconds = 0;
    const Row row = run_law(law_of(hangs), make_attest_subject, options);
    EXPECT_EQ(row.verdict, "CRASHES");
    EXPECT_NE(all(row).find("hangs"), std::string::npos) << all(row);
}

TEST(RunLaw, CallsAnExceptionAFailure) {
    const Row row = run_law(law_of(throws), make_attest_subject, options_of());
    EXPECT_EQ(row.outcome, RowOutcome::wrong);
    EXPECT_NE(all(row).find("a test's exception"), std::string::npos) << all(row);
}

TEST(Replay, OfWhatCannotBeReadIsUnusable) {
    const std::vector<Row> rows = replay_files({"/nowhere/at/all.case"}, make_attest_subject, options_of());
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].outcome, RowOutcome::unusable);
}

TEST(RcParams, WithAnUnknownKeyAreWrong) {
    setenv("RC_PARAMS", "seed=1 max_sucess=4", 1);
    EXPECT_EQ(wrong_rc_params(), "unknown key in RC_PARAMS: max_sucess");
    setenv("RC_PARAMS", "max_success=4 noshrink=1 seed='3'", 1);
    EXPECT_EQ(wrong_rc_params(), std::nullopt);
    setenv("RC_PARAMS", "max_success=many", 1);
    EXPECT_NE(wrong_rc_params(), std::nullopt);
    unsetenv("RC_PARAMS");
}

TEST(RcParams, PassThrough) {
    setenv("RC_PARAMS", "max_success=7 seed=5", 1);
    RunOptions options = options_of();
    options.engine.seed_given = false;
    EXPECT_EQ(seed_in_use(options.engine), 5u);
    const Row row = run_law(*find_law("comparator_flags_nan"), make_attest_subject, options);
    unsetenv("RC_PARAMS");
    EXPECT_EQ(row.cases, 7u);
}

}  // namespace
}  // namespace attest::properties
