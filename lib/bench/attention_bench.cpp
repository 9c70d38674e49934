// Decode attention alone: projected queries against cached keys and values.
#include <benchmark/benchmark.h>
#include <attest/executor.hpp>

#include "../src/attention_heads.hpp"
#include "arena.hpp"
#include "peers.hpp"
#include "probes.hpp"

namespace attest::bench {
namespace {

// One step at a time, over the arena; the last row is the candidate, as in a step of the cache.
class Stepper {
  public:
    Stepper(const AttentionShape& shape, std::size_t workers)
        : geometry_{shape.heads * shape.head_width, shape.heads, shape.kv_heads, shape.head_width},
          rotary_(*Rotary<float>::make({0, shape.length, 10000.0})),
          buffers_(*detail::RowBuffers<float>::make(default_memory(), geometry_, 1, 1, shape.length, 1)),
          pool_(*ThreadPool::make(workers)),
          prefix_{Arena::get().keys.data(), Arena::get().values.data(), shape.length, shape.length - 1} {
        std::copy_n(Arena::get().queries.data(), buffers_.queries.size(), buffers_.queries.data());
    }

    bool step() {
        const detail::RowsCall<float> call{*detail::choose_kernels_from_environment<float>(),
                                           pool_,
                                           geometry_,
                                           rotary_,
                                           {},
                                           1,
                                           1,
                                           0,
                                           prefix_};
        return detail::attend_heads<float>(call, buffers_, nullptr).has_value();
    }
    [[nodiscard]] const float* merged() const { return buffers_.merged.data(); }

  private:
    AttentionGeometry geometry_;
    Rotary<float> rotary_;
    detail::RowBuffers<float> buffers_;
    ThreadPool pool_;
    detail::PrefixRows<float> prefix_;
};

extern "C" [[gnu::noinline]] bool attest_bench_step(Stepper& stepper) {
    return stepper.step();
}

void attend(benchmark::State& state, const AttentionShape& shape, std::size_t workers) {
    Stepper stepper(shape, workers);
    for (auto _ : state) {
        if (!stepper.step()) state.SkipWithError("refused");
        benchmark::DoNotOptimize(stepper.merged());
    }
}

void read(benchmark::State& state, const AttentionShape& shape, const ReadProbe& probe) {
    Arena& arena = Arena::get();
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            probe.read(arena.keys.data(), arena.values.data(), shape.elements() * sizeof(float)));
    }
}

void compute(benchmark::State& state, const AttentionShape& shape) {
    const std::size_t all = 2 * shape.heads * shape.length * shape.head_width;
    for (auto _ : state)
        benchmark::DoNotOptimize(multiply_adds(all / (16 * kProbeChains)));
}

}  // namespace

bool run_one_step(const std::string& name) {
    for (const AttentionShape& shape : kAttentionShapes) {
        if (shape.name() == name) {
            static_cast<void>(Arena::get(shape.elements()));
            Stepper stepper(shape, 1);
            return attest_bench_step(stepper);
        }
    }
    return false;
}

void register_attention() {
    for (const AttentionShape& shape : kAttentionShapes) {
        const std::string group = "attention/" + shape.name() + "/";
        benchmark::RegisterBenchmark((group + "attest").c_str(), attend, shape, 1);
        benchmark::RegisterBenchmark((group + "attest_2_threads").c_str(), attend, shape, 2);
        for (const ReadProbe& probe : read_probes()) {
            benchmark::RegisterBenchmark((group + "limit:" + probe.name).c_str(), read, shape, probe);
        }
        benchmark::RegisterBenchmark((group + "compute").c_str(), compute, shape);
        register_attention_peers(shape, group);
    }
}

}  // namespace attest::bench
