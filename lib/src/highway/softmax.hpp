// What happens to a row of scores: its maximum, the exponentials, their sum in blocks.
#pragma once

#include "../exponential.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Whether every value is finite: x · 0 is NaN for all others, and a NaN stays.
template <class T>
bool all_finite(const T* values, std::size_t n) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    const Vec<T> zero = hn::Zero(d);
    Vec<T> seen[4] = {zero, zero, zero, zero};
    std::size_t i = 0;
    for (; n - i >= 4 * lanes; i += 4 * lanes) {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < 4; ++k)
            seen[k] = hn::MulAdd(load(values + i + k * lanes), zero, seen[k]);
    }
    for (; n - i >= lanes; i += lanes)
        seen[0] = hn::MulAdd(load(values + i), zero, seen[0]);
    const Vec<T> all = hn::Add(hn::Add(seen[0], seen[1]), hn::Add(seen[2], seen[3]));
    bool finite = hn::AllTrue(d, hn::Eq(all, all));
    for (; i < n; ++i)
        finite = finite && std::isfinite(values[i]);
    return finite;
}

template <class T>
bool divide(T* out, const T* values, std::size_t n, T divisor) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    const Vec<T> zero = hn::Zero(d);
    const Vec<T> by = hn::Set(d, divisor);
    Vec<T> seen = zero;
    std::size_t i = 0;
    for (; n - i >= lanes; i += lanes) {
        const Vec<T> value = load(values + i);
        seen = hn::MulAdd(value, zero, seen);
        hn::StoreU(hn::Div(value, by), d, out + i);
    }
    bool finite = hn::AllTrue(d, hn::Eq(seen, seen));
    for (; i < n; ++i) {
        finite = finite && std::isfinite(values[i]);
        out[i] = values[i] / divisor;
    }
    return finite;
}

template <class T>
T maximum(const T* s, std::size_t n) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    Vec<T> largest[4];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k)
        largest[k] = hn::Set(d, s[0]);
    std::size_t j = 0;
    for (; n - j >= 4 * lanes; j += 4 * lanes) {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < 4; ++k)
            largest[k] = hn::Max(largest[k], load(s + j + k * lanes));
    }
    for (; n - j >= lanes; j += lanes)
        largest[0] = hn::Max(largest[0], load(s + j));
    alignas(64) T each[lanes];
    hn::Store(hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3])), d, each);
    T found = each[0];
    for (std::size_t l = 1; l < lanes; ++l)
        found = found < each[l] ? each[l] : found;
    for (; j < n; ++j)
        found = found < s[j] ? s[j] : found;
    return found + T(0);  // −0 + 0 = +0: which of two equal zeros was met first doesn't show
}

/// The maximum of s[0..n), n ≥ 1, with a zero's sign lost, and NaN if one of them is not finite: x · 0 is +0
/// or −0 for all that are, and a NaN stays.
template <class T>
T peak(const T* s, std::size_t n) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    const Vec<T> zero = hn::Zero(d);
    Vec<T> largest[2] = {hn::Set(d, s[0]), hn::Set(d, s[0])};
    Vec<T> seen[2] = {zero, zero};
    std::size_t j = 0;
    const auto look = [&](std::size_t k, Vec<T> x) HWY_ATTR {
        largest[k] = hn::Max(largest[k], x);
        seen[k] = hn::MulAdd(x, zero, seen[k]);
    };
    for (; n - j >= 2 * lanes; j += 2 * lanes) {
        look(0, load(s + j));
        look(1, load(s + j + lanes));
    }
    for (; n - j >= lanes; j += lanes)
        look(0, load(s + j));
    T most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(largest[0], largest[1])));
    T all = hn::GetLane(hn::SumOfLanes(d, hn::Add(seen[0], seen[1])));
    for (; j < n; ++j) {
        most = most < s[j] ? s[j] : most;
        all = std::fma(s[j], T(0), all);
    }
    return most + all;  // −0 + 0 = +0
}

