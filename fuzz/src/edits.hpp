// Single edits of a case. Each changes one thing and leaves what parse would refuse to normalise.
#pragma once

#include "attest/case/case.hpp"

#include "random.hpp"

namespace attest::fuzzing {

// Geometry: the type, the storage, one count, several counts kept in their relations, the rotary
// configuration.
void edit_type(Random& random, cases::Case& one);
void edit_storage(Random& random, cases::Case& one);
void edit_count(Random& random, cases::Case& one);
void edit_heads(Random& random, cases::Case& one);
void edit_rope(Random& random, cases::Case& one);
void edit_capacity(Random& random, cases::Case& one);

// repair_geometry makes a layer and a cache that can be made: the relations between counts that a random edit
// breaks, so that not every mutant ends in the first refusal.
void repair_geometry(Random& random, cases::Case& one);

// Numbers: how tensors are filled, single elements.
void edit_values(Random& random, cases::Case& one);
void edit_fill(Random& random, cases::Case& one);
void edit_set(Random& random, cases::Case& one);

// Steps: the list, one step, its shape words, a prefill cut in two or appends joined.
void insert_step(Random& random, cases::Case& one);
void remove_steps(Random& random, cases::Case& one);
void duplicate_steps(Random& random, cases::Case& one);
void swap_steps(Random& random, cases::Case& one);
void edit_step(Random& random, cases::Case& one);
void edit_words(Random& random, cases::Case& one);
void edit_chunks(Random& random, cases::Case& one);

// cross_steps puts a stretch of the other's steps in place of one of its own.
void cross_steps(Random& random, cases::Case& one, const cases::Case& other);

}  // namespace attest::fuzzing
