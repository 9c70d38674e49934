// Decoding with a cache: five rows, each computed from the row before and the rows the cache kept. README.md
// shows the same lines, and a test compares them.
#include <attest/attest.hpp>

#include <array>
#include <cstdio>

int main() {
    auto rotary = attest::Rotary<float>::make({.width = 8, .max_positions = 512});
    auto layer = attest::MultiHeadAttention<float>::from_seed(
        7, {.model_width = 32, .heads = 4, .kv_heads = 2, .head_width = 8}, *rotary);
    auto cache = attest::LayerKvCache<float>::make(*layer, /*batch_size=*/1, /*capacity=*/512);
    std::array<float, 32> row{1.0F, -0.5F};
    auto view = attest::TensorView<float>::over(row, {1, 1, 32});
    for (int token = 0; token < 5; ++token) {
        if (auto done = layer->forward_incremental(*view, *cache, *view); !done) {
            return std::puts(attest::describe(done.error()).c_str()), 1;
        }
        std::printf("%zu rows, y[0] = %.9g\n", cache->length(), static_cast<double>(row[0]));
    }
}
