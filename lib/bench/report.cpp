#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace attest::bench {
namespace {

// Ends the line with what is asked of the comparison and how that went.
void print_verdict(const Comparison& comparison, const char* missed) {
    const bool most = comparison.bound == Bound::at_most;
    switch (verdict(comparison)) {
        case Verdict::nothing_asked:
            break;
        case Verdict::met:
            std::printf("  asked %s%.2f: %s", most ? "" : ">= ", comparison.asked, most ? "within" : "met");
            break;
        case Verdict::missed:
            std::printf("  asked %s%.2f: %s", most ? "" : ">= ", comparison.asked, missed);
            break;
        case Verdict::none:
            std::printf("  asked %s%.2f: NO VERDICT", most ? "" : ">= ", comparison.asked);
            break;
    }
    std::printf("\n");
}

void print_spread(const Spread& spread) {
    std::printf(" %8.3f %7.3f..%-7.3f %3zu/%-3zu", spread.value.median, spread.value.lower,
                spread.value.upper, spread.undisturbed, spread.rounds);
}

// A name in quotes; ours need no escapes.
void put(std::FILE* file, const char* name, double value) {
    std::fprintf(file, ", \"%s\": %.3f", name, value);
}

double worst(const std::vector<double>& values) {
    return values.empty() ? 0 : *std::ranges::max_element(values);
}

const Group& group_of(const std::vector<Group>& groups, const std::string& name) {
    return *std::ranges::find(groups, name, &Group::name);
}

}  // namespace

void print_table(const std::vector<Group>& groups) {
    std::printf("%-37s %-27s %11s %8s %16s %7s\n", "shape", "who", "median us", "limits", "quartiles",
                "rounds");
    for (const Comparison& row : against_limits(groups)) {
        std::printf("%-37s %-27s %11.1f", row.group.c_str(), row.who.c_str(),
                    times_of(group_of(groups, row.group), row.who)->value.median);
        print_spread(row.ratio);
        print_verdict(row, "OVER");
    }
}

void print_peers(const std::vector<Group>& groups) {
    const std::vector<Comparison> peers = against_peers(groups);
    if (peers.empty()) {
        std::printf(
            "\nno peer was measured: OpenBLAS and PyTorch are, where libopenblas-dev and libtorch-dev are "
            "installed\n");
        return;
    }
    std::printf("\n%-37s %-23s %10s %10s %8s %16s %7s\n", "shape", "fastest peer", "peer us", "attest us",
                "times", "quartiles", "rounds");
    for (const Comparison& row : peers) {
        const Group& group = group_of(groups, row.group);
        std::printf("%-37s %-23s %10.1f %10.1f", row.group.c_str(), row.who.c_str(),
                    times_of(group, row.who)->value.median, times_of(group, "attest")->value.median);
        print_spread(row.ratio);
        if (row.bound == Bound::none) std::printf("  (not in the mean)");
        print_verdict(row, "SLOWER");
    }
    for (const Comparison& mean : mean_of_peers(peers)) {
        std::printf("against the fastest peer of each shape: %.2f times as fast, geometric mean of %td",
                    mean.ratio.value.median,
                    std::ranges::count_if(peers, [](const Comparison& c) { return c.bound != Bound::none; }));
        print_verdict(mean, "LESS");
    }
}

void print_threads(const std::vector<Group>& groups) {
    const std::vector<Comparison> readings = readings_of_threads(groups);
    if (against_threads(groups).empty()) {
        std::printf("\ntwo threads were not measured\n");
        return;
    }
    std::printf("\n%-37s %8s %16s %7s %8s\n", "two threads against one", "attest", "quartiles", "rounds",
                "reading");
    for (const Comparison& row : against_threads(groups)) {
        std::printf("%-37s", row.group.c_str());
        print_spread(row.ratio);
        const auto read = std::ranges::find(readings, row.group, &Comparison::group);
        if (read != readings.end()) std::printf(" %8.2f", read->ratio.value.median);
        print_verdict(row, row.ratio.value.median < 1 ? "SLOWER" : "LESS");
    }
}

void print_storage(const std::vector<Group>& groups) {
    if (against_float(groups).empty()) return;
    std::printf("\n%-37s %8s %16s %7s\n", "narrow storage against float", "times", "quartiles", "rounds");
    for (const Comparison& row : against_float(groups)) {
        std::printf("%-37s", row.group.c_str());
        print_spread(row.ratio);
        print_verdict(row, "LESS");
    }
}

