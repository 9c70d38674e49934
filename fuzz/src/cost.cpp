#include "cost.hpp"

#include "attest/case/rows.hpp"
#include "attest/case/values.hpp"
#include "attest/properties/predict.hpp"

#include <array>
#include <limits>

namespace attest::fuzzing {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
// A quarter of a megabyte of doubles: larger storage costs page faults and shows nothing new.
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 15;
// Far positions need long tables: 2^17 positions of a rotary width of four.
constexpr std::uint64_t kTableElementsMax = std::uint64_t{1} << 20;

std::uint64_t plus(std::uint64_t left, std::uint64_t right) {
    return left > kMost - right ? kMost : left + right;
}

std::uint64_t times(std::uint64_t left, std::uint64_t right) {
    if (left == 0 || right == 0) {
        return 0;
    }
    return left > kMost / right ? kMost : left * right;
}

// Elements of a tensor; kMost where nobody may allocate it.
std::uint64_t elements_of(const cases::Case& one, cases::Tensor tensor) {
    const auto shape = cases::shape_of(one, tensor);
    return shape && shape->elements <= cases::kMaxElements ? shape->elements : kMost;
}

// Elements of a buffer that the library makes; none where nobody gets that much memory. A limit of its own:
// narrow storage holds twice as many elements as what is filled.
std::uint64_t made(std::uint64_t elements, std::uint64_t bytes_each) {
    return times(elements, bytes_each) <= properties::kAllocationLimit ? elements : 0;
}

}  // namespace

Cost cost_of(const cases::Case& one) {
    static constexpr std::array<cases::Tensor, 4> kWeights = {cases::Tensor::wq, cases::Tensor::wk,
                                                              cases::Tensor::wv, cases::Tensor::wo};
    Cost cost;
    std::uint64_t weights = 0;
    for (const cases::Tensor weight : kWeights) {
        weights = plus(weights, elements_of(one, weight));
    }
    const std::uint64_t rows = cases::rows_needed(one);
    const std::uint64_t x = elements_of(one, cases::Tensor::x);
    const std::uint64_t bytes = one.type == cases::ElementType::float32 ? 4 : 8;
    const std::uint64_t stored = one.storage == cases::KvStorage::computing ? bytes : 2;
    const std::uint64_t keys = times(times(one.batch, one.kv_heads), times(one.capacity, one.head_width));
    const std::uint64_t cosines = times(one.rope.positions, one.rope.width / 2);
    cost.table_elements = times(2, made(cosines, bytes));
    cost.elements = times(2, made(keys, stored));
    for (const std::uint64_t part : {weights, x}) {
        if (part <= cases::kMaxElements) {
            cost.elements = plus(cost.elements, part);
        }
    }
    if (weights > cases::kMaxElements || x > cases::kMaxElements) {
        return cost;
    }
    // Steps that make or replace weights cost about as much as filling them; every row is projected and meets
    // its whole prefix.
    cost.multiplications = times(weights, one.steps.size() + 1);
    const std::uint64_t prefix = rows < one.capacity ? rows : one.capacity;
    const std::uint64_t meetings = times(times(2, times(one.heads, one.head_width)), prefix);
    cost.multiplications = plus(cost.multiplications, times(times(one.batch, rows), plus(weights, meetings)));
    return cost;
}

bool usual(const cases::Case& one, const Budget& budget) {
    // An entry of a table costs about as much as four multiplications under a sanitizer.
    const Cost cost = cost_of(one);
    return plus(cost.multiplications, times(4, cost.table_elements)) <= budget.usual;
}

bool affordable(const cases::Case& one, const Budget& budget) {
    const Cost cost = cost_of(one);
    return cost.elements <= kElementsMax && cost.table_elements <= kTableElementsMax &&
           cost.multiplications <= budget.multiplications && one.steps.size() <= budget.steps;
}

}  // namespace attest::fuzzing
