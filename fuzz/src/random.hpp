// The mutators' source of choices: SplitMix64, seeded by libFuzzer, so that one seed means one mutation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace attest::fuzzing {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // next gives 64 uniform bits (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
    // generators", figure 16).
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }

    // below gives a number less than `count`; count must not be 0. The bias of the remainder is far below
    // what a mutator could notice.
    std::uint64_t below(std::uint64_t count) { return next() % count; }

    std::size_t position(std::size_t count) { return static_cast<std::size_t>(below(count)); }

    // between gives a number from `low` to `high`, both included.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }

    // chance is true in `hits` of `trials`.
    bool chance(std::uint64_t hits, std::uint64_t trials) { return below(trials) < hits; }

    template <typename T, std::size_t N>
    const T& pick(const std::array<T, N>& from) {
        return from[position(N)];
    }

  private:
    std::uint64_t state_;
};

}  // namespace attest::fuzzing
