#include "rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attest::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

bool of_two(const std::string& who) {
    return who.ends_with("_2_threads");
}

std::vector<double> all_of(const Group& group, const std::string& who) {
    std::vector<double> values;
    for (const Round& round : group.rounds) {
        if (const auto found = round.find(who); found != round.end()) values.push_back(found->second);
    }
    return values;
}

// Of those whose name starts so, the one with the least median over all rounds; nobody: an empty name.
std::string quickest(const Group& group, const std::string& start) {
    std::string best;
    double least = kNever;
    for (const std::string& who : members_of(group)) {
        if (!who.starts_with(start)) continue;
        const double median = quartiles(all_of(group, who)).median;
        if (median < least) {
            least = median;
            best = who;
        }
    }
    return best;
}

// Whose median is larger; without one of them there is no saying.
std::string slower(const Group& group, const std::string& one, const std::string& other) {
    const std::vector<double> ones = all_of(group, one);
    const std::vector<double> others = all_of(group, other);
    if (ones.empty() || others.empty()) return one;
    return quartiles(others).median > quartiles(ones).median ? other : one;
}

double least_of(const Group& group, const std::string& who) {
    double least = kNever;
    for (const double value : all_of(group, who))
        least = std::min(least, value);
    return least;
}

// Each round's reading in units of `best`; 0 where there is none.
std::vector<double> in_units(const Group& group, const std::string& who, double best) {
    std::vector<double> values;
    for (const Round& round : group.rounds) {
        const auto found = round.find(who);
        values.push_back(found == round.end() ? 0 : found->second / best);
    }
    return values;
}

// Over the rounds that hold a value and are undisturbed, or over all that hold one if those are too few.
std::optional<Spread> spread(const std::vector<std::optional<double>>& values,
                             const std::vector<bool>& disturbed) {
    std::vector<double> quiet;
    std::vector<double> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        all.push_back(*values[i]);
        if (i < disturbed.size() && !disturbed[i]) quiet.push_back(*values[i]);
    }
    if (all.empty()) return std::nullopt;
    const bool trusted = quiet.size() >= kFewestRounds;
    const double least = *std::ranges::min_element(all);
    return Spread{quartiles(trusted ? quiet : all), least, quiet.size(), all.size(), trusted};
}

}  // namespace

Quartiles quartiles(std::vector<double> values) {
    std::ranges::sort(values);
    const auto at = [&](double share) {
        const double place = share * static_cast<double>(values.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, values.size() - 1);
        return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
    };
    return {at(0.25), at(0.5), at(0.75)};
}

Round round_of(const Readings& readings) {
    Round round;
    for (const auto& [who, values] : readings) {
        if (values.empty()) continue;
        const bool pulse = who == kClock || who == kClockOfTwo;
        round[who] = pulse ? mean(values) : quartiles(values).median;
    }
    return round;
}

std::vector<std::string> members_of(const Group& group) {
    std::set<std::string> names;
    for (const Round& round : group.rounds) {
        for (const auto& [who, time] : round) {
            if (who != kClock && who != kClockOfTwo) names.insert(who);
        }
    }
    return {names.begin(), names.end()};
}

void decide(std::vector<Group>& groups) {
    // Every group's pulses are the same work, so their quickest is the whole run's.
    double best = kNever;
    double best_of_two = kNever;
    for (const Group& group : groups) {
        best = std::min(best, least_of(group, kClock));
        best_of_two = std::min(best_of_two, least_of(group, kClockOfTwo));
    }
    const double pair = std::isfinite(best_of_two) ? best_of_two / best : 0;
    for (Group& group : groups) {
        group.reading = quickest(group, "limit:");
        group.reading_of_two = quickest(group, "both:");
        group.peer = quickest(group, "peer:");
        group.limit = slower(group, group.reading, "compute");
        group.pair = pair;
        group.clock = in_units(group, kClock, best);
        group.clock_of_two = in_units(group, kClockOfTwo, best_of_two);
        group.read = in_units(group, group.reading, least_of(group, group.reading));
        group.read_of_two = in_units(group, group.reading_of_two, least_of(group, group.reading_of_two));
        group.disturbed.clear();
        group.disturbed_of_two.clear();
        for (std::size_t i = 0; i < group.rounds.size(); ++i) {
            // A round without a pulse tells nothing about the host, so it can't be called undisturbed.
            const bool one =
                !(group.clock[i] > 0 && group.clock[i] <= kClockTolerance) || group.read[i] > kReadTolerance;
            const bool two = !(group.clock_of_two[i] > 0 && group.clock_of_two[i] <= kClockTolerance) ||
                             group.read_of_two[i] > kReadTolerance;
            group.disturbed.push_back(one);
            group.disturbed_of_two.push_back(one || two || pair > kSharedCore);
        }
    }
}

std::optional<double> reading(const Group& group, const Round& round, const std::string& who) {
    const auto found = round.find(who == kLimit ? group.limit : who);
    return found == round.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Spread> times_of(const Group& group, const std::string& who) {
    std::vector<std::optional<double>> values;
    for (const Round& round : group.rounds)
        values.push_back(reading(group, round, who));
    return spread(values, of_two(who) ? group.disturbed_of_two : group.disturbed);
}

std::optional<Spread> ratio_of(const Group& group, const std::string& top, const std::string& bottom) {
    std::vector<std::optional<double>> values;
    for (const Round& round : group.rounds) {
        const auto above = reading(group, round, top);
        const auto below = reading(group, round, bottom);
        values.push_back(above && below ? std::optional(*above / *below) : std::nullopt);
    }
    return spread(values, of_two(top) || of_two(bottom) ? group.disturbed_of_two : group.disturbed);
}

}  // namespace attest::bench
