// Draws for the attack: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// 2014), and every distribution made from its bits here, so that a seed means the same trial under every
// library.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace attest::reference::attack {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t count) { return bits() % count; }
    bool chance(std::uint64_t in) { return below(in) == 0; }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
    double sign() { return chance(2) ? -1.0 : 1.0; }
    // Nearly normal: twelve uniforms, mean 0, variance 1.
    double normal() {
        double sum = -6;
        for (int n = 0; n < 12; ++n)
            sum += uniform();
        return sum;
    }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[below(choices.size())];
    }

  private:
    std::uint64_t state_;
};

}  // namespace attest::reference::attack
