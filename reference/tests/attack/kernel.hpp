// Attention kernels as people write them, run on a Machine: what the bound must hold for.
#pragma once

#include "machine.hpp"

#include <attest/reference/problem.hpp>

#include <cstddef>
#include <vector>

namespace attest::reference::attack {

// Choices are what an Arithmetic leaves open, or what its keys say, made definite.
struct Choices {
    enum class Order : unsigned char { forward, backward, blocked, pairwise, random_tree, lanes };
    Order dots = Order::forward;
    Order positions = Order::forward;
    std::uint64_t block = 0;
    Passes::Kind passes = Passes::Kind::two_pass;
    std::uint64_t pass_size = 0;
    bool backwards = false;  // keys are walked from the last
    bool base_two = false;
    unsigned argument = 0;  // which of the ways to form exp2's argument
    Scaled scaled = Scaled::score;
    bool divided_before = false;  // weights divided before the mix
    bool reciprocal = false;      // times the reciprocal, not divided
    bool weights_before = false;  // a narrower store before the denominator
    RopeAngles angles = RopeAngles::exact;
};

// draw makes choices that `told` covers.
Choices draw(const Arithmetic& told, Random& random);

struct CoreAnswer {
    std::vector<double> y, weights;
};
CoreAnswer run(const Core& core, const Choices& choices, Machine& machine);

struct LayerAnswer {
    std::vector<double> y, keys, values, weights;
};
LayerAnswer run(const Layer& layer, const Choices& choices, Machine& machine);

}  // namespace attest::reference::attack
