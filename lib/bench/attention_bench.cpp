// Decode attention alone: projected queries against cached keys and values.
#include <benchmark/benchmark.h>
#include <attest/executor.hpp>

#include "arena.hpp"
#include "clock.hpp"
#include "probes.hpp"
#include "schedule.hpp"
#include "stepper.hpp"

namespace attest::bench {
namespace {

template <class T>
void attend(benchmark::State& state, const AttentionShape& shape, std::size_t workers, KvStorage storage) {
    Stepper<T> stepper(shape, workers, storage);
    timed(state, [&] {
        const bool well = stepper.step();
        benchmark::DoNotOptimize(stepper.merged());
        return well;
    });
}

// `bytes` of keys and as many of values, from the arena that has most.
void read(benchmark::State& state, std::size_t bytes, const ReadProbe& probe) {
    Arena<float>& arena = Arena<float>::get();
    timed(state, [&] {
        benchmark::DoNotOptimize(probe.read(arena.keys.data(), arena.values.data(), bytes));
        return true;
    });
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
    timed(state, [&] {
        run_pieces(pool, 2, half);
        benchmark::DoNotOptimize(sums);
        return true;
    });
}

template <class T>
Company company_of(const AttentionShape& shape, KvStorage storage, const std::string& kind) {
    Company company{kind + "/" + shape.name(), {}};
    const auto add = [&](const std::string& who, std::function<void(benchmark::State&)> run) {
        company.members.push_back({who, std::move(run)});
    };
    const std::size_t bytes =
        shape.elements() * (storage == KvStorage::computing ? sizeof(T) : sizeof(std::uint16_t));
    for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
        add(workers == 1 ? "attest" : "attest_2_threads",
            [=](benchmark::State& state) { attend<T>(state, shape, workers, storage); });
    }
    if (storage != KvStorage::computing) {
        add("attest_float",
            [=](benchmark::State& state) { attend<T>(state, shape, 1, KvStorage::computing); });
    }
    for (const ReadProbe& probe : read_probes()) {
        add(std::string("limit:") + probe.name, [=](benchmark::State& state) { read(state, bytes, probe); });
        add(std::string("both:") + probe.name + "_2_threads",
            [=](benchmark::State& state) { read_by_two(state, bytes, probe); });
    }
    // A vector holds half as many doubles, and the probe counts floats.
    const std::size_t products = 2 * shape.heads * shape.length * shape.head_width * (sizeof(T) / 4);
    add("compute", [=](benchmark::State& state) { multiply_adds_alone(state, products, 1); });
    return company;
}

}  // namespace

std::vector<Company> attention_companies() {
    std::vector<Company> all;
    for (const AttentionShape& shape : kAttentionShapes) {
        all.push_back(company_of<float>(shape, KvStorage::computing, "attention"));
        add_attention_peers(all.back(), shape);
    }
    for (const AttentionShape& shape : kNarrowShapes) {
        for (const KvStorage storage : {KvStorage::bf16, KvStorage::f16})
            all.push_back(company_of<float>(shape, storage, "attention_" + std::string(name(storage))));
    }
    for (const AttentionShape& shape : kDoubleShapes)
        all.push_back(company_of<double>(shape, KvStorage::computing, "attention_double"));
    return all;
}

}  // namespace attest::bench
