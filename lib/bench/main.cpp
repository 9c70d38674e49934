// attest-bench: rounds over all shapes; in a round, everybody of a shape in a random order, one soon after
// the other, each timed by Google Benchmark. At the end tables of ratios that were formed within the rounds
// (rounds.hpp).
#include <benchmark/benchmark.h>
#include <attest/random.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "clock.hpp"
#include "report.hpp"
#include "schedule.hpp"
#include "shapes.hpp"

namespace attest::bench {
namespace {

// Collects what one company's members took.
class Collector final : public benchmark::ConsoleReporter {
  public:
    bool ReportContext(const Context& context) override {
        if (!std::exchange(told_, true)) PrintBasicContext(&GetErrorStream(), context);
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
            // So does a pulse: it is to tell whether the core has others to serve, who also take its caches.
            const bool wall = name.ends_with("_threads") || name.ends_with(std::string("/") + kClock);
            readings_[name.substr(name.rfind('/') + 1)].push_back(
                (wall ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime()) / 1e3);
        }
    }

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] Readings take() { return std::exchange(readings_, {}); }

  private:
    Readings readings_;
    bool failed_ = false;
    bool told_ = false;
};

// Whether this process may use two cores: it may have been bound to one of many.
bool two_cores() {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
    return std::thread::hardware_concurrency() > 1;
}

template <class T>
void shuffle(std::vector<T>& all, SplitMix64& random) {
    for (std::size_t left = all.size(); left > 1; --left)
        std::swap(all[left - 1], all[random.next() % left]);
}

// All companies, without whom the command line's filter leaves out, and without two threads on one core.
std::vector<Company> companies(const std::string& filter) {
    const std::regex wanted(filter.empty() || filter == "all" ? "." : filter, std::regex::extended);
    std::vector<Company> all;
    for (auto make : {attention_companies, layer_companies, prefill_companies}) {
        for (Company& company : make()) {
            std::erase_if(company.members, [&](const Member& member) {
                return !std::regex_search(company.group + "/" + member.who, wanted) ||
                       (member.who.ends_with("_2_threads") && !two_cores());
            });
            if (!company.members.empty()) all.push_back(std::move(company));
        }
    }
    return all;
}

// A millisecond on one core of today: the waking of a second thread must not weigh in its pulses, which
// are held against one thread's.
constexpr std::size_t kPulseProducts = std::size_t{1} << 27;
constexpr int kPulseSteps = 4;

void enrol_pulses(const std::string& group) {
    const auto pulse = [&](const char* who, std::size_t threads) {
        benchmark::RegisterBenchmark((group + "/" + who).c_str(), [threads](benchmark::State& state) {
            multiply_adds_alone(state, kPulseProducts * threads, threads);
        })->Iterations(kPulseSteps);
    };
    pulse(kClock, 1);
    if (two_cores()) pulse(kClockOfTwo, 2);
}

// One company's round: pulses before, after every third member, and at the end.
Round measure(Company& company, SplitMix64& random, Collector& collector) {
    shuffle(company.members, random);
    benchmark::ClearRegisteredBenchmarks();
    for (std::size_t i = 0; i < company.members.size(); ++i) {
        if (i % 3 == 0) enrol_pulses(company.group);
        const Member& member = company.members[i];
        benchmark::RegisterBenchmark((company.group + "/" + member.who).c_str(), member.run);
    }
    enrol_pulses(company.group);
    benchmark::RunSpecifiedBenchmarks(&collector, "all");
    return round_of(collector.take());
}

std::vector<Group> run(std::size_t rounds, Collector& collector) {
    std::vector<Company> all = companies(benchmark::GetBenchmarkFilter());
    std::vector<Group> groups;
    std::vector<std::size_t> order;
    for (const Company& company : all) {
        order.push_back(groups.size());
        groups.push_back({company.group, {}});
    }
    // Another order in each run as well.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    SplitMix64 random = SplitMix64::from_seed(static_cast<std::uint64_t>(now));
    for (std::size_t round = 0; round < rounds; ++round) {
        shuffle(order, random);
        for (const std::size_t which : order)
            groups[which].rounds.push_back(measure(all[which], random, collector));
        std::fprintf(stderr, "attest-bench: round %zu of %zu\n", round + 1, rounds);
    }
    decide(groups);
    return groups;
}

// A flag of ours, taken out of the arguments: its value, or nothing.
std::string take(std::vector<char*>& arguments, const std::string& flag) {
    for (auto it = arguments.begin(); it != arguments.end(); ++it) {
        if (const std::string argument = *it; argument.starts_with(flag)) {
            arguments.erase(it);
            return argument == flag ? "yes" : argument.substr(flag.size());
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
    const std::string raw = take(arguments, "--readings=");
    const std::string wanted = take(arguments, "--rounds=");
    const bool check = !take(arguments, "--check").empty();
    const unsigned long rounds = wanted.empty() ? 15 : std::strtoul(wanted.c_str(), nullptr, 10);
    if (rounds == 0) return std::fputs("attest-bench: --rounds wants a number\n", stderr), 2;
    // Later flags win.
    std::string defaults[] = {"--benchmark_min_time=0.01"};
    for (std::size_t i = 0; i < std::size(defaults); ++i) {
        arguments.insert(arguments.begin() + 1 + static_cast<std::ptrdiff_t>(i), defaults[i].data());
    }
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    Collector collector;
    const std::vector<Group> groups = run(rounds, collector);
    print_table(groups);
    print_peers(groups);
    print_threads(groups);
    print_storage(groups);
    print_memory();
    const bool written = write_curve(curve, groups) && (json.empty() || write_json(json, groups)) &&
                         (raw.empty() || write_readings(raw, groups));
    if (!written) std::fputs("attest-bench: could not write its results\n", stderr);
    print_host(groups);
    const Findings found = findings(groups);
    print_findings(found, check);
    if (collector.failed()) return 1;
    if (!written) return 2;
    return check ? found.exit_code() : 0;
}
