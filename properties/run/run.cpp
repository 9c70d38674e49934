#include "run.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

// There where the program is built to measure coverage.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace attest::properties {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Child {
    int status = 0;
    bool stalled = false;
    double seconds = 0;
};

// Runs `work` in a child, and kills it when no case has begun or ended for `stall_seconds`.
Child run_child(const std::function<void()>& work, const Record& record, const RunOptions& options,
                const std::string& name) {
    std::fflush(nullptr);
    const Clock::time_point start = Clock::now();
    const pid_t pid = fork();
    Child child;
    if (pid < 0) {
        child.status = -1;
        return child;
    }
    if (pid == 0) {
        work();
        std::fflush(nullptr);
        // No destructors and no exit handlers: they belong to the parent. What was covered is the child's
        // own, though.
        if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
        _exit(0);
    }
    std::uint64_t seen = 0;
    Clock::time_point moved = start;
    Clock::time_point told = start;
    auto pause = std::chrono::microseconds(200);
    while (waitpid(pid, &child.status, WNOHANG) == 0) {
        if (record.started != seen) {
            seen = record.started;
            moved = Clock::now();
        }
        if (seconds_since(moved) > options.stall_seconds) {
            kill(pid, SIGKILL);
            waitpid(pid, &child.status, 0);
            child.stalled = true;
            break;
        }
        if (options.progress && seconds_since(told) > 0.2) {
            told = Clock::now();
            options.progress(
                fmt::format("{}: {} cases{}", name, record.cases(),
                            record.failed ? fmt::format(", shrinking ({})", record.shrinks.load()) : ""));
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(20000));
    }
    child.seconds = seconds_since(start);
    return child;
}

std::string how_it_ended(const Child& child, const RunOptions& options) {
    if (child.stalled) return fmt::format("hangs: no verdict within {} s", options.stall_seconds);
    if (WIFSIGNALED(child.status)) return fmt::format("crashes: signal {}", WTERMSIG(child.status));
    return fmt::format("ends the process: status {}", WEXITSTATUS(child.status));
}

std::string program_path() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string("attest-properties") : path.string();
}

void add_reasons(Row& row, std::string_view what, const std::array<Reason, 24>& reasons) {
    for (const Reason& reason : reasons) {
        if (reason.count != 0) {
            row.details.push_back(
                fmt::format("{}: {} {} times: {}", row.name, what, reason.count, reason.text.text()));
        }
    }
}

// What the record and the way the child ended say.
void conclude(Row& row, const Record& record, const Child& child, const RunOptions& options) {
    row.cases = record.cases();
    row.worst = record.worst;
    row.seconds = child.seconds;
    if (record.failed || !record.finished) {
        row.outcome = RowOutcome::wrong;
        const bool crashed = !record.finished;
        const std::string what = crashed ? how_it_ended(child, options) : record.verdict.text();
        row.verdict = crashed ? "CRASHES" : "FAILS";
        row.details.push_back(fmt::format("{}: {}", row.name, what));
        const std::string text =
            crashed && !record.running.empty() ? record.running.text() : record.failing.text();
        row.counterexample = text;
        row.failed_seconds = record.failed ? record.failed_seconds : child.seconds;
        if (text.empty()) return;
        row.details.push_back("the case:\n" + text);
        if (options.findings.empty()) return;
        const std::string path = write_finding(options.findings, text, what);
        row.details.push_back(path.empty() ? "the case could not be written to " + options.findings
                                           : fmt::format("again: {} --replay {}", program_path(), path));
        return;
    }
    if (!record.trouble.empty()) {
        row.outcome = RowOutcome::unusable;
        row.verdict = "no verdict";
        row.details.push_back(fmt::format("{}: {}", row.name, record.trouble.text()));
        return;
    }
    row.verdict = record.blind != 0 ? fmt::format("holds, {} blind", record.blind.load()) : "holds";
    if (options.verbose) {
        add_reasons(row, "vacuous", record.reasons);
        add_reasons(row, "blind to", record.blindness);
        row.details.push_back(fmt::format("{}: {} checks{}", row.name, record.checks.load(),
                                          record.worst > 0 ? ", worst at " + record.worst_place.text() : ""));
    }
}

