// Random bits for tests that need no more than bits.
#pragma once

#include <cstdint>

namespace attest::drawing {

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
    bool coin() { return (next() >> 63) != 0; }

  private:
    std::uint64_t state_;
};

}  // namespace attest::drawing
