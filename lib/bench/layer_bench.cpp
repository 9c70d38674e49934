// A whole layer: one decode step, or a prefill.
#include <benchmark/benchmark.h>
#include <attest/attest.hpp>

#include "../src/kernels.hpp"

#include <map>
#include <memory>

#include "arena.hpp"
#include "peers.hpp"
#include "probes.hpp"

namespace attest::bench {
namespace {

// A layer and a cache that holds all rows but the last.
struct Filled {
    MultiHeadAttention<float> layer;
    LayerKvCache<float> cache;
    Tensor<float> x;
    Tensor<float> y;

    static Filled& of(const LayerShape& shape) {
        static std::map<std::string, std::unique_ptr<Filled>> made;
        std::unique_ptr<Filled>& found = made[shape.name()];
        if (found == nullptr) {
            const std::size_t head_width = shape.model_width / shape.heads;
            auto layer = *MultiHeadAttention<float>::from_seed(
                1, {shape.model_width, shape.heads, shape.heads, head_width},
                *Rotary<float>::make({head_width, shape.length, 10000.0}));
            auto cache = *LayerKvCache<float>::make(layer, 1, shape.length);
            const Shape rows{std::size_t{1}, shape.length, shape.model_width};
            auto x = *Tensor<float>::zeros(rows);
            auto y = *Tensor<float>::zeros(rows);
            fill(x.span().data(), x.size(), 5);
            found.reset(new Filled{std::move(layer), std::move(cache), std::move(x), std::move(y)});
            const auto most = *found->x.view().slice(1, 0, shape.length - 1);
            if (!found->layer.prefill(most, found->cache, *found->y.view().slice(1, 0, shape.length - 1)))
                abort();
        }
        return *found;
    }
};

void decode(benchmark::State& state, const LayerShape& shape, std::size_t workers) {
    Filled& filled = Filled::of(shape);
    auto pool = *ThreadPool::make(workers);
    const auto x = *filled.x.view().slice(1, shape.length - 1, 1);
    const auto y = *filled.y.view().slice(1, shape.length - 1, 1);
    for (auto _ : state) {
        // Everything but the append, so that the length stays.
        if (!filled.layer.prepare(x, filled.cache, y, pool)) state.SkipWithError("refused");
    }
}

void read_layer(benchmark::State& state, const LayerShape& shape, const ReadProbe& probe) {
    Filled& filled = Filled::of(shape);
    const auto weights = filled.layer.parameters();
    const std::size_t matrix = shape.model_width * shape.model_width * sizeof(float);
    const std::size_t cached = shape.model_width * shape.length * sizeof(float);
    for (auto _ : state) {
        benchmark::DoNotOptimize(probe.read(weights[0].value().data(), weights[1].value().data(), matrix));
        benchmark::DoNotOptimize(probe.read(weights[2].value().data(), weights[3].value().data(), matrix));
        benchmark::DoNotOptimize(
            probe.read(filled.cache.key_storage().data(), filled.cache.value_storage().data(), cached));
    }
}

void prefill(benchmark::State& state, const LayerShape& shape, std::size_t workers) {
    Filled& filled = Filled::of(shape);
    auto pool = *ThreadPool::make(workers);
    auto cache = *LayerKvCache<float>::make(filled.layer, 1, shape.length);
    for (auto _ : state) {
        cache.reset();
        if (!filled.layer.prefill(filled.x.view(), cache, filled.y.view(), default_memory(), pool)) {
            state.SkipWithError("refused");
        }
    }
}

// The four projections alone, and causal attention's products: row i meets i + 1 keys, twice.
std::size_t projection_products(const LayerShape& shape) {
    return 4 * shape.length * shape.model_width * shape.model_width;
}
std::size_t prefill_products(const LayerShape& shape) {
    return projection_products(shape) + shape.length * (shape.length + 1) * shape.model_width;
}

void compute(benchmark::State& state, std::size_t products) {
    for (auto _ : state)
        benchmark::DoNotOptimize(multiply_adds(products / (16 * kProbeChains)));
}

void project(benchmark::State& state, const LayerShape& shape) {
    Filled& filled = Filled::of(shape);
    const detail::Kernels<float>* const kernels = detail::choose_kernels_from_environment<float>();
    const std::size_t width = shape.model_width;
    for (auto _ : state) {
        for (const Parameter<float>& weights : filled.layer.parameters()) {
            kernels->project_rows(filled.y.span().data(), width, filled.x.span().data(), width, shape.length,
                                  weights.value().data(), width, width, width);
        }
    }
}

}  // namespace

void register_layers() {
    for (const LayerShape& shape : kLayerShapes) {
        const std::string group = "layer/" + shape.name() + "/";
        benchmark::RegisterBenchmark((group + "attest").c_str(), decode, shape, 1);
        benchmark::RegisterBenchmark((group + "attest_2_threads").c_str(), decode, shape, 2);
        for (const ReadProbe& probe : read_probes()) {
            benchmark::RegisterBenchmark((group + "limit:" + probe.name).c_str(), read_layer, shape, probe);
        }
        register_layer_peers(shape, group);
    }
}

void register_prefill() {
    for (const LayerShape& shape : kPrefillShapes) {
        const std::string projections = "projections/" + shape.name() + "/";
        benchmark::RegisterBenchmark((projections + "attest").c_str(), project, shape);
        benchmark::RegisterBenchmark((projections + "limit:multiply_adds").c_str(), compute,
                                     projection_products(shape));
        register_prefill_peers(shape, projections);
        const std::string group = "prefill/" + shape.name() + "/";
        benchmark::RegisterBenchmark((group + "attest").c_str(), prefill, shape, 1);
        benchmark::RegisterBenchmark((group + "attest_2_threads").c_str(), prefill, shape, 2);
        benchmark::RegisterBenchmark((group + "limit:multiply_adds").c_str(), compute,
                                     prefill_products(shape));
    }
}

}  // namespace attest::bench
