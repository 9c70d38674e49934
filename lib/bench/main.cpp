// attest-bench: Google Benchmark with random interleaving, and at the end a table of ratios: every median
// beside the limit that was measured between its own rounds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "shapes.hpp"

namespace attest::bench {
namespace {

struct Row {
    std::string group;
    std::string who;
    double microseconds;
    double limit;
};

// Collects the time of every repetition under its name.
class Collector final : public benchmark::ConsoleReporter {
  public:
    bool ReportContext(const Context& context) override {
        PrintBasicContext(&GetErrorStream(), context);
        return true;
    }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            if (run.error_occurred) {
                failed_ = true;
                std::fprintf(stderr, "%s: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
                continue;
            }
            // One thread's own time does not count its neighbours on the machine; several threads' does.
            const std::string& name = run.run_name.function_name;
            const bool wall = name.ends_with("_threads");
            times_[name].push_back((wall ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime()) / 1e3);
        }
    }

    [[nodiscard]] bool failed() const { return failed_; }

    /// One line a measurement, in the order of names.
    [[nodiscard]] std::vector<Row> rows() const {
        std::map<std::string, std::map<std::string, double>> groups;
        for (const auto& [name, times] : times_) {
            const std::size_t cut = name.rfind('/');
            groups[name.substr(0, cut)][name.substr(cut + 1)] = median(times);
        }
        std::vector<Row> rows;
        for (const auto& [group, members] : groups) {
            // The fastest probe is the limit; for attention the multiply-adds, if they take longer.
            double limit = 0;
            for (const auto& [who, time] : members) {
                if (who.starts_with("limit:") && (limit == 0 || time < limit)) limit = time;
            }
            if (const auto compute = members.find("compute"); compute != members.end()) {
                limit = std::max(limit, compute->second);
            }
            for (const auto& [who, time] : members)
                rows.push_back({group, who, time, limit});
        }
        return rows;
    }

  private:
    static double median(std::vector<double> times) {
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        return *middle;
    }

    std::map<std::string, std::vector<double>> times_;
    bool failed_ = false;
};

void print_table(const std::vector<Row>& rows) {
    std::printf("%-36s %-18s %12s %8s\n", "shape", "who", "median us", "limits");
    for (const Row& row : rows) {
        std::printf("%-36s %-18s %12.1f %8.3f\n", row.group.c_str(), row.who.c_str(), row.microseconds,
                    row.limit == 0 ? 0 : row.microseconds / row.limit);
    }
}

bool write_json(const std::string& path, const std::vector<Row>& rows) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fputs("[\n", file);
    for (const Row& row : rows) {
        std::fprintf(
            file, "  {\"shape\": \"%s\", \"who\": \"%s\", \"microseconds\": %.3f, \"limit\": %.3f}%s\n",
            row.group.c_str(), row.who.c_str(), row.microseconds, row.limit, &row == &rows.back() ? "" : ",");
    }
    std::fputs("]\n", file);
    return std::fclose(file) == 0;
}

// Time against length, for the shape that is measured at most lengths, and the line through it: a least
// squares fit of the relative error, since the times span two orders of magnitude.
bool write_curve(const std::string& path, const std::vector<Row>& rows) {
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    std::map<std::size_t, std::pair<double, double>> curve;
    const std::string start = "attention/h32_kv32_d128_t";
    for (const Row& row : rows) {
        if (row.group.starts_with(start) && row.who == "attest") {
            curve[std::stoul(row.group.substr(start.size()))] = {row.microseconds, row.limit};
        }
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

// A flag of ours, taken out of the arguments: its value, or nothing.
std::string take(std::vector<char*>& arguments, const std::string& flag) {
    for (auto it = arguments.begin(); it != arguments.end(); ++it) {
        if (const std::string argument = *it; argument.starts_with(flag)) {
            arguments.erase(it);
            return argument.substr(flag.size());
        }
    }
    return "";
}

}  // namespace
}  // namespace attest::bench

int main(int argc, char** argv) {
    std::vector<char*> arguments(argv, argv + argc);
    const std::string json = attest::bench::take(arguments, "--ratios=");
    const std::string curve = attest::bench::take(arguments, "--curve=");
    const std::string step = attest::bench::take(arguments, "--one_step=");
    if (!step.empty()) return attest::bench::run_one_step(step) ? 0 : 2;
    // Interleaved rounds unless the command line says otherwise; later flags win.
    std::string defaults[] = {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=9",
                              "--benchmark_min_time=0.01"};
    for (std::size_t i = 0; i < std::size(defaults); ++i) {
        arguments.insert(arguments.begin() + 1 + static_cast<std::ptrdiff_t>(i), defaults[i].data());
    }
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    attest::bench::register_attention();
    attest::bench::register_layers();
    attest::bench::register_prefill();
    attest::bench::Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    const std::vector<attest::bench::Row> rows = collector.rows();
    attest::bench::print_table(rows);
    const bool written =
        attest::bench::write_curve(curve, rows) && (json.empty() || attest::bench::write_json(json, rows));
    if (!written) std::fputs("attest-bench: could not write its results\n", stderr);
    return collector.failed() ? 1 : written ? 0 : 2;
}
