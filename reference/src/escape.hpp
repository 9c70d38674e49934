// Text of unknown origin made fit for one line of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attest {

// escape writes every byte outside printable ASCII as \xHH and cuts after a screen line or two.
inline std::string escape(std::string_view text) {
    constexpr std::size_t kMaxBytes = 200;
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const char c : text.substr(0, kMaxBytes)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            out += c;
        } else {
            out += "\\x";
            out += kDigits[byte >> 4];
            out += kDigits[byte & 15];
        }
    }
    if (text.size() > kMaxBytes) out += "...";
    return out;
}

}  // namespace attest