/// exponential.hpp on vectors: the same operations, lane by lane. If NotPositive, no x is above 0, and none
/// has to be held below where exp overflows.
template <class T, bool NotPositive = false>
HWY_INLINE Vec<T> exponential(Vec<T> x) {
    using C = ExponentialConstants<T>;
    const Tag<T> d;
    const auto set = [&](T value) HWY_ATTR { return hn::Set(d, value); };
    x = not_below<T>(set(C::kLowest), x);
    if constexpr (!NotPositive) x = not_above<T>(set(C::kHighest), x);

    const Vec<T> magic = set(C::kRoundToInteger);
    const Vec<T> shifted = hn::MulAdd(x, set(C::kInverseLn2), magic);
    const Vec<T> n = hn::Sub(shifted, magic);
    const Vec<T> high = hn::MulAdd(n, set(-C::kLn2High), x);
    const Vec<T> low = hn::Mul(n, set(-C::kLn2Low));
    const Vec<T> r = hn::Add(high, low);

    constexpr std::size_t degree = sizeof(C::kPolynomial) / sizeof(T) - 1;
    Vec<T> q = set(C::kPolynomial[degree]);
#pragma GCC unroll 16
    for (std::size_t k = 1; k <= degree; ++k)
        q = hn::MulAdd(q, r, set(C::kPolynomial[degree - k]));
    const Vec<T> y = hn::Add(set(T(1)), hn::Add(high, hn::MulAdd(hn::Mul(r, r), q, low)));

#if HWY_TARGET <= HWY_AVX3
    // y · 2^n, rounded once if it is subnormal, as the two products are.
    if constexpr (sizeof(T) == sizeof(float)) {
        return Vec<T>{_mm512_scalef_ps(y.raw, n.raw)};
    } else {
        return Vec<T>{_mm512_scalef_pd(y.raw, n.raw)};
    }
#else
    const hn::RebindToUnsigned<Tag<T>> bits;
    using Bits = typename C::Bits;
    const auto biased = hn::Add(hn::Sub(hn::BitCast(bits, shifted), hn::BitCast(bits, magic)),
                                hn::Set(bits, Bits{2 * C::kExponentBias}));
    const auto first = hn::ShiftRight<1>(biased);
    const auto second = hn::Sub(biased, first);
    const Vec<T> scaled = hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<C::kFractionBits>(first)));
    return hn::Mul(scaled, hn::BitCast(d, hn::ShiftLeft<C::kFractionBits>(second)));
#endif
}

template <class T, bool NotPositive>
HWY_INLINE void shifted_exponentials(T* w, const T* s, std::size_t n, T m) {
    constexpr std::size_t lanes = kNative<T>;
    const Tag<T> d;
    const Vec<T> shift = hn::Set(d, m);
    std::size_t j = 0;
    for (; n - j >= 2 * lanes; j += 2 * lanes) {
        const Vec<T> a = exponential<T, NotPositive>(hn::Sub(load(s + j), shift));
        const Vec<T> b = exponential<T, NotPositive>(hn::Sub(load(s + j + lanes), shift));
        hn::StoreU(a, d, w + j);
        hn::StoreU(b, d, w + j + lanes);
    }
    for (; n - j >= lanes; j += lanes) {
        hn::StoreU(exponential<T, NotPositive>(hn::Sub(load(s + j), shift)), d, w + j);
    }
    if (j < n) {
        alignas(64) T rest[lanes] = {};
        for (std::size_t l = 0; j + l < n; ++l)
            rest[l] = s[j + l] - m;
        hn::Store(exponential<T, NotPositive>(hn::Load(d, rest)), d, rest);
        for (std::size_t l = 0; j + l < n; ++l)
            w[j + l] = rest[l];
    }
}

template <class T>
void exponentials(T* w, const T* s, std::size_t n, T m) {
    shifted_exponentials<T, false>(w, s, n, m);
}

/// exponentials in place, m being the maximum.
template <class T>
void soften(T* s, std::size_t n, T m) {
    shifted_exponentials<T, true>(s, s, n, m);
}

