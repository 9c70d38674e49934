// Mutation of cases as cases: what libFuzzer's custom mutator and cross-over do.
//
// A mutant is always text that parses, in canonical form, of the driver's law and no longer than it may be.
// Its comments are gone, as they spoke of the case it came from.
#pragma once

#include "attest/case/case.hpp"

#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attest::fuzzing {

class Mutator {
  public:
    // Every mutant carries `law` and costs at most `multiplications_max` (cost.hpp).
    Mutator(std::string law, std::uint64_t multiplications_max)
        : law_(std::move(law)), multiplications_max_(multiplications_max) {}

    // mutate gives a text of at most `bytes_max`, or nothing if even a small case does not fit. Text that is
    // no case gives a fresh one, as the laws' own generator draws it.
    std::optional<std::string> mutate(std::string_view text, std::size_t bytes_max, std::uint64_t seed) const;

    // cross gives a child of two texts.
    std::optional<std::string> cross(std::string_view left, std::string_view right, std::size_t bytes_max,
                                     std::uint64_t seed) const;

    std::uint64_t multiplications_max() const { return multiplications_max_; }

  private:
    cases::Case fresh(Random& random) const;
    cases::Case read_or_draw(std::string_view text, Random& random) const;
    std::optional<std::string> finish(cases::Case one, std::size_t bytes_max) const;

    std::string law_;
    std::uint64_t multiplications_max_;
};

// mutator_of gives the mutator that suits a law of the table: those that ask the oracle get smaller cases.
Mutator mutator_of(std::string_view law);

}  // namespace attest::fuzzing
