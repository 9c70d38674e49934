// What a suspect attends over, in double: its queries, keys and values.
#pragma once

#include "diagnosis/suspect.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace attest::reference::diagnosis {

// Block holds one vector of `width` features for every batch, head and row.
struct Block {
    std::size_t batch = 0, heads = 0, rows = 0, width = 0;
    std::vector<double> data{};

    double* at(std::size_t b, std::size_t h, std::size_t r) {
        return data.data() + ((b * heads + h) * rows + r) * width;
    }
    const double* at(std::size_t b, std::size_t h, std::size_t r) const {
        return data.data() + ((b * heads + h) * rows + r) * width;
    }
};

// Projections keeps what a layer's weights make of its x, since most suspects project alike: [batch, length,
// features], by weight and whether it was transposed.
using Projections = std::map<std::tuple<const double*, bool>, std::vector<double>>;

struct Operands {
    Block q, k, v;  // k and v with the past in front of the new ones, unless the suspect has it otherwise
};

[[nodiscard]] Operands operands_of(const Core& core, const Suspect& suspect);
[[nodiscard]] Operands operands_of(const Layer& layer, const Suspect& suspect, Projections& cache);
[[nodiscard]] Block turned(const Rotary& rotary, const Turning& turning);

// dot gives Σ a·b in four lanes.
[[nodiscard]] double dot(const double* a, const double* b, std::size_t count);

}  // namespace attest::reference::diagnosis