/// The transposed square of kNative rows: rows[i] lane j becomes rows[j] lane i.
template <class T, std::size_t Step = kNative<T> / 2>
HWY_INLINE void transpose(Vec<T> (&rows)[kNative<T>]) {
    constexpr std::size_t size = kNative<T>;
    const Tag<T> d;
    Vec<T> next[size];
    // Row i and row i + Step exchange their blocks of Step lanes, from halves down to single lanes.
#pragma GCC unroll 16
    for (std::size_t i = 0; i < size; ++i) {
        if ((i & Step) != 0) continue;
        const Vec<T> a = rows[i];
        const Vec<T> b = rows[i + Step];
        constexpr std::size_t bytes = Step * sizeof(T);
        if constexpr (2 * Step == size && bytes >= 16) {
            next[i] = hn::ConcatLowerLower(d, b, a);
            next[i + Step] = hn::ConcatUpperUpper(d, b, a);
        } else if constexpr (bytes == 16) {
            next[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
            next[i + Step] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
        } else if constexpr (bytes == 8 && sizeof(T) == 4) {
            const hn::Repartition<double, Tag<T>> pairs;
            next[i] =
                hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
            next[i + Step] =
                hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
        } else if constexpr (sizeof(T) == 8) {
            next[i] = hn::InterleaveLower(d, a, b);
            next[i + Step] = hn::InterleaveUpper(d, a, b);
        } else {
            next[i] = hn::OddEven(hn::DupEven(b), a);
            next[i + Step] = hn::OddEven(b, hn::DupOdd(a));
        }
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < size; ++i)
        rows[i] = next[i];
    if constexpr (Step > 1) transpose<T, Step / 2>(rows);
}

/// The sums of kNative blocks, each in order, a lane a block.
template <class T>
HWY_INLINE Vec<T> block_sums(const T* const (&blocks)[kNative<T>]) {
    Vec<T> sum = hn::Zero(Tag<T>());
    for (std::size_t column = 0; column < kBlock; column += kNative<T>) {
        Vec<T> rows[kNative<T>];
#pragma GCC unroll 16
        for (std::size_t b = 0; b < kNative<T>; ++b)
            rows[b] = load(blocks[b] + column);
        transpose<T>(rows);
#pragma GCC unroll 16
        for (std::size_t k = 0; k < kNative<T>; ++k)
            sum = hn::Add(sum, rows[k]);
    }
    return sum;
}

/// Weights are never negative and never −0, so that a sum of some is not −0 either and adding +0 at a short
/// block's end changes nothing.
template <class T>
T sum(const T* w, std::size_t n) {
    alignas(64) static constexpr T kNothing[kBlock] = {};
    alignas(64) T shorter[kBlock] = {};
    T partials[mix_scratch_rows(static_cast<std::size_t>(-1))];
    std::size_t held = 0;
    const std::size_t count = block_count(n);
    for (std::size_t b = n / kBlock * kBlock; b < n; ++b)
        shorter[b % kBlock] = w[b];
    for (std::size_t first = 0; first < count; first += kNative<T>) {
        const T* blocks[kNative<T>];
        for (std::size_t b = 0; b < kNative<T>; ++b) {
            const std::size_t begin = (first + b) * kBlock;
            blocks[b] = begin >= n ? kNothing : n - begin < kBlock ? shorter : w + begin;
        }
        alignas(64) T sums[kNative<T>];
        hn::Store(block_sums<T>(blocks), Tag<T>(), sums);
        const std::size_t here = count - first < kNative<T> ? count - first : kNative<T>;
        for (std::size_t b = 0; b < here; ++b) {
            partials[held++] = sums[b];
            for (std::size_t done = first + b + 1; done % 2 == 0; done /= 2) {
                --held;
                partials[held - 1] += partials[held];
            }
        }
    }
    for (; held > 1; --held)
        partials[held - 2] += partials[held - 1];
    return held == 0 ? T(0) : partials[0];
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
