// A whole layer: one decode step, or a prefill.
#include <benchmark/benchmark.h>
#include <attest/attest.hpp>

#include "../src/kernels.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "arena.hpp"
#include "clock.hpp"
#include "probes.hpp"
#include "schedule.hpp"

namespace attest::bench {
namespace {

// A layer and a cache that holds all rows but the last.
template <class T>
struct Filled {
    MultiHeadAttention<T> layer;
    LayerKvCache<T> cache;
    Tensor<T> x;
    Tensor<T> y;

    static Filled& of(const LayerShape& shape) {
        static std::map<std::string, std::unique_ptr<Filled>> made;
        std::unique_ptr<Filled>& found = made[shape.name()];
        if (found == nullptr) {
            const std::size_t head_width = shape.model_width / shape.heads;
            auto layer = *MultiHeadAttention<T>::from_seed(
                1, {shape.model_width, shape.heads, shape.heads, head_width},
                *Rotary<T>::make({head_width, shape.length, 10000.0}));
            auto cache = *LayerKvCache<T>::make(layer, 1, shape.length);
            const Shape rows{std::size_t{1}, shape.length, shape.model_width};
            auto x = *Tensor<T>::zeros(rows);
            auto y = *Tensor<T>::zeros(rows);
            fill(x.span().data(), x.size(), 5);
            found.reset(new Filled{std::move(layer), std::move(cache), std::move(x), std::move(y)});
            const auto most = *found->x.view().slice(1, 0, shape.length - 1);
            if (!found->layer.prefill(most, found->cache, *found->y.view().slice(1, 0, shape.length - 1)))
                abort();
        }
        return *found;
    }
};

template <class T>
void decode(benchmark::State& state, const LayerShape& shape, std::size_t workers) {
    Filled<T>& filled = Filled<T>::of(shape);
    auto pool = *ThreadPool::make(workers);
    const auto x = *filled.x.view().slice(1, shape.length - 1, 1);
    const auto y = *filled.y.view().slice(1, shape.length - 1, 1);
    // Everything but the append, so that the length stays.
    timed(state, [&] { return filled.layer.prepare(x, filled.cache, y, pool).has_value(); });
}

// What a step reads: four matrices, keys and values. The probe sums floats whatever the bytes mean.
template <class T>
void read_layer(benchmark::State& state, const LayerShape& shape, const ReadProbe& probe,
                std::size_t threads) {
    Filled<T>& filled = Filled<T>::of(shape);
    const auto weights = filled.layer.parameters();
    const auto floats = [](const T* values) { return reinterpret_cast<const float*>(values); };
    struct Range {
        const float* first;
        const float* second;
        std::size_t bytes;
    };
    const std::size_t matrix = shape.model_width * shape.model_width * sizeof(T);
    const std::size_t cached = shape.model_width * shape.length * sizeof(T);
    const Range ranges[] = {
        {floats(weights[0].value().data()), floats(weights[1].value().data()), matrix},
        {floats(weights[2].value().data()), floats(weights[3].value().data()), matrix},
        {floats(filled.cache.key_storage().data()), floats(filled.cache.value_storage().data()), cached}};
    auto pool = *ThreadPool::make(threads);
    float sums[2] = {};
    auto part = [&](std::size_t piece, std::size_t) {
        for (const Range& range : ranges) {
            const std::size_t bytes = range.bytes / threads;
            const std::size_t from = piece * bytes / sizeof(float);
            sums[piece] += probe.read(range.first + from, range.second + from, bytes);
        }
    };
    timed(state, [&] {
        run_pieces(pool, threads, part);
        benchmark::DoNotOptimize(sums);
        return true;
    });
}

// Keeps what is given back for the next call that wants as much: what a caller passes who prefills again and
// again. The heap returns blocks of this size to the system, and every page of them has to come anew.
class KeptMemory final : public Memory {
  public:
    KeptMemory() = default;
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;
    ~KeptMemory() {
        for (const Block& block : blocks_)
            default_memory().deallocate(block.pointer, block.bytes, block.alignment);
    }
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        for (Block& block : blocks_) {
            if (block.used || block.bytes != bytes || block.alignment != alignment) continue;
            block.used = true;
            return block.pointer;
        }
        void* const pointer = default_memory().allocate(bytes, alignment);
        if (pointer != nullptr) blocks_.push_back({pointer, bytes, alignment, true});
        return pointer;
    }
    void deallocate(void* pointer, std::size_t, std::size_t) noexcept override {
        for (Block& block : blocks_)
            block.used = block.used && block.pointer != pointer;
    }