void judge_in_child(const cases::Case& one, const SubjectMaker& make, Record& record) {
    record.begin(one);
    const Law* const law = find_law(one.law);
    try {
        const std::unique_ptr<Subject> subject = make();
        record.end(law->function(one, *subject));
    } catch (const std::exception& error) {
        record.end(fails("the law", error.what(), "no exception", "nothing else"));
    }
    record.finished = true;
}

std::vector<std::string> case_files(const std::string& path) {
    std::vector<std::string> files;
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return {path};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
        if (entry.path().extension() == ".case") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

Row unusable(const std::string& name, const std::string& why) {
    Row row;
    row.name = name;
    row.outcome = RowOutcome::unusable;
    row.verdict = "unusable";
    row.details.push_back(fmt::format("{}: {}", name, why));
    return row;
}

}  // namespace

Row run_law(const Law& law, const SubjectMaker& make, const RunOptions& options) {
    Row row;
    row.name = law.name;
    const SharedRecord record;
    const Child child = run_child(
        [&] {
            try {
                const std::unique_ptr<Subject> subject = make();
                run_rapidcheck(law, *subject, options.engine, *record);
            } catch (const std::exception& error) {
                record->trouble.set(error.what());
            }
            record->finished = true;
        },
        *record, options, row.name);
    conclude(row, *record, child, options);
    if (row.outcome != RowOutcome::right) return row;
    const std::uint64_t useful = record->held + record->blind;
    if (useful == 0 ||
        static_cast<double>(record->vacuous) > options.vacuous_max * static_cast<double>(record->cases())) {
        row.outcome = RowOutcome::wrong;
        row.verdict = "VACUOUS";
        row.details.push_back(fmt::format("{}: {} of {} cases tested nothing", law.name,
                                          record->vacuous.load(), record->cases()));
        if (!options.verbose) add_reasons(row, "vacuous", record->reasons);
    }
    return row;
}

Row replay_case(const cases::Case& one, const std::string& name, const SubjectMaker& make,
                const RunOptions& options) {
    if (find_law(one.law) == nullptr) return unusable(name, "no such law: " + one.law);
    Row row;
    row.name = name;
    const SharedRecord record;
    RunOptions quiet = options;
    quiet.findings.clear();
    const Child child = run_child([&] { judge_in_child(one, make, *record); }, *record, quiet, name);
    conclude(row, *record, child, quiet);
    if (row.outcome == RowOutcome::right && record->vacuous != 0) {
        row.verdict = "vacuous";
        if (!options.verbose) add_reasons(row, "vacuous", record->reasons);
    }
    return row;
}

std::vector<Row> replay_files(const std::vector<std::string>& paths, const SubjectMaker& make,
                              const RunOptions& options) {
    std::vector<Row> rows;
    for (const std::string& path : paths) {
        const std::vector<std::string> files = case_files(path);
        if (files.empty()) rows.push_back(unusable(path, "no case in it"));
        for (const std::string& file : files) {
            std::ifstream stream(file, std::ios::binary);
            std::ostringstream text;
            if (!stream || !(text << stream.rdbuf())) {
                rows.push_back(unusable(file, "can't be read"));
                continue;
            }
            const auto one = cases::parse(text.str());
            rows.push_back(one ? replay_case(*one, file, make, options) : unusable(file, one.error().text()));
        }
    }
    return rows;
}

std::string write_finding(const std::string& folder, const std::string& text, const std::string& first_line) {
    auto one = cases::parse(text);
    std::string law = "unknown";
    std::string content = text;
    if (one) {
        law = one->law;
        std::string line = first_line.substr(0, 400);
        std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
        one->comments.insert(one->comments.begin(), "RapidCheck: " + line);
        if (!cases::check(*one)) content = cases::print(*one);
    }
    // FNV-1a of the case, so that one counterexample is one file.
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::path(folder) / law / fmt::format("found_{:016x}.case", hash);
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream stream(path, std::ios::binary);
    stream << content;
    stream.flush();
    return stream ? path.string() : std::string();
}

}  // namespace attest::properties
