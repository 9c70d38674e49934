// The numbers of a case: every tensor filled, then overridden by `set`.
//
// All values come from SplitMix64 by position (element i does not depend on how many are drawn) and from
// whole-number and single IEEE operations: no std distribution and no libm. Every value is exact in the
// case's type; a double case draws 53 significant bits, a float case the same numbers cut to 24.
// reference/CASES.md defines each filling.
#pragma once

#include <attest/case/case.hpp>
#include <attest/case/error.hpp>

#include <array>
#include <cstdint>
#include <expected>
#include <vector>

namespace attest::cases {

// Shape of a tensor, slowest dimension first. x has rank 3, everything else rank 2.
struct Shape {
    std::array<std::uint64_t, 3> sizes = {};
    unsigned rank = 0;
    std::uint64_t elements = 0;
};

// shape_of gives x [B, T, D] with T = rows_needed, wq [H·d, D], wk and wv [Hkv·d, D], wo [D, H·d]; gradient
// and update have the shape of the weight `of`. Errors: ShapeOverflow.
std::expected<Shape, Error> shape_of(const Case& one, Tensor tensor, Tensor of = Tensor::wq);

// fill gives a whole tensor in order of its shape. `ordinal` tells one update or gradient of a case from the
// next (0 for the first such step): each draws anew.
//
// Errors, in this order: TypeMismatch (fill<float> of a double case; fill<double> of a float case widens, NaN
// payloads included), ShapeOverflow, TooManyElements, IndexOutOfRange (a set that check would refuse).
template <typename T>
std::expected<std::vector<T>, Error> fill(const Case& one, Tensor tensor, Tensor of = Tensor::wq,
                                          std::uint64_t ordinal = 0);

// element gives one element of the filling alone, by its flat index, without what `set` overrides. The shape
// must not overflow.
double element(const Case& one, Tensor tensor, Tensor of, std::uint64_t ordinal, std::uint64_t index);

}  // namespace attest::cases
