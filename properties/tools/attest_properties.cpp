// attest-properties: the laws run by RapidCheck, counterexamples replayed, and `verify`.
//
// Exit: 0 every law holds, 1 something is wrong or nothing was tested, 2 unusable input.

#include "../run/exhaust.hpp"
#include "../run/export.hpp"
#include "../run/foreign.hpp"
#include "../run/ledger.hpp"
#include "../run/planted.hpp"
#include "../run/report.hpp"
#include "../run/run.hpp"
#include "../run/table.hpp"
#include "../run/verify.hpp"

#include "attest/case/environment.hpp"
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/laws.hpp"
#include "attest/properties/minimise.hpp"
#include "attest/properties/subject.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace {

using namespace attest::properties;

struct Arguments {
    bool list = false;
    bool ledger = false;
    bool must_refuse = false;
    bool soak = false;
    bool shrink = false;
    std::vector<std::string> laws;
    std::vector<std::string> replay;
    std::string planted;
    std::string report;
    std::string subject;
    std::vector<std::string> dumps;
    RunOptions run;
};

int complain(const std::string& text) {
    fmt::print(stderr, "attest-properties: {}\n", text);
    return 2;
}

std::string canary_path() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return (program.parent_path() / "bugs" / "revision_not_checked.so").string();
}

void print_list() {
    for (const Law& law : laws()) {
        fmt::print("{:<36} {:<7} {}\n", law.name, to_text(law.kind), law.sentence);
    }
}

int finish_rows(Table& table, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        table.add(row);
    }
    return table.finish();
}

int finish_and_report(Table& table, const Arguments& arguments) {
    const int code = table.finish();
    if (!arguments.report.empty() && !write_report(arguments.report, table.rows())) {
        return complain("can't write " + arguments.report);
    }
    return code;
}

int replay(const Arguments& arguments, const SubjectMaker& make) {
    const std::vector<Row> rows = replay_files(arguments.replay, make, arguments.run);
    std::size_t width = 0;
    std::uint64_t useful = 0;
    for (const Row& row : rows) {
        width = std::max(width, row.name.size());
        if (row.outcome == RowOutcome::right && row.verdict != "vacuous") ++useful;
    }
    Table table("case", width);
    const int code = finish_rows(table, rows);
    if (code == 0 && useful == 0) {
        fmt::print("every case is vacuous: nothing was tested\n");
        return 1;
    }
    return code;
}

// Prints the simplest case that still fails.
int shrink(const std::string& path, const SubjectMaker& make) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto one = attest::cases::parse(text);
    if (!in.is_open() || !one) {
        return complain(path + ": " + (in.is_open() ? one.error().text() : "can't be read"));
    }
    const auto smallest = minimise(*one, make, {});
    if (!smallest) {
        fmt::print(stderr, "attest-properties: {} does not fail\n", path);
        return 1;
    }
    fmt::print(stderr, "{} cases tried; the smallest {}\n", smallest->tried, smallest->text);
    fmt::print("{}", attest::cases::print(smallest->one));
    return 0;
}

// A library's path that means the same from everywhere; a name that is no file is left to the loader.
std::string whole_path(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return path;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.lexically_normal().string();
}

// What a law that compares bits, and one that asks the oracle, must hold on before it counts as quiet.
std::uint64_t soak_cases(const Law& law) {
    return law.kind == LawKind::bits ? 1000000 : 20000;
}

