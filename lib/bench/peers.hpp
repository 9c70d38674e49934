// The same work by other libraries, where they are found.
#pragma once

#include "shapes.hpp"

namespace attest::bench {

void register_attention_peers(const AttentionShape& shape, const std::string& group);
void register_layer_peers(const LayerShape& shape, const std::string& group);
void register_prefill_peers(const LayerShape& shape, const std::string& group);

}  // namespace attest::bench
