#include "exhaust.hpp"

#include "child.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/history.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace attest::properties {

namespace {

constexpr std::string_view kLaw = "any_history_is_its_rows";

// One head of two features that turn, three slots, whole numbers; the third row offered is not a number.
// Every step of the alphabet is good somewhere and refused elsewhere.
constexpr std::string_view kScene =
    "law = any_history_is_its_rows\n"
    "type = double\n"
    "batch = 1\n"
    "width = 2\n"
    "heads = 1\n"
    "kv_heads = 1\n"
    "rope = interleaved width 2 base 0x1.9p+6 positions 3 first 0\n"
    "capacity = 3\n"
    "values = integers seed 3\n";
constexpr std::string_view kNotANumber = "set = x[0,2,1] nan:0x7ff8000000000000\n";

constexpr std::array<std::string_view, 12> kAlphabet = {
    "append", "prefill 2", "append rank 2", "reset",      "update wk", "layer rebuilt",
    "copy",   "prepare",   "commit",        "commit_all", "cache 0",   "cache 1",
};

cases::Case parsed(std::string_view text) {
    auto one = cases::parse(text);
    if (!one) throw std::runtime_error("the exhaustive scene: " + one.error().text());
    return std::move(*one);
}

std::vector<cases::Step> alphabet() {
    std::vector<cases::Step> letters;
    for (const std::string_view letter : kAlphabet) {
        letters.push_back(parsed(fmt::format("{}step = {}\n", kScene, letter)).steps.at(0));
    }
    return letters;
}

struct Counts {
    std::uint64_t sequences = 0;
    std::uint64_t up_to = 0;  // shorter ones and the empty one included
};

Counts counts_of(std::uint64_t steps) {
    Counts counts = {.sequences = 1, .up_to = 1};
    for (std::uint64_t i = 0; i < steps; ++i) {
        counts.sequences *= kAlphabet.size();
        counts.up_to += counts.sequences;
    }
    return counts;
}

// All sequences that begin with one letter.
void play_all(std::uint64_t first, std::uint64_t steps, const SubjectMaker& make, Record& record) {
    const std::vector<cases::Step> letters = alphabet();
    cases::Case scene = parsed(fmt::format("{}{}step = prefill 3\n", kScene, kNotANumber));
    scene.steps.clear();
    const std::unique_ptr<Subject> subject = make();
    std::vector<std::uint64_t> word(steps, 0);
    word[0] = first;
    for (;;) {
        // A set must lie inside x: sequences that offer fewer than three rows have none to spoil.
        cases::Case one = scene;
        for (const std::uint64_t letter : word) {
            one.steps.push_back(letters[letter]);
        }
        cases::normalise(one);
        record.begin(one);
        const Verdict verdict = play_history(one, *subject, HistoryDepth::quick);
        record.end(verdict);
        if (verdict.kind == VerdictKind::fails) return;
        std::size_t place = word.size();
        while (place > 1 && ++word[place - 1] == letters.size()) {
            word[--place] = 0;
        }
        if (place == 1) return;
    }
}

// The sequences of one first letter, in a process of their own.
class Share {
  public:
    Share(std::uint64_t first, std::uint64_t steps, const SubjectMaker& make, const RunOptions& options)
        : child_([this, first, steps, &make] { work(first, steps, make); }, *record,
                 {options.stall_seconds, 0}) {}
    bool running() { return child_.running(); }
    std::string ending() const { return child_.ending(); }

    SharedRecord record;

  private:
    void work(std::uint64_t first, std::uint64_t steps, const SubjectMaker& make) {
        try {
            play_all(first, steps, make, *record);
        } catch (const std::exception& error) {
            record->trouble.set(error.what());
        }
        record->finished = true;
    }

    Child child_;
};

// What is wrong with a share that has come to its end; nothing when all is right.
std::string trouble_of(const Share& share, const RunOptions& options) {
    const Record& record = *share.record;
    if (!record.trouble.empty()) return record.trouble.text() + "\n";
    if (record.finished && !record.failed) return {};
    const std::string text = record.failed ? record.failing.text() : record.running.text();
    const std::string what = record.failed ? record.verdict.text() : share.ending();
    std::string all = fmt::format("{}\nthe case:\n{}", what, text);
    const std::string path = options.findings.empty() ? "" : write_finding(options.findings, text, what);
    if (!path.empty()) all += again(path, options) + "\n";
    return all;
}

}  // namespace

int exhaust(std::uint64_t steps, const SubjectMaker& make, const RunOptions& options) {
    const Counts counts = counts_of(steps);
    fmt::print("every sequence of up to {} of these steps:", steps);
    for (const std::string_view letter : kAlphabet) {
        fmt::print("{} {}", letter == kAlphabet[0] ? "" : ",", letter);
    }
    fmt::print("\n");
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t played = 0;
    std::uint64_t vacuous = 0;
    std::uint64_t checks = 0;
    std::string trouble;
    std::vector<std::unique_ptr<Share>> at_work;
    std::uint64_t next = 0;
    while (trouble.empty() && (next < kAlphabet.size() || !at_work.empty())) {
        while (next < kAlphabet.size() && at_work.size() < std::max(1u, options.jobs)) {
            at_work.push_back(std::make_unique<Share>(next++, steps, make, options));
        }
        for (auto& share : at_work) {
            if (share->running()) continue;
            played += share->record->cases() + (share->record->failed ? 1 : 0);
            vacuous += share->record->vacuous;
            checks += share->record->checks;
            trouble += trouble_of(*share, options);
            share.reset();
        }
        std::erase(at_work, nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{} sequences of {} steps played, {} with no row in the end, {} checks, {:.1f} s\n", played,
               steps, vacuous, checks, seconds);
    if (!trouble.empty()) {
        fmt::print("{} is broken: {}", kLaw, trouble);
        return 1;
    }
    if (played != counts.sequences || vacuous > played / 4 * 3) {
        fmt::print("{} were to be played, and most of them to end with rows\n", counts.sequences);
        return 1;
    }
    fmt::print("with the shorter ones {} sequences, and all is right\n", counts.up_to);
    return 0;
}

}  // namespace attest::properties
