#include "run.hpp"

#include "child.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/draw.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using Clock = Child::Clock;

// Time for one candidate while a crash is shrunk: much more than any law may take.
constexpr double kCandidateSeconds = 5;

ChildLimits limits_of(const RunOptions& options) {
    return {.stall_seconds = options.stall_seconds, .memory_bytes = options.memory_bytes};
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

void judge_in_child(const Law& law, const cases::Case& one, const SubjectMaker& make, Record& record) {
    record.begin(one);
    const std::unique_ptr<Subject> subject = make();
    record.end(verdict_of(law, one, *subject));
    record.finished = true;
}

std::optional<std::string> read_text(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    if (!stream || !(text << stream.rdbuf())) return std::nullopt;
    return text.str();
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

// Shrinks a case that ends its process: each candidate is judged in a child of its own, with little time.
std::string shrink_in_children(const Law& law, const std::string& text, const SubjectMaker& make,
                               const RunOptions& options, std::uint64_t& tried, std::string& what) {
    const auto parsed = cases::parse(text);
    if (!parsed) return text;
    const Clock::time_point start = Clock::now();
    const auto in_time = [&] {
        return std::chrono::duration<double>(Clock::now() - start).count() < options.engine.shrink_seconds;
    };
    ChildLimits limits = limits_of(options);
    limits.stall_seconds = std::min(limits.stall_seconds, kCandidateSeconds);
    cases::Case smallest = *parsed;
    for (bool smaller = true; smaller && in_time();) {
        smaller = false;
        for (const cases::Case& candidate : shrink(smallest)) {
            if (!in_time()) break;
            const SharedRecord record;
            Child child([&] { judge_in_child(law, candidate, make, *record); }, *record, limits);
            child.wait();
            ++tried;
            if (record->finished && !record->failed) continue;
            what = record->finished ? record->verdict.text() : child.ending();
            smallest = candidate;
            smaller = true;
            break;
        }
    }
    return cases::print(smallest);
}

// A finding's row: the case, where it was written, how to see it again.
void describe_failure(Row& row, const Law& law, const Record& record, const Child& child,
                      const SubjectMaker& make, const RunOptions& options) {
    row.outcome = RowOutcome::wrong;
    const bool crashed = !record.finished;
    std::string what = crashed ? child.ending() : record.verdict.text();
    row.verdict = crashed ? "CRASHES" : "FAILS";
    std::string text = crashed && !record.running.empty() ? record.running.text() : record.failing.text();
    if (crashed && !text.empty() && options.engine.shrink_seconds > 0) {
        std::uint64_t tried = 0;
        text = shrink_in_children(law, text, make, options, tried, what);
        row.details.push_back(fmt::format("{}: shrunk in {} child processes", row.name, tried));
    }
    row.details.push_back(fmt::format("{}: {}", row.name, what));
    row.counterexample = text;
    row.failed_seconds = record.failed ? record.failed_seconds : child.seconds();
    if (text.empty()) return;
    row.details.push_back("the case:\n" + text);
    if (options.findings.empty()) return;
    const std::string path = write_finding(options.findings, text, what);
    row.details.push_back(path.empty() ? "the case could not be written to " + options.findings
                                       : again(path, options));
}

// What the record and the way the child ended say.
void conclude(Row& row, const Law& law, const Record& record, const Child& child, const SubjectMaker& make,
              const RunOptions& options) {
    row.cases = record.cases();
    row.worst = record.worst;
    row.seconds = child.seconds();
    if (record.failed || !record.finished) {
        describe_failure(row, law, record, child, make, options);
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
        row.details.push_back(fmt::format("{}: {} checks, {} corpus cases first{}", row.name,
                                          record.checks.load(), record.replayed.load(),
                                          record.worst > 0 ? ", worst at " + record.worst_place.text() : ""));
        if (!record.distribution.empty()) {
            row.details.push_back(fmt::format("{}: drawn\n{}", row.name, record.distribution.text()));
        }
    }
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

namespace {

// The corpus of a law, so that what was once found is found first. False when a case fails or can't be read.
bool replay_corpus(const Law& law, Subject& subject, const std::string& folder, Record& record) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::path(folder) / law.name;
    if (folder.empty() || !std::filesystem::is_directory(path, error)) return true;
    for (const std::string& file : case_files(path.string())) {
        const auto text = read_text(file);
        const auto one = text ? cases::parse(*text) : std::unexpected(cases::Error{});
        if (!one) {
            record.trouble.set(file + " can't be read: " + (text ? one.error().text() : ""));
            return false;
        }
        record.begin(*one);
        const Verdict verdict = verdict_of(law, *one, subject);
        ++record.replayed;
        if (verdict.kind == VerdictKind::fails) {
            record.end(verdict);
            return false;
        }
    }
    return true;
}

// A law at work in its child.
class Running {
  public:
    Running(const LawRun& run, const SubjectMaker& make, const RunOptions& options)
        : law_(*run.law),
          make_(make),
          options_(options),
          child_([&] { work(run); }, *record_, limits_of(options)) {}

    bool running() { return child_.running(); }
    std::string progress() const {
        return fmt::format("{}: {} cases{}", law_.name, record_->cases(),
                           record_->failed ? fmt::format(", shrinking ({})", record_->shrinks.load()) : "");
    }

    Row row() const {
        Row row;
        row.name = law_.name;
        conclude(row, law_, *record_, child_, make_, options_);
        if (row.outcome == RowOutcome::right) judge_vacuity(row);
        return row;
    }

  private:
    void work(const LawRun& run) {
        record_->start = Clock::now();
        try {
            const std::unique_ptr<Subject> subject = make_();
            if (replay_corpus(law_, *subject, options_.corpus, *record_)) draw_cases(run.cases, *subject);
        } catch (const std::exception& error) {
            record_->trouble.set(error.what());
        }
        record_->finished = true;
    }

    // Many cases are drawn in rounds, so that a run can end between two of them and sizes come round again.
    void draw_cases(std::uint64_t cases, Subject& subject) {
        constexpr std::uint64_t kRound = 1000;
        EngineOptions engine = options_.engine;
        engine.distribution = options_.verbose;
        if (cases != 0) engine.cases = cases;
        const bool told = !engine.cases_given && std::getenv("RC_PARAMS") != nullptr;
        if (told || engine.seconds > 0 || engine.cases <= kRound)
            return run_rapidcheck(law_, subject, engine, *record_);
        const std::uint64_t seed = seed_in_use(engine);
        engine.cases_given = engine.seed_given = true;
        const Clock::time_point start = Clock::now();
        for (std::uint64_t left = engine.cases, round = 0; left > 0; ++round) {
            engine.cases = std::min(left, kRound);
            engine.seed = seed + round;
            left -= engine.cases;
            run_rapidcheck(law_, subject, engine, *record_);
            if (record_->failed || !record_->trouble.empty()) return;
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            if (options_.law_seconds > 0 && seconds > options_.law_seconds) return;
        }
    }

    void judge_vacuity(Row& row) const {
        const std::uint64_t useful = record_->held + record_->blind;
        const std::uint64_t unable = record_->unable;
        const std::uint64_t idle = record_->vacuous - unable;
        if (useful == 0 && unable != 0 && idle == 0) {
            row.tested = false;
            row.verdict = "vacuous";
            if (!options_.verbose) add_reasons(row, "vacuous", record_->reasons);
            return;
        }
        const double able = static_cast<double>(record_->cases() - unable);
        if (useful != 0 && static_cast<double>(idle) <= options_.vacuous_max * able) return;
        row.outcome = RowOutcome::wrong;
        row.verdict = "VACUOUS";
        row.details.push_back(
            fmt::format("{}: {} of {} cases tested nothing", law_.name, idle, record_->cases()));
        if (!options_.verbose) add_reasons(row, "vacuous", record_->reasons);
    }

    const Law& law_;
    const SubjectMaker& make_;
    const RunOptions& options_;
    SharedRecord record_;
    Child child_;
};

}  // namespace

void run_laws(const std::vector<LawRun>& runs, const SubjectMaker& make, const RunOptions& options,
              const std::function<void(const Row&)>& add) {
    std::vector<std::unique_ptr<Running>> at_work;
    std::size_t next = 0;
    auto pause = std::chrono::microseconds(200);
    Clock::time_point told = Clock::now();
    while (next < runs.size() || !at_work.empty()) {
        while (next < runs.size() && at_work.size() < std::max(1u, options.jobs)) {
            at_work.push_back(std::make_unique<Running>(runs[next++], make, options));
            pause = std::chrono::microseconds(200);
        }
        for (auto& law : at_work) {
            if (law->running()) continue;
            add(law->row());
            law.reset();
        }
        if (std::erase(at_work, nullptr) != 0) continue;
        if (options.progress && std::chrono::duration<double>(Clock::now() - told).count() > 0.2) {
            told = Clock::now();
            options.progress(at_work.front()->progress());
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(20000));
    }
}

Row run_law(const Law& law, const SubjectMaker& make, const RunOptions& options) {
    Row row;
    run_laws({{.law = &law, .cases = 0}}, make, options, [&](const Row& one) { row = one; });
    return row;
}

Row replay_case(const cases::Case& one, const std::string& name, const SubjectMaker& make,
                const RunOptions& options) {
    const Law* const law = find_law(one.law);
    if (law == nullptr) return unusable(name, "no such law: " + one.law);
    Row row;
    row.name = name;
    const SharedRecord record;
    RunOptions quiet = options;
    quiet.findings.clear();
    // A case that somebody wrote is judged as it stands.
    quiet.engine.shrink_seconds = 0;
    Child child([&] { judge_in_child(*law, one, make, *record); }, *record, limits_of(options));
    child.wait();
    conclude(row, *law, *record, child, make, quiet);
    if (row.outcome == RowOutcome::right && record->vacuous != 0) {
        row.verdict = "vacuous";
        row.tested = false;
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
            const auto text = read_text(file);
            if (!text) {
                rows.push_back(unusable(file, "can't be read"));
                continue;
            }
            const auto one = cases::parse(*text);
            rows.push_back(one ? replay_case(*one, file, make, options) : unusable(file, one.error().text()));
        }
    }
    return rows;
}

std::string shell_word(const std::string& word) {
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) != 0 || c >= 0x80 ||
               std::string_view("_-+=./:,@%^").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
    std::string text = "'";
    for (const char c : word) {
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return text + "'";
}

std::string again(const std::string& path, const RunOptions& options) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return fmt::format("again: {}{}{} --replay {}", shell_word(program_path()),
                       options.subject.empty() ? "" : " ", options.subject,
                       shell_word(error ? path : whole.string()));
}

std::string write_finding(const std::string& folder, const std::string& text, const std::string& first_line) {
    auto one = cases::parse(text);
    std::string law = "unknown";
    std::string content = text;
    if (one) {
        law = one->law;
        std::string line = first_line.substr(0, 400);
        const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
        std::replace_if(line.begin(), line.end(), is_control, ' ');
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