int run_laws(const Arguments& arguments, const SubjectMaker& make) {
    std::vector<const Law*> chosen;
    std::size_t width = 0;
    for (const std::string& name : arguments.laws) {
        const Law* const law = find_law(name);
        if (law == nullptr) return complain("no such law: " + name + " (see --list)");
        chosen.push_back(law);
    }
    if (chosen.empty()) {
        for (const Law& law : laws()) {
            chosen.push_back(&law);
        }
    }
    for (const Law* const law : chosen) {
        width = std::max(width, law->name.size());
    }
    fmt::print("seed {}\n", seed_in_use(arguments.run.engine));
    Table table("law", width);
    RunOptions run = arguments.run;
    run.progress = [&table](const std::string& text) { table.progress(text); };
    if (arguments.must_refuse) {
        for (const Law* const law : chosen) {
            table.add(refuse_planted(*law, arguments.planted, run));
        }
        return finish_and_report(table, arguments);
    }
    std::vector<LawRun> runs;
    for (const Law* const law : chosen) {
        runs.push_back({law, arguments.soak ? soak_cases(*law) : 0});
    }
    std::uint64_t cases = 0;
    bool tested = false;
    run_laws(runs, make, run, [&](const Row& row) {
        table.add(row);
        cases += row.cases;
        tested = tested || row.tested;
    });
    const int code = finish_and_report(table, arguments);
    if (runs.size() > 1) fmt::print("{} cases of {} laws\n", cases, runs.size());
    if (code == 0 && !tested) {
        fmt::print("the subject has nothing that these laws ask for: nothing was tested\n");
        return 1;
    }
    return code;
}

