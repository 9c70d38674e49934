// Mutation of .npy files: libFuzzer's own changes bytes, and most mutants then get a header length that fits
// again, without which every reader stops at the first check.
#include "../src/random.hpp"
#include "bytes_mutator.hpp"

#include <algorithm>

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                               unsigned seed) {
    attest::fuzzing::Random random(seed);
    bytes = LLVMFuzzerMutate(data, bytes, bytes_max);
    // Magic, version, then the length: two bytes in version 1, four from version 2 on.
    constexpr std::size_t kVersion = 6, kLength = 8;
    if (bytes <= kLength + 4 || !random.chance(3, 4)) {
        return bytes;
    }
    const std::size_t width = data[kVersion] == 1 ? 2 : 4;
    const std::uint8_t* const first = data + kLength + width;
    const std::uint8_t* const last = data + bytes;
    const std::uint8_t* const line_end = std::find(first, last, std::uint8_t{'\n'});
    std::size_t length = static_cast<std::size_t>(line_end - first) + (line_end == last ? 0 : 1);
    for (std::size_t position = 0; position < width; ++position) {
        data[kLength + position] = static_cast<std::uint8_t>(length & 0xffU);
        length >>= 8U;
    }
    return bytes;
}
