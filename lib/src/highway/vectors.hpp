// The vectors of one instruction set, and the fold of sums.hpp on several of them at once. Included by one
// source for each instruction set, through table.hpp: everything lives in that target's own namespace.
#pragma once

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../narrow.hpp"
#include "../sums.hpp"

static_assert(HWY_NATIVE_FMA || HWY_TARGET == HWY_NEON, "MulAdd must round once");

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

/// Lanes of one vector of this instruction set, a power of two and at most kLanes.
template <class T>
inline constexpr std::size_t kNative = HWY_LANES(T);

/// Vectors that hold the kLanes partial sums of one dot product.
template <class T>
inline constexpr std::size_t kParts = kLanes<T> / kNative<T>;

template <class T>
HWY_INLINE Vec<T> load(const T* p) {
    return hn::LoadU(Tag<T>(), p);
}

/// The same of narrow elements, widened: exact, so that what follows has the bits of a float store.
template <class T>
HWY_INLINE Vec<T> load(const BFloat16* p) {
    const hn::RebindToUnsigned<Tag<T>> wide;
    const hn::Rebind<std::uint16_t, Tag<T>> narrow;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(p)));
    return hn::BitCast(Tag<T>(), hn::ShiftLeft<16>(bits));
}
template <class T>
HWY_INLINE Vec<T> load(const Float16* p) {
    const hn::Rebind<std::uint16_t, Tag<T>> bits;
    const hn::Rebind<hwy::float16_t, Tag<T>> narrow;
    return hn::PromoteTo(Tag<T>(),
                         hn::BitCast(narrow, hn::LoadU(bits, reinterpret_cast<const std::uint16_t*>(p))));
}

/// Compilers must not move a load over this: beyond the caches, reading rows in any but address order halves
/// the speed.
HWY_INLINE void keep_order() {
    asm volatile("" ::: "memory");
}

/// Compilers must keep a value in a register: one that several products share would else be loaded again for
/// each, and loads are what the loops have least of.
template <class V>
HWY_INLINE void hold(V& value) {
#if HWY_ARCH_X86
    asm("" : "+v"(value.raw));
#elif HWY_ARCH_ARM_A64
    asm("" : "+w"(value.raw));
#else
    static_cast<void>(value);
#endif
}

/// Where a byte takes more instructions than elsewhere, fewer loads wait for memory at a time, too few for
/// its speed, and what is further on is asked for early: of narrow rows everywhere (measured beyond the
/// caches: a sixth less time for scores, a quarter for mixes), and where several queries share rows that come
/// from memory (a quarter less for both). One query's floats come as fast as memory gives them without, and
/// asking for what is in a cache costs a twentieth.
template <bool Shared, class S>
HWY_INLINE void fetch_ahead(const S* row, std::size_t elements, bool streamed) {
    constexpr std::size_t line = 64;
    // An address, not a pointer: it may lie beyond the rows, and is only a hint.
    const auto address = reinterpret_cast<std::uintptr_t>(row) + 2048 * sizeof(S);
    if constexpr (sizeof(S) == sizeof(std::uint16_t)) {
        streamed = true;
    } else if constexpr (!Shared) {
        streamed = false;
    }
    const std::size_t bytes = streamed ? elements * sizeof(S) : 0;
    for (std::size_t byte = 0; byte < bytes; byte += line)
        __builtin_prefetch(reinterpret_cast<const void*>(address + byte));
}

