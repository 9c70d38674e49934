#include "peers_torch.hpp"

#include <benchmark/benchmark.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cmath>
#include <vector>

namespace attest::bench {
namespace {

using torch::Tensor;

Tensor looked_at(const float* data, std::vector<std::int64_t> shape) {
    return torch::from_blob(const_cast<float*>(data), shape, torch::kFloat32);
}

std::int64_t whole(std::size_t count) {
    return static_cast<std::int64_t>(count);
}

// Several query heads on one key/value head are as many rows of one head: a decode step needs no mask.
struct Operands {
    Tensor q, k, v;  // [1, Hkv, H / Hkv, d], [1, Hkv, t, d]

    Operands(const AttentionShape& shape, const float* queries, const float* keys, const float* values)
        : q(looked_at(queries, {1, whole(shape.kv_heads), whole(shape.heads / shape.kv_heads),
                                whole(shape.head_width)})),
          k(looked_at(keys, {1, whole(shape.kv_heads), whole(shape.length), whole(shape.head_width)})),
          v(looked_at(values, {1, whole(shape.kv_heads), whole(shape.length), whole(shape.head_width)})) {}
};

Tensor fused(const Operands& o) {
#if TORCH_VERSION_MAJOR >= 2
    return at::scaled_dot_product_attention(o.q, o.k, o.v);
#else
    return std::get<0>(at::_scaled_dot_product_attention(o.q, o.k, o.v));
#endif
}

Tensor by_products(const Operands& o) {
    const double scale = 1 / std::sqrt(static_cast<double>(o.q.size(-1)));
    return torch::matmul(torch::softmax(torch::matmul(o.q * scale, o.k.transpose(-2, -1)), -1), o.v);
}

template <Tensor (*Attend)(const Operands&)>
void attend(benchmark::State& state, const AttentionShape& shape, const float* queries, const float* keys,
            const float* values) {
    const torch::InferenceMode inference;
    torch::set_num_threads(1);
    const Operands operands(shape, queries, keys, values);
    timed(state, [&] {
        benchmark::DoNotOptimize(Attend(operands).data_ptr<float>());
        return true;
    });
}

// Four linear layers and attention over what is cached; no rotation, which is left to its advantage.
template <Tensor (*Attend)(const Operands&)>
void decode(benchmark::State& state, const LayerShape& shape, const float* keys, const float* values) {
    const torch::InferenceMode inference;
    torch::set_num_threads(1);
    const std::int64_t width = whole(shape.model_width);
    static const Tensor all = torch::full({4 * 4096 * 4096}, 0.01);
    std::vector<Tensor> weights;
    for (std::int64_t which = 0; which < 4; ++which)
        weights.push_back(all.narrow(0, which * width * width, width * width).view({width, width}));
    const Tensor x = torch::full({1, width}, 0.5);
    Operands operands({shape.heads, shape.heads, shape.model_width / shape.heads, shape.length}, keys, keys,
                      values);
    timed(state, [&] {
        operands.q = torch::linear(x, weights[0]).view(operands.q.sizes());
        benchmark::DoNotOptimize(torch::linear(x, weights[1]).data_ptr<float>());
        benchmark::DoNotOptimize(torch::linear(x, weights[2]).data_ptr<float>());
        const Tensor y = torch::linear(Attend(operands).reshape({1, width}), weights[3]);
        benchmark::DoNotOptimize(y.data_ptr<float>());
        return true;
    });
}

void project(benchmark::State& state, const LayerShape& shape) {
    const torch::InferenceMode inference;
    torch::set_num_threads(1);
    const std::int64_t width = whole(shape.model_width);
    const Tensor x = torch::full({whole(shape.length), width}, 0.5);
    const Tensor weight = torch::full({width, width}, 0.01);
    timed(state, [&] {
        for (int which = 0; which < 4; ++which)
            benchmark::DoNotOptimize(torch::linear(x, weight).data_ptr<float>());
        return true;
    });
}

}  // namespace

void add_torch_attention(Company& company, const AttentionShape& shape, const float* queries,
                         const float* keys, const float* values) {
    company.members.push_back({"peer:PyTorch_fused", [=](benchmark::State& state) {
                                   attend<fused>(state, shape, queries, keys, values);
                               }});
    company.members.push_back({"peer:PyTorch_products", [=](benchmark::State& state) {
                                   attend<by_products>(state, shape, queries, keys, values);
                               }});
}

void add_torch_layer(Company& company, const LayerShape& shape, const float* keys, const float* values) {
    company.members.push_back(
        {"peer:PyTorch_fused", [=](benchmark::State& state) { decode<fused>(state, shape, keys, values); }});
    company.members.push_back({"peer:PyTorch_products", [=](benchmark::State& state) {
                                   decode<by_products>(state, shape, keys, values);
                               }});
}

void add_torch_projections(Company& company, const LayerShape& shape) {
    company.members.push_back({"peer:PyTorch", [=](benchmark::State& state) { project(state, shape); }});
}

}  // namespace attest::bench
