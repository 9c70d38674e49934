// Layers remade from a case's with other numbers, for laws that compare two of them.
#pragma once

#include "support.hpp"

#include <cstdint>
#include <string_view>

namespace attest::properties {

struct Remade {
    cases::Case geometry;
    std::array<Array, 4> weights;
    Array x;  // [batch, rows, D]
    std::uint64_t rows = 0;
};

// The case's own layer and its first rows.
Remade remade(const Scene& scene, std::uint64_t rows);

// add_constant_feature gives x one feature more, 1 in every row, that no weight looks at yet: column D of wq,
// wk and wv, and row D of wo, are zero.
void add_constant_feature(Remade& layer);

// pick_features replaces wo: output i is the merged feature (i + shift) mod (H·d), to the last bit.
void pick_features(Remade& layer, std::uint64_t shift);
std::uint64_t picked_feature(const Remade& layer, std::uint64_t shift, std::uint64_t output);

// run makes the layer and a cache and appends all rows one by one, each as predicted. A run that was refused,
// as it should be, has the code.
Run run(Scene& scene, const Remade& layer, Text place);

}  // namespace attest::properties
