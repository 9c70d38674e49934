// A user's program: decodes through the cache with memory of its own, and compares with the full prefix.

#include <attest/attest.hpp>
#include <cstdio>
#include <cstring>
#include <new>

namespace {

// Derived on purpose: the library is built without RTTI, its user is not.
class CountingMemory final : public attest::Memory {
  public:
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        ++allocations;
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    }
    void deallocate(void* pointer, std::size_t, std::size_t alignment) noexcept override {
        ::operator delete(pointer, std::align_val_t(alignment));
    }
    int allocations = 0;
};

constexpr std::size_t kRows = 5;
constexpr std::size_t kWidth = 16;

bool decode_equals_full_prefix() {
    CountingMemory memory;
    attest::RotaryConfig config;
    config.width = 4;
    config.max_positions = 64;
    auto rotary = attest::Rotary<float>::make(config, memory);
    if (!rotary) return false;
    const attest::AttentionGeometry geometry{kWidth, 4, 2, 4};
    auto layer = attest::MultiHeadAttention<float>::from_seed(7, geometry, *rotary, memory);
    if (!layer) return false;
    auto cache = attest::LayerKvCache<float>::make(*layer, 1, kRows, 0, memory);
    auto rows = attest::Tensor<float>::zeros(attest::Shape{1, kRows, kWidth}, memory);
    auto decoded = attest::Tensor<float>::zeros(attest::Shape{1, kRows, kWidth}, memory);
    if (!cache || !rows || !decoded) return false;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        rows->span()[i] = static_cast<float>(i % 11) / 8.0f - 0.5f;
    }
    const auto full = layer->forward(std::as_const(*rows).view(), 0, memory);
    if (!full) return false;

    const int before = memory.allocations;
    for (std::size_t row = 0; row < kRows; ++row) {
        const auto x = std::as_const(*rows).view().slice(1, row, 1);
        const auto y = decoded->view().slice(1, row, 1);
        if (!x || !y || !layer->forward_incremental(*x, *cache, *y)) return false;
    }
    if (memory.allocations != before) return false;  // steady decode allocates nothing
    // A full cache is refused, by type.
    const auto x = std::as_const(*rows).view().slice(1, 0, 1);
    const auto y = decoded->view().slice(1, 0, 1);
    const auto refused = layer->forward_incremental(*x, *cache, *y);
    if (refused || refused.error().get_if<attest::CacheFull>() == nullptr) return false;
    return std::memcmp(full->span().data(), decoded->span().data(), full->size() * sizeof(float)) == 0;
}

}  // namespace

int main() {
    const bool same = decode_equals_full_prefix();
    std::puts(same ? "cached rows have the bits of the full prefix" : "something went wrong");
    return same ? 0 : 1;
}
