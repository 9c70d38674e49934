// The order of every sum in the library: this comment is the one place that fixes it.
//
// L = kLanes<T> lanes, one 512-bit vector: 16 for float, 8 for double. fma rounds once.
//
// 1. dot(a, b, n), used for projections and scores.
//        acc[0..L) = +0;   for i = 0 .. n − 1:  acc[i mod L] = fma(a[i], b[i], acc[i mod L]);
//        for s = L/2, L/4, .. 1:  acc[l] = acc[l] + acc[l + s] for all l < s;   the result is acc[0].
//    Height h(n) = ceil(n/L) − 1 + ceil(log2(min(n, L))), 0 for n ≤ 1. Proof. A lane takes at most
//    ceil(n/L) products. Its first fma adds to +0, so it only rounds the product; each later one is an
//    addition, in which the product's own rounding is merged: ceil(n/L) − 1 additions. With m = min(n, L),
//    lanes m .. L − 1 hold +0, and adding +0 changes no value, so of the fold's levels only those with s < m
//    count: as many as there are powers of two below m, ceil(log2 m). A product passes h(n) additions and
//    one rounding of its own at most, h(n) + 1 roundings in all.
//
// 2. Sums over positions j = 0 .. S − 1, for the softmax's denominator Σ w_j and the mix Σ w_j v_jf, each
//    feature f by itself. Blocks of kBlock = 64 by logical index j, so that neither chunk, capacity, nor the
//    boundary between retained and candidate rows shows. Inside a block, from +0, in order:
//        acc = acc + w_j      or      acc = fma(w_j, v_jf, acc).
//    Then blocks are folded pairwise by index, (0,1) (2,3) .., level by level; a last odd block moves up
//    unpaired. A binary counter does the same while it streams: after block b its partial sum is added to
//    the one before as often as b + 1 divides by two; at the end the partial sums left are added from the
//    last to the first.
//    Height h(S) = min(S, 64) − 1 + ceil(log2(ceil(S/64))). Proof. The first term of a block is added to +0,
//    exactly; the other min(S, 64) − 1 additions at most lie on its way, the fold halves the number of
//    blocks, rounded up, at each of ceil(log2(ceil(S/64))) levels. The mix rounds a product h(S) + 1 times
//    at most, as above.
//
// 3. The maximum of scores is exact and has no order; a zero maximum is +0.
#pragma once

#include <bit>
#include <cstddef>

namespace attest::detail {

/// The partial sums of a dot product.
template <class T>
inline constexpr std::size_t kLanes = 64 / sizeof(T);

/// The positions of one block.
inline constexpr std::size_t kBlock = 64;

constexpr std::size_t block_count(std::size_t positions) {
    return positions / kBlock + (positions % kBlock != 0 ? 1 : 0);
}

constexpr std::size_t ceil_log2(std::size_t n) {
    return n <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(n - 1));
}

/// h(n) of a dot product: additions over a product.
template <class T>
constexpr std::size_t dot_height(std::size_t n) {
    constexpr std::size_t lanes = kLanes<T>;
    if (n <= 1) return 0;
    return n / lanes + (n % lanes != 0 ? 1 : 0) - 1 + ceil_log2(n < lanes ? n : lanes);
}

/// h(S) of a sum over positions.
constexpr std::size_t sum_height(std::size_t positions) {
    if (positions <= 1) return 0;
    return (positions < kBlock ? positions : kBlock) - 1 + ceil_log2(block_count(positions));
}

/// Rows of partial sums that a mix over `positions` positions holds at once. Before block b is added there
/// are popcount(b) partial sums, and b + 1 blocks at most, so popcount(b) + 1 ≤ bit_width(b + 1).
constexpr std::size_t mix_scratch_rows(std::size_t positions) {
    const std::size_t rows = static_cast<std::size_t>(std::bit_width(block_count(positions)));
    return rows == 0 ? 1 : rows;
}

/// Elements of scratch for a mix of `width` features: at most 59 · width, whatever `positions`.
constexpr std::size_t mix_scratch_elements(std::size_t positions, std::size_t width) {
    return mix_scratch_rows(positions) * width;
}

}  // namespace attest::detail
