// The recurrence behind rotary tables, for a few pairs at once.
#pragma once

#include <cstddef>

namespace attest::detail {

/// Pairs that advance side by side: one vector of doubles.
inline constexpr std::size_t kPairChunk = 8;

/// A chunk of cosines and sines in double-double.
struct PairRotations {
    double cosine_high[kPairChunk];
    double cosine_low[kPairChunk];
    double sine_high[kPairChunk];
    double sine_low[kPairChunk];
};

/// `rows` consecutive positions of the first `pairs` columns of a chunk. Where pairs < kPairChunk the other
/// lanes hold some finite rotation and are not written.
struct RotationBlock {
    PairRotations first;  ///< the first row's rotation
    PairRotations step;   ///< from a row to the next
    std::size_t rows;
    std::size_t pairs;
};

}  // namespace attest::detail
