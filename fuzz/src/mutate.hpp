// Mutation of cases as cases: what libFuzzer's custom mutator and cross-over do.
//
// A mutant is always text that parses, in canonical form, of the driver's law and no longer than it may be.
// Its comments are gone, as they spoke of the case it came from.
#pragma once

#include "attest/case/case.hpp"

#include "cost.hpp"
#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::fuzzing {

// A case and its text, which parses to it.
struct Mutant {
    std::string text;
    cases::Case one;
};

class Mutator {
  public:
    // Every mutant carries one of `laws`, its parent's where that is one of them, and is within `budget`.
    Mutator(std::vector<std::string> laws, const Budget& budget) : laws_(std::move(laws)), budget_(budget) {}

    // mutate gives a child whose text has at most `bytes_max`, or nothing if even a small case does not fit.
    // A parent that is no case, null, has fresh ones, as the laws' own generator draws them.
    std::optional<Mutant> mutate(const cases::Case* parent, std::size_t bytes_max, std::uint64_t seed) const;

    // cross gives a child of two.
    std::optional<Mutant> cross(const cases::Case* left, const cases::Case* right, std::size_t bytes_max,
                                std::uint64_t seed) const;

    const Budget& budget() const { return budget_; }
    bool knows(std::string_view law) const;

  private:
    cases::Case fresh(Random& random) const;
    void edit(Random& random, cases::Case& one) const;
    std::optional<Mutant> finish(Random& random, cases::Case one, std::size_t bytes_max) const;

    std::vector<std::string> laws_;
    Budget budget_;
};

// mutator_of gives the mutator that suits a law of the table: those that ask the oracle get smaller cases.
Mutator mutator_of(std::string_view law);

// session_mutator makes long lists of steps, for the laws that look at every step.
Mutator session_mutator();

}  // namespace attest::fuzzing
