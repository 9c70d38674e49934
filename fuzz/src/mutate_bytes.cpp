#include "mutate_bytes.hpp"

#include "attest/case/parse.hpp"

#include "mutate.hpp"
#include "safetensors_mutator.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace attest::fuzzing {

std::size_t edit_case_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                            MutateBytes engine) {
    Random random(seed);
    if (random.chance(1, 4)) {
        static const auto mutator = mutator_of("print_then_parse_is_identity");
        const std::string_view text(reinterpret_cast<const char*>(data), bytes);
        const auto one = cases::parse(text);
        if (const auto child = mutator.mutate(one ? &*one : nullptr, bytes_max, random.next())) {
            std::memcpy(data, child->text.data(), child->text.size());
            bytes = child->text.size();
        }
        if (random.chance(1, 2)) {
            return bytes;
        }
    }
    return engine(data, bytes, bytes_max);
}

std::size_t edit_safetensors_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                   std::uint64_t seed, MutateBytes engine) {
    Random random(seed);
    if (random.chance(1, 32)) {
        const auto drawn = draw_safetensors(random);
        if (drawn.size() <= bytes_max) {
            std::memcpy(data, drawn.data(), drawn.size());
            bytes = drawn.size();
        }
    }
    bytes = engine(data, bytes, bytes_max);
    if (random.chance(3, 4)) {
        repair_safetensors(std::as_writable_bytes(std::span(data, bytes)), random);
    }
    return bytes;
}

std::size_t edit_npy_bytes(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                           MutateBytes engine) {
    Random random(seed);
    bytes = engine(data, bytes, bytes_max);
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

EditBytes find_edit_of_bytes(std::string_view reader) {
    if (reader == "case_bytes") {
        return edit_case_bytes;
    }
    if (reader == "safetensors_bytes") {
        return edit_safetensors_bytes;
    }
    return reader == "npy_bytes" ? edit_npy_bytes : nullptr;
}

}  // namespace attest::fuzzing
