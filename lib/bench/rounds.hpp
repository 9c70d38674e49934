// From readings to ratios that a noisy machine can't bend.
//
// In a round everything that belongs to one shape is read within a second or so. So a ratio is formed inside
// each round, from two readings that met the same minute, and its median over the rounds is what is reported:
// never the ratio of two medians that met different minutes.
//
// Rounds that met a busy host are left out. Which ones these are is decided by the PROBES alone (the clock's
// pulses and the reading probes): no time of the library, nor of a peer, is looked at, so that nobody can
// choose the rounds in which the library looked well. The probe that is the limit is chosen once, by
// medians over all the rounds, and not by anybody's luckiest reading.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attest::bench {

/// One round of one group: who took how many microseconds. What was read several times in a round:
using Readings = std::map<std::string, std::vector<double>>;
using Round = std::map<std::string, double>;

/// round_of takes medians, but of the clock's pulses, which are spread over the round, the mean: what share
/// of the core's clock the round was given.
[[nodiscard]] Round round_of(const Readings& readings);

/// Pulses: as many multiply-adds on registers in every group, by one thread, and by each of two at a time.
inline constexpr const char* kClock = "clock";
inline constexpr const char* kClockOfTwo = "clock_2_threads";
/// A name for the round's limit, wherever somebody's name may stand.
inline constexpr const char* kLimit = "limit";

/// A round is disturbed where its pulses took this many times those of the run's quickest round, or the
/// group's chosen reading probe this many times its own quickest reading. Pulses go by the wall's clock:
/// somebody who wants the same core also takes its caches, of which a thread's own time tells nothing. On two
/// virtual cores that nobody else here used, a group's median round took 1.03 to 1.09 for pulses and 1.00
/// to 1.46 for readings, whose worst are those from just beyond the caches.
inline constexpr double kClockTolerance = 1.10;
inline constexpr double kReadTolerance = 1.30;
/// Where even the quickest pulses of two threads took this many times the quickest of one, they never had two
/// cores, and their own quickest is no measure: every round is disturbed for two.
inline constexpr double kSharedCore = 1.5;
/// Fewer undisturbed rounds give no verdict.
inline constexpr std::size_t kFewestRounds = 5;

/// A group, its rounds, and what is decided about them before the library's times are looked at.
struct Group {
    std::string name;
    std::vector<Round> rounds;
    std::string reading = {};         ///< the reading probe with the least median, if there is one
    std::string reading_of_two = {};  ///< the same of two threads
    std::string limit = {};           ///< that reading probe, or `compute` where its median is larger
    std::string peer = {};            ///< the peer with the least median, if there is one
    std::vector<double> clock = {};   ///< per round: pulses, in the run's quickest; 0: not measured
    std::vector<double> read = {};    ///< per round: the reading probe, in its own quickest
    std::vector<double> clock_of_two = {};
    std::vector<double> read_of_two = {};
    double pair = 0;  ///< two threads' quickest pulses, in one thread's quickest; 0: not measured
    std::vector<bool> disturbed = {};         ///< for what runs in one thread
    std::vector<bool> disturbed_of_two = {};  ///< for what runs in two
};

/// decide fills in all of that.
void decide(std::vector<Group>& groups);

struct Quartiles {
    double lower = 0;
    double median = 0;
    double upper = 0;
};

/// Domain: not empty. Between two values, linearly.
[[nodiscard]] Quartiles quartiles(std::vector<double> values);

/// A ratio, or time, over the undisturbed rounds. Where these are too few it is taken over all, and is not
/// trusted.
struct Spread {
    Quartiles value;
    double least = 0;  ///< of all rounds
    std::size_t undisturbed = 0;
    std::size_t rounds = 0;
    bool trusted = false;
};

/// The reading of a round: somebody's, or for kLimit, of who is the group's limit.
[[nodiscard]] std::optional<double> reading(const Group& group, const Round& round, const std::string& who);

/// times_of and ratio_of leave out what no round holds. If either side runs in two threads, rounds count that
/// are undisturbed for two.
[[nodiscard]] std::optional<Spread> times_of(const Group& group, const std::string& who);
[[nodiscard]] std::optional<Spread> ratio_of(const Group& group, const std::string& top,
                                             const std::string& bottom);

/// Everybody in the group but the pulses, each once.
[[nodiscard]] std::vector<std::string> members_of(const Group& group);

}  // namespace attest::bench
