// The same work by PyTorch. Its headers want C++17, so this says everything in plain pointers.
#pragma once

#include <string>

#include "shapes.hpp"

namespace attest::bench {

void register_torch_attention(const AttentionShape& shape, const std::string& group, const float* queries,
                              const float* keys, const float* values);
void register_torch_layer(const LayerShape& shape, const std::string& group, const float* keys,
                          const float* values);
void register_torch_projections(const LayerShape& shape, const std::string& group);

}  // namespace attest::bench
