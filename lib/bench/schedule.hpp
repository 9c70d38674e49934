// Who is measured beside whom. All that belongs to one shape is a company: it is timed together, within a
// second or so, and again in every round.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

namespace attest::bench {

/// One measurement: `who` does what the company's name says.
struct Member {
    std::string who;
    std::function<void(benchmark::State&)> run;
};

struct Company {
    std::string group;
    std::vector<Member> members;
};

/// timed times step(), which says whether it went well. Once it runs untimed: a reading should not pay for
/// pages and caches that whoever was measured before has taken.
template <class Step>
void timed(benchmark::State& state, Step&& step) {
    bool well = step();
    for (auto _ : state)
        well = step() && well;
    if (!well) state.SkipWithError("refused");
}

/// The shapes, each with all its members but the clock's pulses, which every company has.
[[nodiscard]] std::vector<Company> attention_companies();
[[nodiscard]] std::vector<Company> layer_companies();
[[nodiscard]] std::vector<Company> prefill_companies();

/// The same work by other libraries, where they are found.
struct AttentionShape;
struct LayerShape;
void add_attention_peers(Company& company, const AttentionShape& shape);
void add_layer_peers(Company& company, const LayerShape& shape);
void add_prefill_peers(Company& company, const LayerShape& shape);

}  // namespace attest::bench
