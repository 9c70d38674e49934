#include "utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace attest::dump {

namespace {

// Length of the sequence that `lead` begins, and the range of its second byte (Unicode 15, table 3-7); 0:
// none.
struct Sequence {
    std::size_t length = 0;
    unsigned second_min = 0x80;
    unsigned second_max = 0xbf;
};

Sequence sequence_of(unsigned lead) {
    if (lead < 0x80) return {1};
    if (lead < 0xc2) return {};
    if (lead < 0xe0) return {2};
    if (lead == 0xe0) return {3, 0xa0, 0xbf};
    if (lead == 0xed) return {3, 0x80, 0x9f};
    if (lead < 0xf0) return {3};
    if (lead == 0xf0) return {4, 0x90, 0xbf};
    if (lead < 0xf4) return {4};
    if (lead == 0xf4) return {4, 0x80, 0x8f};
    return {};
}

}  // namespace

bool is_utf8(std::string_view text) {
    const auto byte = [&](std::size_t at) {
        return static_cast<unsigned>(static_cast<unsigned char>(text[at]));
    };
    for (std::size_t at = 0; at < text.size();) {
        const Sequence sequence = sequence_of(byte(at));
        if (sequence.length == 0 || sequence.length > text.size() - at) return false;
        if (sequence.length > 1 && (byte(at + 1) < sequence.second_min || byte(at + 1) > sequence.second_max))
            return false;
        for (std::size_t i = 2; i < sequence.length; ++i) {
            if (byte(at + i) >> 6 != 2) return false;
        }
        at += sequence.length;
    }
    return true;
}

}  // namespace attest::dump
