// attest-bench: Google Benchmark with random interleaving, and at the end tables of ratios: every median
// beside what was measured between its own rounds.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "report.hpp"
#include "shapes.hpp"

namespace attest::bench {
namespace {

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
    [[nodiscard]] const Times& times() const { return times_; }

  private:
    Times times_;
    bool failed_ = false;
};

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
    using namespace attest::bench;
    std::vector<char*> arguments(argv, argv + argc);
    const std::string json = take(arguments, "--ratios=");
    const std::string curve = take(arguments, "--curve=");
    // Interleaved rounds unless the command line says otherwise; later flags win.
    std::string defaults[] = {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=9",
                              "--benchmark_min_time=0.01"};
    for (std::size_t i = 0; i < std::size(defaults); ++i) {
        arguments.insert(arguments.begin() + 1 + static_cast<std::ptrdiff_t>(i), defaults[i].data());
    }
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    register_attention();
    register_layers();
    register_prefill();
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    const std::vector<Row> rows = rows_of(collector.times());
    print_table(rows);
    print_peers(rows);
    print_threads(rows);
    print_storage(rows);
    print_memory();
    const bool written = write_curve(curve, rows) && (json.empty() || write_json(json, rows));
    if (!written) std::fputs("attest-bench: could not write its results\n", stderr);
    return collector.failed() ? 1 : written ? 0 : 2;
}
