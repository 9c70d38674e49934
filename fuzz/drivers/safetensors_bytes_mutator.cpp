// Mutation of safetensors files: libFuzzer's own changes bytes, and most mutants then get a header length
// that fits again, without which every reader stops at the first check.
#include "../src/safetensors_mutator.hpp"
#include "bytes_mutator.hpp"

#include <algorithm>

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                               unsigned seed) {
    attest::fuzzing::Random random(seed);
    if (random.chance(1, 32)) {
        const auto drawn = attest::fuzzing::draw_safetensors(random);
        if (drawn.size() <= bytes_max) {
            std::ranges::transform(drawn, data, [](std::byte one) { return static_cast<std::uint8_t>(one); });
            bytes = drawn.size();
        }
    }
    bytes = LLVMFuzzerMutate(data, bytes, bytes_max);
    if (random.chance(3, 4)) {
        attest::fuzzing::repair_safetensors(std::as_writable_bytes(std::span(data, bytes)), random);
    }
    return bytes;
}
