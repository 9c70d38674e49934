// What is measured, and under which names.
#pragma once

#include <cstddef>
#include <string>

namespace attest::bench {

/// One decode step's attention over a prefix of `length` rows.
struct AttentionShape {
    std::size_t heads;
    std::size_t kv_heads;
    std::size_t head_width;
    std::size_t length;

    [[nodiscard]] std::string name() const {
        return "h" + std::to_string(heads) + "_kv" + std::to_string(kv_heads) + "_d" +
               std::to_string(head_width) + "_t" + std::to_string(length);
    }
    /// Of the keys, and as many of the values.
    [[nodiscard]] std::size_t elements() const { return kv_heads * length * head_width; }
};

/// A whole layer's decode step, or its prefill of `length` rows.
struct LayerShape {
    std::size_t model_width;
    std::size_t heads;
    std::size_t length;

    [[nodiscard]] std::string name() const {
        return "D" + std::to_string(model_width) + "_h" + std::to_string(heads) + "_t" +
               std::to_string(length);
    }
};

inline constexpr AttentionShape kAttentionShapes[] = {
    {32, 32, 64, 1024},  {32, 32, 128, 128},  {32, 32, 128, 512},  {32, 32, 128, 1024},
    {32, 32, 128, 2048}, {32, 32, 128, 4096}, {32, 32, 128, 8192}, {32, 32, 128, 16384},
    {32, 8, 64, 1024},   {32, 8, 128, 4096},  {32, 8, 128, 16384},
};
inline constexpr LayerShape kLayerShapes[] = {{512, 8, 1024}, {4096, 32, 1024}};
inline constexpr LayerShape kPrefillShapes[] = {{1024, 16, 512}};

/// The largest of the shapes above: one arena of this many floats serves keys, one values.
inline constexpr std::size_t kArenaElements = std::size_t{32} * 16384 * 128;

/// Shapes for other element types: of each kind one inside the caches, one beyond, and the longest.
inline constexpr AttentionShape kNarrowShapes[] = {
    {32, 32, 64, 1024}, {32, 32, 128, 4096}, {32, 32, 128, 16384}, {32, 8, 64, 1024}, {32, 8, 128, 16384}};
inline constexpr AttentionShape kDoubleShapes[] = {
    {32, 32, 64, 1024}, {32, 32, 128, 4096}, {32, 8, 64, 1024}};
inline constexpr LayerShape kDoubleLayerShapes[] = {{512, 8, 1024}};
/// The largest of the doubles'.
inline constexpr std::size_t kDoubleArenaElements = std::size_t{32} * 4096 * 128;

/// print_memory says what a cache takes beside what its geometry accounts for.
void print_memory();

}  // namespace attest::bench
