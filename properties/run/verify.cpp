#include "verify.hpp"

#include "dump_check.hpp"
#include "planted.hpp"
#include "table.hpp"

#include "attest/case/parse.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <trace.hpp>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using Clock = std::chrono::steady_clock;

// How many more cases than a ctest draws.
constexpr std::uint64_t kVerifyFactor = 8;

// The law that the canary must be refused by.
constexpr std::string_view kCanaryLaw = "update_or_rebuild_unbinds";

Row published_fixture() {
    const Clock::time_point start = Clock::now();
    Row row;
    row.name = "published fixture";
    row.cases = 1;
    row.verdict = "as published";
    const auto one = cases::parse(fixture_case());
    const auto trace = one ? trace_case(*one) : std::unexpected(one.error().text());
    const auto differs = [&](const std::string& what) {
        row.outcome = RowOutcome::wrong;
        row.verdict = "DIFFERS";
        row.details.push_back("published fixture: " + what);
    };
    if (!trace) {
        differs(trace.error());
    } else {
        if (print_trace(*trace) != published_trace()) differs("the trace differs (attest-trace --check)");
        if (print_evidence(*trace) != published_evidence())
            differs("the evidence differs (attest-trace --check)");
    }
    row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return row;
}

std::size_t steps_of_finding(const Row& row) {
    // The detail that holds the case starts with "the case:".
    for (const std::string& detail : row.details) {
        constexpr std::string_view start = "the case:\n";
        if (!detail.starts_with(start)) continue;
        const auto one = cases::parse(std::string_view(detail).substr(start.size()));
        if (one) return one->steps.size();
    }
    return SIZE_MAX;
}

}  // namespace

Row refuse_planted(const Law& law, const std::string& module, const RunOptions& options) {
    const std::string name = std::filesystem::path(module).stem().string();
    Row row = run_law(law, planted_subject(module), options);
    const Row seen = row;
    row.name = fmt::format("planted {}", name);
    row.details.clear();
    const std::size_t steps = steps_of_finding(seen);
    if (seen.outcome == RowOutcome::wrong && seen.verdict == "FAILS" && steps <= kSmallSteps) {
        row.outcome = RowOutcome::right;
        row.verdict = fmt::format("refused, {} steps", steps);
        if (options.verbose) row.details = seen.details;
        return row;
    }
    row.outcome = RowOutcome::wrong;
    row.verdict = seen.outcome == RowOutcome::wrong ? "NOT SMALL" : "NOT REFUSED";
    row.details = seen.details;
    row.details.push_back(
        fmt::format("{}: {} must refuse it with at most {} steps", row.name, law.name, kSmallSteps));
    return row;
}

int verify(const VerifyOptions& options, const SubjectMaker& make) {
    std::size_t width = 0;
    for (const Law& law : laws()) {
        width = std::max(width, law.name.size());
    }
    for (const std::string& dump : options.dumps) {
        width = std::max(width, std::filesystem::path(dump).filename().string().size() + 10);
    }
    fmt::print("seed {}\n", seed_in_use(options.run.engine));
    Table table("law or file", width);
    RunOptions run = options.run;
    run.progress = [&table](const std::string& text) { table.progress(text); };

    table.add(published_fixture());
    // A harness that can't refuse a known bug proves nothing today.
    RunOptions canary = run;
    canary.findings.clear();
    canary.corpus.clear();
    canary.engine.cases = 50;
    canary.engine.cases_given = true;
    table.add(refuse_planted(*find_law(kCanaryLaw), options.canary, canary));
    for (const std::string& dump : options.dumps) {
        for (const Row& row : check_dump(dump, make, run.progress)) {
            table.add(row);
        }
    }
    std::vector<LawRun> runs;
    for (const Law& law : laws()) {
        runs.push_back({&law, run.engine.cases_given ? run.engine.cases : law.default_cases * kVerifyFactor});
    }
    run_laws(runs, make, run, [&table](const Row& row) { table.add(row); });
    return table.finish();
}

}  // namespace attest::properties
