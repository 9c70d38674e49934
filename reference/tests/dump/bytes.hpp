// Files written byte by byte for the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest::dump::testing {

inline std::vector<std::byte> to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// 8 bytes of length, the header, `data` zero bytes.
inline std::vector<std::byte> safetensors(std::string_view header, std::size_t data = 0) {
    std::string out;
    for (int shift = 0; shift < 64; shift += 8)
        out += static_cast<char>((std::uint64_t{header.size()} >> shift) & 0xff);
    out += header;
    out.append(data, '\0');
    return to_bytes(out);
}

// SplitMix64, written for the tests alone.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  private:
    std::uint64_t state_;
};

}  // namespace attest::dump::testing
