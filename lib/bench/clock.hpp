// What is bound by nothing but the clock of the core it runs on.
#pragma once

#include <benchmark/benchmark.h>

#include <attest/executor.hpp>
#include <cstddef>

#include "probes.hpp"
#include "schedule.hpp"

namespace attest::bench {

/// multiply_adds_alone times `products` multiply-adds of floats, divided among `threads`.
inline void multiply_adds_alone(benchmark::State& state, std::size_t products, std::size_t threads) {
    auto pool = *ThreadPool::make(threads);
    float sums[2] = {};
    auto part = [&](std::size_t piece, std::size_t) {
        sums[piece] = multiply_adds(products / (16 * kProbeChains * threads));
    };
    timed(state, [&] {
        run_pieces(pool, threads, part);
        benchmark::DoNotOptimize(sums);
        return true;
    });
}

}  // namespace attest::bench
