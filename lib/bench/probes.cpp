#include "probes.hpp"

#include <algorithm>
#include <utility>

namespace attest::bench {
namespace {

// Sixteen floats that the compiler holds as the machine allows.
using Floats [[gnu::vector_size(64)]] = float;
using Unaligned [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

[[gnu::always_inline]] inline void keep_order() {
    asm volatile("" ::: "memory");
}

// `Streams` places of one range at a time, each with Unroll vectors. Every index is known when compiling: an
// array that loops go over may be kept in memory, and every sum goes there and back.
template <std::size_t Streams, std::size_t Unroll, std::size_t... s, std::size_t... u>
[[gnu::always_inline]] inline void read_range(const float* range, std::size_t bytes, float* out,
                                              std::index_sequence<s...>, std::index_sequence<u...>) {
    Floats sums[Streams][Unroll] = {};
    const std::size_t part = bytes / sizeof(float) / Streams;
    for (std::size_t i = 0; i < part; i += 16 * Unroll) {
        const auto read = [&](Floats(&of_stream)[Unroll], const float* from) {
            ((of_stream[u] += *reinterpret_cast<const Unaligned*>(from + u * 16)), ...);
            keep_order();
        };
        (read(sums[s], range + s * part + i), ...);
    }
    const auto fold = [&](const Floats(&of_stream)[Unroll]) { *out += (of_stream[u][0] + ...); };
    (fold(sums[s]), ...);
}
template <std::size_t Streams, std::size_t Unroll>
[[gnu::always_inline]] inline void read_range(const float* range, std::size_t bytes, float* out) {
    read_range<Streams, Unroll>(range, bytes, out, std::make_index_sequence<Streams>(),
                                std::make_index_sequence<Unroll>());
}

template <std::size_t Streams, std::size_t Unroll, std::size_t Piece>
[[gnu::always_inline]] inline float read_both(const float* first, const float* second, std::size_t bytes) {
    float out = 0;
    // By pieces in turn, as attention reads one head's keys and then its values.
    for (std::size_t at = 0; at < bytes; at += Piece) {
        const std::size_t some = std::min(Piece, bytes - at);
        read_range<Streams, Unroll>(first + at / sizeof(float), some, &out);
        read_range<Streams, Unroll>(second + at / sizeof(float), some, &out);
    }
    return out;
}

#if defined(__x86_64__)
#define ATTEST_PROBE [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define ATTEST_PROBE
#endif

template <std::size_t Streams, std::size_t Unroll>
[[gnu::always_inline]] inline float read_whole(const float* first, const float* second, std::size_t bytes) {
    float out = 0;
    read_range<Streams, Unroll>(first, bytes, &out);
    read_range<Streams, Unroll>(second, bytes, &out);
    return out;
}

ATTEST_PROBE float straight(const float* first, const float* second, std::size_t bytes) {
    return read_whole<1, 8>(first, second, bytes);
}
ATTEST_PROBE float four_streams(const float* first, const float* second, std::size_t bytes) {
    return read_whole<4, 4>(first, second, bytes);
}
ATTEST_PROBE float in_turn(const float* first, const float* second, std::size_t bytes) {
    return read_both<1, 8, std::size_t{128} << 10>(first, second, bytes);
}
ATTEST_PROBE float four_in_turn(const float* first, const float* second, std::size_t bytes) {
    return read_both<4, 4, std::size_t{128} << 10>(first, second, bytes);
}
// The streams stay within one huge page at a time: beyond the caches that may save a fifth.
ATTEST_PROBE float four_by_pages(const float* first, const float* second, std::size_t bytes) {
    return read_both<4, 4, std::size_t{2} << 20>(first, second, bytes);
}

constexpr ReadProbe kProbes[kReadProbes] = {{"straight", straight},
                                            {"four_streams", four_streams},
                                            {"in_turn", in_turn},
                                            {"four_in_turn", four_in_turn},
                                            {"four_by_pages", four_by_pages}};

}  // namespace

const ReadProbe (&read_probes())[kReadProbes] {
    return kProbes;
}

// Here alone a product and a sum may become one.
#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "arch=haswell", "default")]]
#endif
#if !defined(__clang__)
[[gnu::optimize("fp-contract=fast")]]
#endif
float multiply_adds(std::size_t count) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
    Floats sums[kProbeChains];
    for (std::size_t c = 0; c < kProbeChains; ++c)
        sums[c] = Floats{} + static_cast<float>(c);
    Floats factor = Floats{} + 0.999F;
    Floats term = Floats{} + 1e-3F;
    asm volatile("" : "+m"(factor), "+m"(term));
    for (std::size_t i = 0; i < count; ++i) {
#pragma GCC unroll 16
        for (std::size_t c = 0; c < kProbeChains; ++c)
            sums[c] = sums[c] * factor + term;
    }
    Floats all{};
    for (const Floats& sum : sums)
        all += sum;
    return all[0];
}

}  // namespace attest::bench
