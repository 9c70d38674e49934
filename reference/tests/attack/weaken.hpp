// Each constant and each term of the bound weakened in turn: does the attack miss it?
#pragma once

#include "bound/weaken.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attest::reference::attack {

struct NamedTerm {
    Term term;
    std::string_view name;
    std::string_view section;  // of PROOF.md
    bool counted;              // one less when weakened, not a part of itself
};

// all_terms gives every enumerator of Term, in its order.
[[nodiscard]] std::span<const NamedTerm> all_terms() noexcept;

// Missed says how the attack fared against one weakened term.
struct Missed {
    bool caught = false;
    double factor = 0;         // the largest that was caught; of a count, 0 stands for one less
    std::uint64_t climbs = 0;  // what it took, or took in vain
    double best = 0;           // the largest error / weakened bound seen
    std::string violation;     // the first, and its setup
};

// weaken_and_attack climbs on error / weakened bound, from draws in which the term matters most.
[[nodiscard]] Missed weaken_and_attack(const NamedTerm& named, std::uint64_t seed, std::uint64_t climbs);

}  // namespace attest::reference::attack
