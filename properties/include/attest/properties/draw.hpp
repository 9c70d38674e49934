// Drawing, mutating and shrinking cases, for every engine. Nothing here knows an engine, and nothing draws
// arrays: a case names fillings and seeds.
#pragma once

#include "attest/case/case.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace attest::properties {

// Where choices come from: RapidCheck's generator, a fuzzer's bytes, or SplitMix64.
class Choices {
  public:
    virtual ~Choices() = default;
    // A number in [0, n); n is at least 1. Engines that shrink do so towards 0.
    virtual std::uint64_t below(std::uint64_t n) = 0;
};

// SplitMix64 by a seed: the same choices everywhere.
class SeededChoices final : public Choices {
  public:
    explicit SeededChoices(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t n) override;

  private:
    std::uint64_t state_;
};

// draw makes a case for a law; `size` from 0 to 100 says how large it may get. It passes cases::check. Most
// are good shapes with steps that the law can use; a share has degenerate or overflowing geometry,
// non-finite numbers, overflow at some stage, or layers that do not match.
cases::Case draw(Choices& choices, std::string_view law, unsigned size);

// mutate changes a few things of a case, the law's name never. It passes cases::check afterwards.
void mutate(cases::Case& one, Choices& choices);

// shrink gives simpler cases, the most promising first: fewer steps, smaller geometry, plainer values. Each
// is strictly simpler by a measure that can't go on for ever.
std::vector<cases::Case> shrink(const cases::Case& one);

}  // namespace attest::properties