void print_host(const std::vector<Group>& groups) {
    std::printf(
        "\nprobes in their own best, median and worst round; disturbed: pulses over %.2f, or reading over "
        "%.2f\n%-37s %13s %13s %13s %13s %10s\n",
        kClockTolerance, kReadTolerance, "", "clock", "reading", "clock of two", "reading of two",
        "disturbed");
    for (const Group& group : groups) {
        std::printf("%-37s", group.name.c_str());
        for (const auto* values : {&group.clock, &group.read, &group.clock_of_two, &group.read_of_two}) {
            std::printf(" %6.2f %6.2f", values->empty() ? 0 : quartiles(*values).median, worst(*values));
        }
        std::printf(" %3td %3td of %zu\n", std::ranges::count(group.disturbed, true),
                    std::ranges::count(group.disturbed_of_two, true), group.rounds.size());
    }
    if (!groups.empty() && groups[0].pair > kSharedCore) {
        std::printf("two threads never had two cores: their quickest pulses took %.2f times one thread's\n",
                    groups[0].pair);
    }
}

void print_findings(const Findings& found, bool check) {
    if (!found.undecided.empty()) {
        std::printf(
            "\nTHE HOST WAS TOO BUSY, OR THE ROUNDS TOO FEW, FOR %zu VERDICTS: each needs %zu undisturbed "
            "rounds\n",
            found.undecided.size(), kFewestRounds);
    }
    if (!check) return;
    std::printf("\n");
    for (const std::string& line : found.undecided)
        std::printf("check: NO VERDICT: %s\n", line.c_str());
    for (const std::string& line : found.missed)
        std::printf("check: MISSED: %s\n", line.c_str());
    std::printf("check: %zu met, %zu missed, %zu without a verdict\n", found.met, found.missed.size(),
                found.undecided.size());
}

bool write_curve(const std::string& path, const std::vector<Group>& groups) {
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    std::map<std::size_t, std::pair<double, double>> curve;
    const std::string start = "attention/h32_kv32_d128_t";
    for (const Group& group : groups) {
        if (!group.name.starts_with(start)) continue;
        const auto time = times_of(group, "attest");
        const auto limit = times_of(group, kLimit);
        if (time && limit)
            curve[std::stoul(group.name.substr(start.size()))] = {time->value.median, limit->value.median};
    }
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [length, times] : curve) {
        const double t = static_cast<double>(length);
        const double weight = 1 / (times.first * times.first);
        w += weight;
        x += weight * t;
        y += weight * times.first;
        xx += weight * t * t;
        xy += weight * t * times.first;
        if (file != nullptr) std::fprintf(file, "%zu %.3f %.3f\n", length, times.first, times.second);
    }
    if (curve.size() > 2) {
        const double slope = (w * xy - x * y) / (w * xx - x * x);
        const double fixed = (y - slope * x) / w;
        double worst = 0;
        for (const auto& [length, times] : curve) {
            worst =
                std::max(worst, std::fabs((fixed + slope * static_cast<double>(length)) / times.first - 1));
        }
        std::printf(
            "\ncost of a step, 32 heads of 128: %.1f us + %.4f us a position; worst deviation %.1f %%\n",
            fixed, slope, 100 * worst);
    }
    return path.empty() || (file != nullptr && std::fclose(file) == 0);
}

bool write_json(const std::string& path, const std::vector<Group>& groups) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fputs("[", file);
    const char* between = "\n";
    for (const Group& group : groups) {
        const auto limit = times_of(group, kLimit);
        for (const std::string& who : members_of(group)) {
            const auto time = times_of(group, who);
            const auto ratio = ratio_of(group, who, kLimit);
            std::fprintf(file, "%s  {\"shape\": \"%s\", \"who\": \"%s\"", between, group.name.c_str(),
                         who.c_str());
            between = ",\n";
            put(file, "microseconds", time->value.median);
            put(file, "limit", limit ? limit->value.median : 0);
            put(file, "least", time->least);
            put(file, "least_limit", limit ? limit->least : 0);
            put(file, "ratio", ratio ? ratio->value.median : 0);
            put(file, "ratio_lower_quartile", ratio ? ratio->value.lower : 0);
            put(file, "ratio_upper_quartile", ratio ? ratio->value.upper : 0);
            std::fprintf(file, ", \"rounds\": %zu, \"undisturbed_rounds\": %zu}", time->rounds,
                         time->undisturbed);
        }
    }
    std::fputs("\n]\n", file);
    return std::fclose(file) == 0;
}

bool write_readings(const std::string& path, const std::vector<Group>& groups) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < group.rounds.size(); ++i) {
            for (const auto& [who, time] : group.rounds[i])
                std::fprintf(file, "%s\t%zu\t%s\t%.3f\n", group.name.c_str(), i, who.c_str(), time);
        }
    }
    return std::fclose(file) == 0;
}

}  // namespace attest::bench