/// x held above or below a bound that is not zero; a NaN stays one. Of a number and a NaN, x86's maximum and
/// minimum are the second operand, and NEON's the number.
template <class T>
HWY_INLINE Vec<T> not_below(Vec<T> bound, Vec<T> x) {
#if HWY_ARCH_X86
    return hn::Max(bound, x);
#else
    return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
template <class T>
HWY_INLINE Vec<T> not_above(Vec<T> bound, Vec<T> x) {
#if HWY_ARCH_X86
    return hn::Min(bound, x);
#else
    return hn::IfThenElse(hn::Lt(bound, x), bound, x);
#endif
}

/// The first levels of the fold, where lanes l and l + s lie in different vectors.
template <class T, std::size_t Parts>
HWY_INLINE Vec<T> fold_parts(const Vec<T> (&parts)[Parts]) {
    if constexpr (Parts == 1) {
        return parts[0];
    } else {
        Vec<T> half[Parts / 2];
#pragma GCC unroll 8
        for (std::size_t p = 0; p < Parts / 2; ++p)
            half[p] = hn::Add(parts[p], parts[p + Parts / 2]);
        return fold_parts<T, Parts / 2>(half);
    }
}

/// One level of the fold for two sets of rows at once: in every row of either, lane l and lane l + Step are
/// added. Rows share a vector in runs of 2 · Step lanes before, of Step lanes after.
template <class T, std::size_t Step>
HWY_INLINE Vec<T> fold_pair(Vec<T> a, Vec<T> b) {
    const Tag<T> d;
    constexpr std::size_t bytes = Step * sizeof(T);
    if constexpr (2 * Step == kNative<T> && bytes >= 16) {
        return hn::Add(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
    } else if constexpr (bytes == 16) {
        const Vec<T> straight = hn::OddEvenBlocks(b, a);
        const Vec<T> crossed = hn::OddEvenBlocks(a, b);
        return hn::Add(straight, hn::SwapAdjacentBlocks(crossed));
    } else if constexpr (sizeof(T) == 4 && Step == 1) {
        const hn::Repartition<double, Tag<T>> pairs;
        const auto pa = hn::BitCast(pairs, a);
        const auto pb = hn::BitCast(pairs, b);
        return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, pa, pb)),
                       hn::BitCast(d, hn::InterleaveUpper(pairs, pa, pb)));
    } else {
        return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    }
}

/// The fold of Rows vectors, one row each: a tree whose levels are those of sums.hpp.
template <class T, std::size_t Rows>
HWY_INLINE Vec<T> fold_tree(const Vec<T>* rows) {
    if constexpr (Rows == 1) {
        return rows[0];
    } else {
        const Vec<T> low = fold_tree<T, Rows / 2>(rows);
        const Vec<T> high = fold_tree<T, Rows / 2>(rows + Rows / 2);
        return fold_pair<T, kNative<T> / Rows>(low, high);
    }
}

/// Where fold_tree leaves the sum of a row: blocks of 16 bytes are taken in turn, as the concatenation and
/// the exchange of blocks above place them; within a block rows follow each other.
template <class T>
struct FoldOrder {
    static constexpr std::size_t kBlocks = kNative<T> * sizeof(T) / 16;
    static constexpr std::size_t lane_of(std::size_t row) {
        const std::size_t turn = row % kBlocks;
        const std::size_t block = kBlocks == 4 ? (turn == 1 ? 2 : turn == 2 ? 1 : turn) : turn;
        return block * (kNative<T> / kBlocks) + row / kBlocks;
    }
};

/// What fold_tree left, in row order.
template <class T>
HWY_INLINE Vec<T> row_order(Vec<T> sums) {
    using Index = hwy::MakeSigned<T>;
    if constexpr (FoldOrder<T>::kBlocks == 1) {
        return sums;
    } else {
        alignas(64) Index lanes[kNative<T>];
#pragma GCC unroll 16
        for (std::size_t row = 0; row < kNative<T>; ++row) {
            lanes[row] = static_cast<Index>(FoldOrder<T>::lane_of(row));
        }
        return hn::TableLookupLanes(sums, hn::SetTableIndices(Tag<T>(), lanes));
    }
}

/// The sums of kNative rows, in row order.
template <class T>
HWY_INLINE Vec<T> fold_rows(const Vec<T> (&rows)[kNative<T>]) {
    return row_order<T>(fold_tree<T, kNative<T>>(rows));
}

/// The fold of one row whose partial sums lie in memory.
template <class T>
HWY_INLINE T fold_one(T (&lanes)[kLanes<T>]) {
    for (std::size_t s = kLanes<T> / 2; s > 0; s /= 2) {
        for (std::size_t l = 0; l < s; ++l)
            lanes[l] += lanes[l + s];
    }
    return lanes[0];
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
