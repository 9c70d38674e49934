#include <benchmark/benchmark.h>

#include "arena.hpp"
#include "schedule.hpp"
#if ATTEST_TORCH
#include "peers_torch.hpp"
#endif

#if ATTEST_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

extern "C" void openblas_set_num_threads(int threads);
#endif

namespace attest::bench {

#if ATTEST_OPENBLAS
namespace {

// Softmax as one writes it beside a BLAS: the compiler's loops and the C library's exponential.
void soften(float* scores, std::size_t count) {
    const float largest = *std::max_element(scores, scores + count);
    float sum = 0;
    for (std::size_t j = 0; j < count; ++j) {
        scores[j] = std::exp(scores[j] - largest);
        sum += scores[j];
    }
    for (std::size_t j = 0; j < count; ++j)
        scores[j] /= sum;
}

void blas_attend(const float* q, const float* keys, const float* values, float* out, float* scores,
                 const AttentionShape& shape) {
    const int width = static_cast<int>(shape.head_width);
    const int length = static_cast<int>(shape.length);
    const std::size_t group = shape.heads / shape.kv_heads;
    const float scale = 1.0F / std::sqrt(static_cast<float>(width));
    for (std::size_t lane = 0; lane < shape.kv_heads; ++lane) {
        const float* const k = keys + lane * shape.length * shape.head_width;
        const float* const v = values + lane * shape.length * shape.head_width;
        const float* const some_q = q + lane * group * shape.head_width;
        float* const some_out = out + lane * group * shape.head_width;
        if (group == 1) {
            cblas_sgemv(CblasRowMajor, CblasNoTrans, length, width, scale, k, width, some_q, 1, 0, scores, 1);
            soften(scores, shape.length);
            cblas_sgemv(CblasRowMajor, CblasTrans, length, width, 1, v, width, scores, 1, 0, some_out, 1);
        } else {
            const int members = static_cast<int>(group);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, members, length, width, scale, some_q, width,
                        k, width, 0, scores, length);
            for (std::size_t g = 0; g < group; ++g)
                soften(scores + g * shape.length, shape.length);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, members, width, length, 1, scores, length,
                        v, width, 0, some_out, width);
        }
    }
}

void attend(benchmark::State& state, const AttentionShape& shape) {
    openblas_set_num_threads(1);
    Arena<float>& arena = Arena<float>::get();
    std::vector<float> out(shape.heads * shape.head_width);
    std::vector<float> scores(shape.heads * shape.length);
    timed(state, [&] {
        blas_attend(arena.queries.data(), arena.keys.data(), arena.values.data(), out.data(), scores.data(),
                    shape);
        benchmark::DoNotOptimize(out.data());
        return true;
    });
}

void decode(benchmark::State& state, const LayerShape& shape) {
    openblas_set_num_threads(1);
    Arena<float>& arena = Arena<float>::get();
    const std::size_t width = shape.model_width;
    const int n = static_cast<int>(width);
    static std::vector<float> weights(4 * 4096 * 4096, 0.01F);
    std::vector<float> x(width, 0.5F);
    std::vector<float> rows[4] = {x, x, x, x};
    std::vector<float> scores(shape.length);
    const AttentionShape attention{shape.heads, shape.heads, width / shape.heads, shape.length};
    timed(state, [&] {
        for (std::size_t which = 0; which < 3; ++which) {
            cblas_sgemv(CblasRowMajor, CblasNoTrans, n, n, 1, weights.data() + which * width * width, n,
                        x.data(), 1, 0, rows[which].data(), 1);
        }
        blas_attend(rows[0].data(), arena.keys.data(), arena.values.data(), rows[3].data(), scores.data(),
                    attention);
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, n, 1, weights.data() + 3 * width * width, n,
                    rows[3].data(), 1, 0, rows[0].data(), 1);
        benchmark::DoNotOptimize(rows[0].data());
        return true;
    });
}

void project(benchmark::State& state, const LayerShape& shape) {
    openblas_set_num_threads(1);
    const std::size_t width = shape.model_width;
    const int n = static_cast<int>(width);
    const int rows = static_cast<int>(shape.length);
    const std::vector<float> weights(4 * width * width, 0.01F);
    const std::vector<float> x(shape.length * width, 0.5F);
    std::vector<float> y(shape.length * width);
    timed(state, [&] {
        for (std::size_t which = 0; which < 4; ++which) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, n, n, 1, x.data(), n,
                        weights.data() + which * width * width, n, 0, y.data(), n);
        }
        benchmark::DoNotOptimize(y.data());
        return true;
    });
}

}  // namespace

#endif

void add_attention_peers(Company& company, const AttentionShape& shape) {
    static_cast<void>(company);
    static_cast<void>(shape);
#if ATTEST_OPENBLAS
    company.members.push_back({"peer:OpenBLAS", [=](benchmark::State& state) { attend(state, shape); }});
#endif
#if ATTEST_TORCH
    const Arena<float>& arena = Arena<float>::get();
    add_torch_attention(company, shape, arena.queries.data(), arena.keys.data(), arena.values.data());
#endif
}

void add_layer_peers(Company& company, const LayerShape& shape) {
    static_cast<void>(company);
    static_cast<void>(shape);
#if ATTEST_OPENBLAS
    company.members.push_back({"peer:OpenBLAS", [=](benchmark::State& state) { decode(state, shape); }});
#endif
#if ATTEST_TORCH
    const Arena<float>& arena = Arena<float>::get();
    add_torch_layer(company, shape, arena.keys.data(), arena.values.data());
#endif
}

void add_prefill_peers(Company& company, const LayerShape& shape) {
    static_cast<void>(company);
    static_cast<void>(shape);
#if ATTEST_OPENBLAS
    company.members.push_back({"peer:OpenBLAS", [=](benchmark::State& state) { project(state, shape); }});
#endif
#if ATTEST_TORCH
    add_torch_projections(company, shape);
#endif
}

}  // namespace attest::bench
