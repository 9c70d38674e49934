// Running laws, each in a process of its own, and reading what came of it.
#pragma once

#include "engine.hpp"
#include "record.hpp"

#include "attest/properties/laws.hpp"
#include "attest/properties/subject.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attest::properties {

using SubjectMaker = std::function<std::unique_ptr<Subject>()>;

enum class RowOutcome : std::uint8_t { right, wrong, unusable };

// One row of the table.
struct Row {
    std::string name;
    RowOutcome outcome = RowOutcome::right;
    std::uint64_t cases = 0;
    std::string verdict;  // a word or two
    double worst = 0;     // error / bound; 0: bits
    double seconds = 0;
    bool tested = true;                // false where the subject has nothing that the law asks for
    std::vector<std::string> details;  // printed below the table
    // Of a case that failed, crashed or hung.
    std::string counterexample;
    double failed_seconds = 0;  // from the start to the first failure, shrinking left out
};

struct RunOptions {
    EngineOptions engine;
    std::string findings;        // folder for counterexamples
    std::string subject;         // the options that name the subject on a command line; empty: Attest's own
    std::string corpus;          // its cases of a law are judged before any is drawn; empty: none
    double stall_seconds = 120;  // a case that takes longer is a hang
    double law_seconds = 0;      // no law begins another thousand cases after so long; 0: no limit
    double vacuous_max = 0.6;    // a larger share of vacuous cases is a failure of the generator
    std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // of a child's address space; 0: no limit
    unsigned jobs = 1;                                    // laws run at a time, each in a process of its own
    bool verbose = false;
    std::function<void(const std::string&)> progress;  // called a few times a second
};

// A law and how many cases of it to draw (0: its own number).
struct LawRun {
    const Law* law = nullptr;
    std::uint64_t cases = 0;
};

// Draws cases for a law in a child process. A crash, a hang or memory without end is a finding like any
// other, and is shrunk in further children.
Row run_law(const Law& law, const SubjectMaker& make, const RunOptions& options);

// Several laws, options.jobs at a time. Rows come as laws end.
void run_laws(const std::vector<LawRun>& runs, const SubjectMaker& make, const RunOptions& options,
              const std::function<void(const Row&)>& add);

// Judges one case in a child process.
Row replay_case(const cases::Case& one, const std::string& name, const SubjectMaker& make,
                const RunOptions& options);

// Reads cases from files and, recursively, folders; unreadable ones become rows that are unusable.
std::vector<Row> replay_files(const std::vector<std::string>& paths, const SubjectMaker& make,
                              const RunOptions& options);

// A word as a shell reads it back.
std::string shell_word(const std::string& word);
// "again: PROGRAM [SUBJECT] --replay FILE": the line that judges a counterexample again, by the same subject.
std::string again(const std::string& path, const RunOptions& options);

// Writes a counterexample: <folder>/<law>/<what it is>.case. The path, or empty when it can't be written.
std::string write_finding(const std::string& folder, const std::string& text, const std::string& first_line);

}  // namespace attest::properties
