// What a suspect attends over, in double: its queries, keys and values.
#pragma once

#include "diagnosis/suspect.hpp"

#include <cstddef>
#include <map>
#include <memory>
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

using Shared = std::shared_ptr<const Block>;

// Stock keeps what most suspects have in common, so that each costs only what it changes: the operands as
// told, and what a layer's weights make of its x, [batch, length, features], by weight and whether it was
// transposed.
struct Stock {
    Shared q, k, v;
    std::map<std::tuple<const double*, bool>, std::vector<double>> projections{};
};

struct Operands {
    Shared q, k, v;  // k and v with the past in front of the new ones, unless the suspect has it otherwise
};

[[nodiscard]] Operands operands_of(const Core& core, const Suspect& suspect, Stock& stock);
[[nodiscard]] Operands operands_of(const Layer& layer, const Suspect& suspect, Stock& stock);
[[nodiscard]] Block turned(const Rotary& rotary, const Turning& turning);

// flatten lays [batch, rows, heads · width] where [batch, heads, rows, width] is read: nothing is transposed.
void flatten(Block& block);

}  // namespace attest::reference::diagnosis
