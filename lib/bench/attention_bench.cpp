// Decode attention alone: projected queries against cached keys and values.
#include <benchmark/benchmark.h>
#include <attest/executor.hpp>

#include "arena.hpp"
#include "peers.hpp"
#include "probes.hpp"
#include "stepper.hpp"

namespace attest::bench {
namespace {

template <class T>
void attend(benchmark::State& state, const AttentionShape& shape, std::size_t workers, KvStorage storage) {
    Stepper<T> stepper(shape, workers, storage);
    for (auto _ : state) {
        if (!stepper.step()) state.SkipWithError("refused");
        benchmark::DoNotOptimize(stepper.merged());
    }
}

// `bytes` of keys and as many of values, from the arena that has most.
void read(benchmark::State& state, std::size_t bytes, const ReadProbe& probe) {
    Arena<float>& arena = Arena<float>::get();
    for (auto _ : state)
        benchmark::DoNotOptimize(probe.read(arena.keys.data(), arena.values.data(), bytes));
}

// The same by two threads, half of the keys and half of the values each.
void read_by_two(benchmark::State& state, std::size_t bytes, const ReadProbe& probe) {
    Arena<float>& arena = Arena<float>::get();
    auto pool = *ThreadPool::make(2);
    float sums[2] = {};
    auto half = [&](std::size_t piece, std::size_t) {
        const std::size_t from = piece * bytes / 2 / sizeof(float);
        sums[piece] = probe.read(arena.keys.data() + from, arena.values.data() + from, bytes / 2);
    };
    for (auto _ : state) {
        run_pieces(pool, 2, half);
        benchmark::DoNotOptimize(sums);
    }
}

void compute(benchmark::State& state, const AttentionShape& shape, std::size_t lanes) {
    const std::size_t all = 2 * shape.heads * shape.length * shape.head_width;
    for (auto _ : state)
        benchmark::DoNotOptimize(multiply_adds(all / (lanes * kProbeChains)));
}

template <class T>
void register_shape(const AttentionShape& shape, KvStorage storage, const std::string& group) {
    const std::size_t bytes =
        shape.elements() * (storage == KvStorage::computing ? sizeof(T) : sizeof(std::uint16_t));
    benchmark::RegisterBenchmark((group + "attest").c_str(), attend<T>, shape, 1, storage);
    benchmark::RegisterBenchmark((group + "attest_2_threads").c_str(), attend<T>, shape, 2, storage);
    for (const ReadProbe& probe : read_probes()) {
        benchmark::RegisterBenchmark((group + "limit:" + probe.name).c_str(), read, bytes, probe);
        benchmark::RegisterBenchmark((group + "both:" + probe.name + "_2_threads").c_str(), read_by_two,
                                     bytes, probe);
    }
    // A vector holds half as many doubles, and the probe counts floats.
    benchmark::RegisterBenchmark((group + "compute").c_str(), compute, shape, 64 / sizeof(T));
}

}  // namespace

void register_attention() {
    for (const AttentionShape& shape : kAttentionShapes) {
        const std::string group = "attention/" + shape.name() + "/";
        register_shape<float>(shape, KvStorage::computing, group);
        register_attention_peers(shape, group);
    }
    for (const AttentionShape& shape : kNarrowShapes) {
        for (const KvStorage storage : {KvStorage::bf16, KvStorage::f16}) {
            register_shape<float>(shape, storage,
                                  "attention_" + std::string(name(storage)) + "/" + shape.name() + "/");
        }
    }
    for (const AttentionShape& shape : kDoubleShapes)
        register_shape<double>(shape, KvStorage::computing, "attention_double/" + shape.name() + "/");
}

}  // namespace attest::bench
