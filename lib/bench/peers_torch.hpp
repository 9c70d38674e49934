// The same work by PyTorch. Its headers want C++17, so this says everything in plain pointers.
#pragma once

#include "schedule.hpp"
#include "shapes.hpp"

namespace attest::bench {

void add_torch_attention(Company& company, const AttentionShape& shape, const float* queries,
                         const float* keys, const float* values);
void add_torch_layer(Company& company, const LayerShape& shape, const float* keys, const float* values);
void add_torch_projections(Company& company, const LayerShape& shape);

}  // namespace attest::bench
