// Random cases and mutated bytes for the tests of the two readers.
#pragma once

#include <attest/case/case.hpp>

#include <cstdint>
#include <string>

namespace attest::cases::testing {

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

// random_case draws every field, counts at both ends of their range included; it passes check.
Case random_case(Random& random);

// mutate edits a text a few times: bits, bytes, lines and numbers.
std::string mutate(std::string text, Random& random);

}  // namespace attest::cases::testing
