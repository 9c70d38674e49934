// One element of each filling, as a pattern of a double.
#pragma once

#include <attest/case/case.hpp>

#include <cstdint>

namespace attest::cases {

// The numbers that one tensor draws, and the geometry a filling may ask for.
struct Source {
    ElementType type = ElementType::float64;
    Filling filling = Filling::normal;
    std::uint64_t stream = 0;
    bool is_x = false;
    std::uint64_t fans = 0;  // fan in + fan out
    std::uint64_t rows = 0;  // x: T
    std::uint64_t columns = 0;
};

// Where an element is. `draw` is its number among the tensor's draws: row · columns + column for a weight,
// (row · B + batch) · D + column for x, so that a further row leaves the earlier ones as they were.
struct Place {
    std::uint64_t batch = 0;
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    std::uint64_t draw = 0;
};

double value_of(const Source& source, const Place& place);

// stream_of tells the draws of one tensor from those of any other.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t tag, std::uint64_t ordinal);

}  // namespace attest::cases
