// The pieces that draw and mutate share.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/draw.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attest::properties::detail {

template <class T>
T pick(Choices& choices, std::span<const T> from) {
    return from[static_cast<std::size_t>(choices.below(from.size()))];
}

template <class T, std::size_t n>
T pick(Choices& choices, const T (&from)[n]) {
    return from[static_cast<std::size_t>(choices.below(n))];
}

// True once in n.
inline bool once_in(Choices& choices, std::uint64_t n) {
    return choices.below(n) == n - 1;
}

// What a law wants to see beyond what every law can use.
struct Wish {
    bool steps = false;    // its verdict depends on the list of steps, not only on how many rows they offer
    bool grouped = false;  // fewer key/value heads than heads
    bool turned = false;   // a rope of width 2 at least, and room to shift
    bool clean = false;    // numbers that leave the finite ones only hide what it tests
    bool tickets = false;  // prepare and commit more often
    bool history = false;  // several caches and batches, many steps
    bool heads = false;    // more than one head
    bool copies = false;
    bool failures = false;    // failing allocations
    bool spare_slot = false;  // a capacity beyond the rows
    bool spread = false;      // prefixes so long that their blocks are shared among workers
    bool oracle = false;      // small, since the oracle is slow
};
Wish wish_of(std::string_view law);

// Geometry, rope and capacity for `rows` rows and a little more or less.
void draw_geometry(cases::Case& one, Choices& choices, const Wish& wish, unsigned size);
// One count that can't be, or that nobody can allocate.
void spoil_geometry(cases::Case& one, Choices& choices);
void draw_values(cases::Case& one, Choices& choices, const Wish& wish);
// One element overridden by a number that is special.
void add_special_set(cases::Case& one, Choices& choices);
// Hides an overflow behind a weight that is nothing.
void hide_overflow(cases::Case& one, Choices& choices);
void draw_steps(cases::Case& one, Choices& choices, const Wish& wish, unsigned size);
cases::Step draw_step(const cases::Case& one, Choices& choices, const Wish& wish);

}  // namespace attest::properties::detail
