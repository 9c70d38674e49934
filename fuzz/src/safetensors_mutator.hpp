// Safetensors files for the reader's driver: fresh ones that are right, and repair of damaged ones.
#pragma once

#include "random.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace attest::fuzzing {

// draw_safetensors gives a small file that the format allows: any types, up to four tensors, empty and scalar
// ones, metadata.
std::vector<std::byte> draw_safetensors(Random& random);

// repair_safetensors writes the header length that fits the JSON object that stands there (its spaces
// included now and then); bytes without one stay as they are.
void repair_safetensors(std::span<std::byte> file, Random& random);

}  // namespace attest::fuzzing
