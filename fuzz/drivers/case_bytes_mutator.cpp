// Mutation of raw case text: mostly libFuzzer's own, now and then as a case, so that bytes are also damaged
// deep inside texts that parse.
#include "../src/mutate.hpp"
#include "bytes_mutator.hpp"

#include <cstring>

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                               unsigned seed) {
    attest::fuzzing::Random random(seed);
    if (random.chance(1, 4)) {
        static const auto mutator = attest::fuzzing::mutator_of("print_then_parse_is_identity");
        const std::string_view text(reinterpret_cast<const char*>(data), bytes);
        if (const auto child = mutator.mutate(text, bytes_max, random.next())) {
            std::memcpy(data, child->data(), child->size());
            bytes = child->size();
        }
        if (random.chance(1, 2)) {
            return bytes;
        }
    }
    return LLVMFuzzerMutate(data, bytes, bytes_max);
}