// The seed where neither --seed nor the environment tells one.
std::uint64_t seed_of_clock() {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

// What ATTEST_SEED says; empty where it is no number.
std::optional<std::uint64_t> seed_of_environment(std::uint64_t if_absent) {
    const char* const text = std::getenv("ATTEST_SEED");
    if (text == nullptr) return if_absent;
    std::uint64_t seed = 0;
    const std::string_view digits(text);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return seed;
}

int run(int argc, char** argv) {
    Arguments arguments;
    arguments.run.findings = ATTEST_FINDINGS;
    std::uint64_t cases = 0;
    std::uint64_t seed = 0;
    std::uint64_t fallback_seed = seed_of_clock();
    double memory_gib = 4;
    std::uint64_t exhausted_steps = 4;
    std::string export_kind = "core";
    std::uint64_t export_count = 200;
    std::string export_folder;
    arguments.run.corpus = std::filesystem::is_directory(ATTEST_CORPUS) ? ATTEST_CORPUS : "";

    CLI::App app("Runs the laws of Attest on drawn cases, or replays case files.");
    app.add_flag("--list", arguments.list, "print every law and its sentence");
    app.add_option("--law", arguments.laws, "run this law only (may be repeated)");
    auto* const cases_option = app.add_option("--cases", cases, "cases a law")
                                   ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000000}));
    auto* const seed_option =
        app.add_option("--seed", seed, "seed of the drawing (default: ATTEST_SEED, else the clock)");
    app.add_option("--fallback-seed", fallback_seed, "seed where neither --seed nor ATTEST_SEED tells one");
    app.add_option("--jobs", arguments.run.jobs, "laws run at a time, each in a process of its own")
        ->check(CLI::Range(1u, 256u));
    app.add_option("--corpus", arguments.run.corpus,
                   "folder whose cases of a law are judged before any is drawn (empty: none)");
    app.add_flag("--soak", arguments.soak, "a million cases for each law over bits, 20000 for each other");
    app.add_option("--law-seconds", arguments.run.law_seconds, "draw no more for a law after so long");
    app.add_option("--memory-gib", memory_gib, "address space of a law's process; 0: no limit");
    app.add_option("--replay", arguments.replay, "judge these case files, or all below these folders");
    app.add_flag("--shrink", arguments.shrink,
                 "with one --replay FILE: print the simplest case that still fails, found within a minute");
    app.add_option("--findings", arguments.run.findings, "folder for counterexamples")->capture_default_str();
    app.add_option("--seconds", arguments.run.engine.seconds,
                   "go on with further seeds until so much time is over (default: one round of cases)")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--shrink-seconds", arguments.run.engine.shrink_seconds,
                   "time for shrinking a counterexample");
    app.add_option("--stall-seconds", arguments.run.stall_seconds, "a case that takes longer is a hang");
    app.add_flag("--ledger", arguments.ledger, "print a hash of the bits that fixed cases give");
    app.add_option("--planted", arguments.planted, "judge this module's planted bug, not the library");
    app.add_option("--subject", arguments.subject,
                   "judge the kernel in this shared library (attest/properties/attest_subject.h)");
    app.add_flag("--must-refuse", arguments.must_refuse,
                 "exit 0 only if the planted bug is refused by a small case");
    app.add_option("--report", arguments.report, "write what came of each law to this file, JSON by line");
    app.add_flag("--verbose", arguments.run.verbose, "say what was vacuous, blind or worst");
    CLI::App* const verify_command =
        app.add_subcommand("verify", "prove the library right on all laws, the published fixture and dumps");
    verify_command->add_option("FILE", arguments.dumps, "dumps (.safetensors) of attention layers");
    verify_command->fallthrough();
    CLI::App* const exhaust_command =
        app.add_subcommand("exhaust", "play every sequence of a few steps on a tiny layer");
    exhaust_command->add_option("--steps", exhausted_steps, "steps of a sequence")
        ->capture_default_str()
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{8}));
    exhaust_command->fallthrough();
    CLI::App* const export_command = app.add_subcommand(
        "export", "write nasty inputs as dumps, for attest-reference to judge the answers");
    export_command->add_option("--kind", export_kind, "core or rotary")->capture_default_str();
    export_command->add_option("--count", export_count, "dumps to write")
        ->capture_default_str()
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000000}));
    export_command->add_option("DIR", export_folder, "folder for the dumps")->required();
    export_command->fallthrough();
    app.footer(
        "RapidCheck reads RC_PARAMS, for example RC_PARAMS=\"max_size=40 noshrink=1\"; --cases and --seed "
        "win.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    arguments.run.engine.cases = cases;
    const std::optional<std::uint64_t> told = seed_of_environment(fallback_seed);
    if (!told) return complain("ATTEST_SEED is no number");
    arguments.run.engine.seed = seed_option->count() > 0 ? seed : *told;
    arguments.run.memory_bytes = static_cast<std::uint64_t>(memory_gib * 0x1p30);
    arguments.run.engine.cases_given = cases_option->count() > 0;
    arguments.run.engine.seed_given = seed_option->count() > 0;

    std::string unknown;
    if (!attest::cases::environment_is_known(unknown))
        return complain("unknown environment variable " + unknown);
    if (const auto wrong = wrong_rc_params()) return complain(*wrong);
    if (!arguments.subject.empty() && !arguments.planted.empty()) {
        return complain("--subject and --planted are two subjects");
    }
    if (arguments.shrink && arguments.replay.size() != 1) return complain("--shrink needs one --replay FILE");
    if (arguments.must_refuse && (arguments.planted.empty() || arguments.laws.empty())) {
        return complain("--must-refuse needs --planted and --law");
    }
    try {
        if (arguments.list) {
            print_list();
            return 0;
        }
        SubjectMaker make = make_attest_subject;
        if (!arguments.planted.empty()) {
            // A planted bug is to be found by what laws draw, not by what they once found.
            arguments.planted = whole_path(arguments.planted);
            arguments.run.subject = "--planted " + shell_word(arguments.planted);
            make = planted_subject(arguments.planted);
            arguments.run.corpus.clear();
        }
        if (!arguments.subject.empty()) {
            arguments.subject = whole_path(arguments.subject);
            arguments.run.subject = "--subject " + shell_word(arguments.subject);
            make = foreign_subject(arguments.subject);
        }
        if (verify_command->parsed()) {
            VerifyOptions options;
            options.run = arguments.run;
            options.dumps = arguments.dumps;
            options.canary = canary_path();
            return verify(options, make);
        }
        if (export_command->parsed()) {
            if (!is_export_kind(export_kind)) return complain("no such kind: " + export_kind);
            const std::uint64_t with = seed_option->count() > 0 ? seed : 1;
            const auto wrong = export_dumps(export_kind, export_count, with, export_folder);
            return wrong ? complain(*wrong) : 0;
        }
        if (exhaust_command->parsed()) return exhaust(exhausted_steps, make, arguments.run);
        if (arguments.ledger) return print_ledger(*make());
        if (arguments.shrink) return shrink(arguments.replay[0], make);
        if (!arguments.replay.empty()) return replay(arguments, make);
        return run_laws(arguments, make);
    } catch (const std::exception& error) {
        return complain(error.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int result = run(argc, argv);
    // A verdict that nobody could read is none.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return result;
    return complain("standard output can't be written: the verdict is lost");
}