  private:
    struct Block {
        void* pointer;
        std::size_t bytes;
        std::size_t alignment;
        bool used;
    };
    std::vector<Block> blocks_;
};

void prefill(benchmark::State& state, const LayerShape& shape, std::size_t workers, bool kept) {
    Filled<float>& filled = Filled<float>::of(shape);
    auto pool = *ThreadPool::make(workers);
    auto cache = *LayerKvCache<float>::make(filled.layer, 1, shape.length);
    static KeptMemory memory;
    Memory& scratch = kept ? static_cast<Memory&>(memory) : default_memory();
    timed(state, [&] {
        cache.reset();
        return filled.layer.prefill(filled.x.view(), cache, filled.y.view(), scratch, pool).has_value();
    });
}

// The four projections alone, and causal attention's products: row i meets i + 1 keys, twice.
std::size_t projection_products(const LayerShape& shape) {
    return 4 * shape.length * shape.model_width * shape.model_width;
}
std::size_t prefill_products(const LayerShape& shape) {
    return projection_products(shape) + shape.length * (shape.length + 1) * shape.model_width;
}

void project(benchmark::State& state, const LayerShape& shape) {
    Filled<float>& filled = Filled<float>::of(shape);
    const detail::Kernels<float>* const kernels = detail::choose_kernels_from_environment<float>();
    const std::size_t width = shape.model_width;
    timed(state, [&] {
        for (const Parameter<float>& weights : filled.layer.parameters()) {
            kernels->project_rows(filled.y.span().data(), width, filled.x.span().data(), width, shape.length,
                                  weights.value().data(), width, width, width);
        }
        return true;
    });
}

template <class T>
Company layer_company(const LayerShape& shape, const std::string& kind) {
    Company company{kind + "/" + shape.name(), {}};
    const auto add = [&](const std::string& who, std::function<void(benchmark::State&)> run) {
        company.members.push_back({who, std::move(run)});
    };
    add("attest", [=](benchmark::State& state) { decode<T>(state, shape, 1); });
    add("attest_2_threads", [=](benchmark::State& state) { decode<T>(state, shape, 2); });
    for (const ReadProbe& probe : read_probes()) {
        add(std::string("limit:") + probe.name,
            [=](benchmark::State& state) { read_layer<T>(state, shape, probe, 1); });
        add(std::string("both:") + probe.name + "_2_threads",
            [=](benchmark::State& state) { read_layer<T>(state, shape, probe, 2); });
    }
    // Four matrices by one row, and keys and values; the probe counts floats, of which a vector holds twice
    // as many as doubles.
    const std::size_t width = shape.model_width;
    const std::size_t products = (4 * width * width + 2 * width * shape.length) * (sizeof(T) / 4);
    add("compute", [=](benchmark::State& state) { multiply_adds_alone(state, products, 1); });
    return company;
}

}  // namespace

std::vector<Company> layer_companies() {
    std::vector<Company> all;
    for (const LayerShape& shape : kLayerShapes) {
        all.push_back(layer_company<float>(shape, "layer"));
        add_layer_peers(all.back(), shape);
    }
    for (const LayerShape& shape : kDoubleLayerShapes)
        all.push_back(layer_company<double>(shape, "layer_double"));
    return all;
}

// One cache of each storage, counted by the Memory it was given.
void print_memory() {
    class Counter final : public Memory {
      public:
        void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
            total += bytes;
            return default_memory().allocate(bytes, alignment);
        }
        void deallocate(void* pointer, std::size_t bytes, std::size_t alignment) noexcept override {
            default_memory().deallocate(pointer, bytes, alignment);
        }
        std::size_t total = 0;
    };
    const AttentionGeometry geometry{512, 8, 8, 64};
    const auto layer =
        *MultiHeadAttention<float>::from_seed(1, geometry, *Rotary<float>::make({64, 16384, 10000.0}));
    std::printf("\n%-10s %10s %14s %14s %12s %12s\n", "storage", "capacity", "bytes", "keys, values",
                "scores", "the rest");
    for (const KvStorage storage : {KvStorage::computing, KvStorage::bf16, KvStorage::f16}) {
        for (const std::size_t capacity : {std::size_t{128}, std::size_t{1024}, std::size_t{16384}}) {
            Counter memory;
            const auto cache = LayerKvCache<float>::make(*layer.stored_as(storage), 1, capacity, 0, memory);
            if (!cache) std::abort();
            const std::size_t element = storage == KvStorage::computing ? 4 : 2;
            const std::size_t rows = 2 * geometry.kv_heads * capacity * geometry.head_width * element;
            const std::size_t scores = geometry.heads * capacity * sizeof(float);
            const std::string_view word = name(storage);
            std::printf("%-10.*s %10zu %14zu %14zu %12zu %12zu\n", static_cast<int>(word.size()), word.data(),
                        capacity, memory.total, rows, scores, memory.total - rows - scores);
        }
    }
}

std::vector<Company> prefill_companies() {
    std::vector<Company> all;
    for (const LayerShape& shape : kPrefillShapes) {
        const auto probe = [](std::size_t products, std::size_t threads) {
            return [=](benchmark::State& state) { multiply_adds_alone(state, products, threads); };
        };
        Company projections{"projections/" + shape.name(), {}};
        projections.members = {
            {"attest", [=](benchmark::State& state) { project(state, shape); }},
            {"limit:multiply_adds", probe(projection_products(shape), 1)},
        };
        add_prefill_peers(projections, shape);
        all.push_back(std::move(projections));
        Company whole{"prefill/" + shape.name(), {}};
        whole.members = {
            {"attest", [=](benchmark::State& state) { prefill(state, shape, 1, true); }},
            {"attest_2_threads", [=](benchmark::State& state) { prefill(state, shape, 2, true); }},
            {"attest_from_the_heap", [=](benchmark::State& state) { prefill(state, shape, 1, false); }},
            {"limit:multiply_adds", probe(prefill_products(shape), 1)},
            {"both:multiply_adds_2_threads", probe(prefill_products(shape), 2)},
        };
        all.push_back(std::move(whole));
    }
    return all;
}

}  // namespace attest::bench
