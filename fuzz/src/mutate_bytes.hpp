// Mutation of raw bytes for the readers: the engine's own, and what keeps a mutant from ending in the
// reader's first check.
#pragma once

#include "target.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attest::fuzzing {

using EditBytes = std::size_t (*)(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                  std::uint64_t seed, MutateBytes engine);

// edit_case_bytes changes bytes, now and then as a case, so that texts are also damaged deep inside.
std::size_t edit_case_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                            MutateBytes engine);

// edit_safetensors_bytes and edit_npy_bytes change bytes and mostly give the header a length that fits again.
std::size_t edit_safetensors_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                   std::uint64_t seed, MutateBytes engine);
std::size_t edit_npy_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                           MutateBytes engine);

// Null for a reader without an edit of its own.
EditBytes find_edit_of_bytes(std::string_view reader);

}  // namespace attest::fuzzing
