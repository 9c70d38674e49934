// The same case played twice in one process gives the same bits, codes and lengths, whatever lay in memory
// before the second time.
//
// Kills numbers read from memory that nobody wrote, state that outlives its object (B19, B21), and tables or
// workspaces that are right only once.
//
// Stays, whoever else sees its bugs: it is the only one that looks for what a process remembers.

#include "support.hpp"

#include <cstring>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// All that a case's steps answered.
struct Played {
    std::vector<std::string> codes;
    std::vector<Array> answers;
    std::vector<Array> caches;  // keys and values of each
    std::vector<std::uint64_t> lengths;
    Verdict verdict;
};

Played play(const cases::Case& one, Subject& subject, Checks& checks) {
    Played played;
    Scene scene(one, subject, checks, {}, 2);
    if (!scene) {
        played.verdict = scene.verdict();
        return played;
    }
    Player player(scene);
    while (player.next()) {
        played.codes.push_back(player.last().code);
        played.answers.push_back(player.last().y);
    }
    for (const auto& track : player.caches()) {
        if (track == nullptr) continue;
        played.caches.push_back(track->cache->live_keys());
        played.caches.push_back(track->cache->live_values());
        played.lengths.push_back(track->cache->length());
    }
    played.verdict = player.verdict("no step was played");
    return played;
}

// Fills blocks of many sizes with numbers that nobody would compute, and gives them back.
void disturb_memory() {
    constexpr std::size_t kLargest = 4096;
    // Copied from one list, which is quicker than writing each.
    static const std::vector<double> numbers(kLargest, -0x1.badp+77);
    std::vector<std::vector<double>> blocks;
    for (std::size_t size = 1; size <= kLargest; size += size / 2 + 1) {
        for (int copies = 0; copies < 4; ++copies) {
            blocks.emplace_back(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(size));
        }
    }
}

}  // namespace

Verdict second_run_equals_first(const cases::Case& one, Subject& subject) {
    Checks checks;
    const Played first = play(one, subject, checks);
    if (checks.failed() || first.codes.empty()) return first.verdict;
    disturb_memory();
    const Played second = play(one, subject, checks);
    if (checks.failed()) return checks.verdict();
    checks.tested();
    if (!checks.equal("steps played", second.codes.size(), first.codes.size())) return checks.verdict();
    for (std::size_t i = 0; i < first.codes.size(); ++i) {
        checks.equal([&] { return fmt::format("step {}, the second time", i); }, second.codes[i],
                     first.codes[i]);
        checks.bits([&] { return fmt::format("step {}, the second time: answer", i); }, second.answers[i],
                    first.answers[i]);
    }
    for (std::size_t i = 0; i < first.caches.size() && i < second.caches.size(); ++i) {
        checks.bits(
            [&] {
                return fmt::format("cache {}, the second time: {}", i / 2, i % 2 == 0 ? "keys" : "values");
            },
            second.caches[i], first.caches[i]);
    }
    for (std::size_t i = 0; i < first.lengths.size() && i < second.lengths.size(); ++i) {
        checks.equal([&] { return fmt::format("cache {}, the second time: length", i); }, second.lengths[i],
                     first.lengths[i]);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
