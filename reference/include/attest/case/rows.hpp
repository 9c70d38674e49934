// Which rows of x the steps take, by the text of the case alone.
//
// A cursor starts at row 0 of x [B, T, D]. append and prepare offer the row at the cursor, prefill N the N
// rows from it. A step that expects a refusal, or whose shape words make it malformed, leaves the cursor
// where it is, so that the next good append is the corrected retry with the same row; every other one moves
// it past the rows it offered, whatever the library says. `skip N` moves it on, `rewind N` back. The cursor
// is one for all caches.
#pragma once

#include <attest/case/case.hpp>

#include <cstdint>
#include <vector>

namespace attest::cases {

// well_formed tells whether the call has the shape that the layer wants: no shape word, or words that change
// nothing.
bool well_formed(const Case& one, const Step& step);

// rows_offered counts the rows of x that a step reads: a malformed call reads one, to be repeated into its
// shape.
std::uint64_t rows_offered(const Step& step);

// rows_consumed counts by how much a step moves the cursor (skip included, rewind not).
std::uint64_t rows_consumed(const Case& one, const Step& step);

// rows_needed is T: the smallest number of rows that covers everything offered. Saturates at 2^64 − 1.
std::uint64_t rows_needed(const Case& one);

// row_cursors gives the cursor before each step. Saturates like rows_needed.
std::vector<std::uint64_t> row_cursors(const Case& one);

// variant_of gives the case whose geometry `layer VARIANT` means; fillings, seeds and steps stay. A count at
// its maximum goes down where it would go up, so that the variant always differs.
//   original, rebuilt  no change (rebuilt: same values, a new identity)
//   wider              width + 1, head_width as it was
//   heads              heads + kv_heads, so that kv_heads still divides
//   kv_heads           1 where kv_heads is not 1, else heads; for a single head: two heads over two
//   head_width         head_width + 1
//   rope_base          base + 1 where that differs, else base / 2; 1 for what is not finite
//   rope_width         width − 2 where it is at least 2, else 2
//   rope_pairs         the other convention
//   positions          positions + 1
Case variant_of(const Case& one, Variant variant);

}  // namespace attest::cases
