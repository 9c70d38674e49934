// Many dot products: rows against one vector, or against several at once.
#pragma once

#include <algorithm>
#include <utility>

#include "../kernels.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Rows whose sums run side by side: a sum is one chain of additions, and one row's alone would wait for
/// each.
inline constexpr std::size_t kSideBySide = 4;

/// Vectors that one pass over a row can serve: as many as give each tile kNative sums.
template <class T>
inline constexpr std::size_t kMaxQueries = kNative<T> < 4 ? kNative<T> : 4;

/// A tile: Queries vectors by kNative / Queries rows, so that its sums fill one vector.
template <class T, std::size_t Queries, class S = T>
struct Tile {
    static constexpr std::size_t kRows = kNative<T> / Queries;
    static constexpr std::size_t kLane = kLanes<T>;
    using V = Vec<T>;

    // The last products of a dot product, those short of all lanes. On a copy of the sums, so that those can
    // stay in registers.
    static HWY_NOINLINE V finish(const V* sums, const S* a, const T* b, std::size_t n) {
        alignas(64) T lanes[kLane];
        for (std::size_t p = 0; p < kParts<T>; ++p)
            hn::Store(sums[p], Tag<T>(), lanes + p * kNative<T>);
        for (std::size_t l = 0; l < n; ++l)
            lanes[l] = std::fma(widen(a[l]), b[l], lanes[l]);
        V finished[kParts<T>];
        for (std::size_t p = 0; p < kParts<T>; ++p)
            finished[p] = load(lanes + p * kNative<T>);
        return fold_parts<T, kParts<T>>(finished);
    }

    // Chunk c of the products.
    template <std::size_t Together>
    static HWY_INLINE void chunk(V (&acc)[Together * Queries][kParts<T>], const S* rows, std::size_t stride,
                                 const T* queries, std::size_t query_stride, std::size_t c) {
        const std::size_t i = c * kLane;
#pragma GCC unroll 8
        for (std::size_t p = 0; p < kParts<T>; ++p) {
            V row[Together];
#pragma GCC unroll 16
            for (std::size_t r = 0; r < Together; ++r) {
                row[r] = load<T>(rows + r * stride + i + p * kNative<T>);
            }
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q) {
                const V x = load(queries + q * query_stride + i + p * kNative<T>);
#pragma GCC unroll 16
                for (std::size_t r = 0; r < Together; ++r) {
                    acc[r * Queries + q][p] = hn::MulAdd(row[r], x, acc[r * Queries + q][p]);
                }
            }
        }
    }

    template <std::size_t Together, std::size_t kChunks, std::size_t c = 0>
    static HWY_INLINE void all_chunks(V (&acc)[Together * Queries][kParts<T>], const S* rows,
                                      std::size_t stride, const T* queries, std::size_t query_stride) {
        if constexpr (c < kChunks) {
            chunk<Together>(acc, rows, stride, queries, query_stride, c);
            all_chunks<Together, kChunks, c + 1>(acc, rows, stride, queries, query_stride);
        }
    }

    // `Together` rows against every query, each sum in its own vectors. kChunks: width in units of kLanes if
    // the compiler shall know it, else 0.
    template <std::size_t Together, std::size_t kChunks>
    static HWY_INLINE void accumulate(V* sums, const S* rows, std::size_t stride, const T* queries,
                                      std::size_t query_stride, std::size_t width) {
        V acc[Together * Queries][kParts<T>];
#pragma GCC unroll 16
        for (std::size_t i = 0; i < Together * Queries; ++i) {
#pragma GCC unroll 8
            for (std::size_t p = 0; p < kParts<T>; ++p)
                acc[i][p] = hn::Zero(Tag<T>());
        }
        if constexpr (kChunks != 0) {
            all_chunks<Together, kChunks>(acc, rows, stride, queries, query_stride);
        } else {
            const std::size_t whole = width / kLane * kLane;
            for (std::size_t c = 0; c < width / kLane; ++c) {
                chunk<Together>(acc, rows, stride, queries, query_stride, c);
            }
            if (whole < width) {
                V copy[Together * Queries][kParts<T>];
#pragma GCC unroll 16
                for (std::size_t i = 0; i < Together * Queries; ++i) {
#pragma GCC unroll 8
                    for (std::size_t p = 0; p < kParts<T>; ++p)
                        copy[i][p] = acc[i][p];
                }
                for (std::size_t r = 0; r < Together; ++r) {
                    for (std::size_t q = 0; q < Queries; ++q) {
                        sums[q * kRows + r] = finish(copy[r * Queries + q], rows + r * stride + whole,
                                                     queries + q * query_stride + whole, width - whole);
                    }
                }
                return;
            }
        }
#pragma GCC unroll 16
        for (std::size_t r = 0; r < Together; ++r) {
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q) {
                sums[q * kRows + r] = fold_parts<T, kParts<T>>(acc[r * Queries + q]);
            }
        }
    }

    // The sums of one tile, query by query.
    template <std::size_t Together, std::size_t kChunks>
    static HWY_INLINE V sums(const S* rows, std::size_t stride, const T* queries, std::size_t query_stride,
                             std::size_t width, bool streamed = false) {
        V all[kNative<T>];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; r += Together) {
            for (std::size_t ahead = 0; ahead < Together; ++ahead)
                fetch_ahead<(1 < Queries)>(rows + (r + ahead) * stride, width, streamed);
            accumulate<Together, kChunks>(all + r, rows + r * stride, stride, queries, query_stride, width);
            keep_order();
        }
        return fold_rows<T>(all);
    }

    // A tile out of the way of the loop over all others, which reads rows as fast as memory gives them only
    // as long as nothing else is woven into it.
    template <std::size_t Together, std::size_t kChunks>
    static HWY_NOINLINE void tile_apart(T* out, std::size_t out_stride, const S* rows, std::size_t stride,
                                        const T* queries, std::size_t query_stride, std::size_t width,
                                        T scale) {
        store(out, out_stride,
              hn::Mul(sums<Together, kChunks>(rows, stride, queries, query_stride, width),
                      hn::Set(Tag<T>(), scale)));
    }

    static HWY_INLINE void store(T* out, std::size_t out_stride, V sums) {
        if constexpr (Queries == 1) {
            hn::StoreU(sums, Tag<T>(), out);
        } else {
            const hn::FixedTag<T, kRows> part;
            alignas(64) T lanes[kNative<T>];
            hn::Store(sums, Tag<T>(), lanes);
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q) {
                hn::StoreU(hn::LoadU(part, lanes + q * kRows), part, out + q * out_stride);
            }
        }
    }
};

/// out[q · out_stride + r] = dot(query q, row r) · scale, Queries queries, `count` rows; a scale of 1 changes
/// nothing, whatever the value.
template <class T, std::size_t Queries, std::size_t Together, std::size_t kChunks, class S>
HWY_INLINE void tile_rows(T* out, std::size_t out_stride, const RowRun<S>& run, const T* queries,
                          std::size_t query_stride, std::size_t width, T scale) {
    const auto [rows, stride, count, reach] = run;
    const bool streamed = reach == Reach::memory;
    using Kernel = Tile<T, Queries, S>;
    constexpr std::size_t together = std::min(Together, Kernel::kRows);
    const Vec<T> factor = hn::Set(Tag<T>(), scale);
    std::size_t r = 0;
    for (; count - r >= Kernel::kRows; r += Kernel::kRows) {
        const Vec<T> sums = Kernel::template sums<together, kChunks>(rows + r * stride, stride, queries,
                                                                     query_stride, width, streamed);
        Kernel::store(out + r, out_stride, hn::Mul(sums, factor));
    }
    if (r < count && count >= Kernel::kRows) {
        // A last tile that ends with the last row and does some rows again: cheaper than one by one.
        r = count - Kernel::kRows;
        Kernel::template tile_apart<together, kChunks>(out + r, out_stride, rows + r * stride, stride,
                                                       queries, query_stride, width, scale);
        return;
    }
    // Too few for a tile, one row at a time: never a row that isn't there.
    for (; r < count; ++r) {
        Vec<T> parts[Kernel::kRows * Queries];
        Kernel::template accumulate<1, kChunks>(parts, rows + r * stride, stride, queries, query_stride,
                                                width);
        for (std::size_t q = 0; q < Queries; ++q) {
            alignas(64) T lanes[kNative<T>];
            hn::Store(parts[q * Kernel::kRows], Tag<T>(), lanes);
            for (std::size_t s = kNative<T> / 2; s > 0; s /= 2) {
                for (std::size_t l = 0; l < s; ++l)
                    lanes[l] += lanes[l + s];
            }
            out[q * out_stride + r] = lanes[0] * scale;
        }
    }
}

/// tile_rows for any number of queries.
template <class T, std::size_t Together, std::size_t kChunks, class S>
HWY_INLINE void tile_queries(T* out, std::size_t out_stride, RowRun<S> run, const T* queries,
                             std::size_t query_stride, std::size_t query_count, std::size_t width, T scale) {
    std::size_t q = 0;
    if constexpr (kMaxQueries<T> >= 4) {
        for (; query_count - q >= 4; q += 4) {
            tile_rows<T, 4, Together, kChunks>(out + q * out_stride, out_stride, run,
                                               queries + q * query_stride, query_stride, width, scale);
            run.reach = Reach::near;
        }
    }
    if constexpr (kMaxQueries<T> >= 2) {
        for (; query_count - q >= 2; q += 2) {
            tile_rows<T, 2, Together, kChunks>(out + q * out_stride, out_stride, run,
                                               queries + q * query_stride, query_stride, width, scale);
            run.reach = Reach::near;
        }
    }
    for (; q < query_count; ++q) {
        tile_rows<T, 1, Together, kChunks>(out + q * out_stride, out_stride, run, queries + q * query_stride,
                                           query_stride, width, scale);
    }
}

/// What `work` does with the rows of a run, as what they are stored in.
template <class T, class Work>
HWY_INLINE auto with_stored(const StoredRun<T>& run, const Work& work) {
    if constexpr (sizeof(T) == sizeof(float)) {
        if (run.storage == KvStorage::bf16) return work(run.template as<BFloat16>());
        if (run.storage == KvStorage::f16) return work(run.template as<Float16>());
    }
    return work(run.template as<T>());
}

/// Rows that several passes of tile_queries share while they lie in the first cache.
inline constexpr std::size_t kSharedRows = 64;

template <class T, std::size_t kChunks, class S>
HWY_INLINE void score_rows(T* out, std::size_t out_stride, const RowRun<S>& run, const T* queries,
                           std::size_t query_stride, std::size_t query_count, std::size_t width, T scale) {
    const bool once = query_count <= 2 || query_count == 4;
    const std::size_t step = once ? run.count : kSharedRows;
    for (std::size_t r = 0; r < run.count; r += step) {
        const std::size_t some = run.count - r < step ? run.count - r : step;
        tile_queries<T, kSideBySide, kChunks>(
            out + r, out_stride, RowRun<S>{run.rows + r * run.stride, run.stride, some, run.reach}, queries,
            query_stride, query_count, width, scale);
    }
}

template <class T, class S>
void score_run(T* out, std::size_t out_stride, const RowRun<S>& run, const T* queries,
               std::size_t query_stride, std::size_t query_count, std::size_t width, T scale) {
    switch (width == 64 ? 64 / kLanes<T> : width == 128 ? 128 / kLanes<T> : 0) {
        case 64 / kLanes<T>:
            return score_rows<T, 64 / kLanes<T>>(out, out_stride, run, queries, query_stride, query_count,
                                                 width, scale);
        case 128 / kLanes<T>:
            return score_rows<T, 128 / kLanes<T>>(out, out_stride, run, queries, query_stride, query_count,
                                                  width, scale);
        default:
            return score_rows<T, 0>(out, out_stride, run, queries, query_stride, query_count, width, scale);
    }
}

/// Elements of narrow rows that are widened at a time where several queries want them: they stay in the first
/// cache.
inline constexpr std::size_t kWidened = 4096;

/// out[0 .. elements) = the values of narrow elements.
template <class T, class S>
HWY_INLINE void widen_rows(T* out, const RowRun<S>& run, std::size_t first, std::size_t count,
                           std::size_t width) {
    for (std::size_t r = 0; r < count; ++r) {
        const S* const row = run.rows + (first + r) * run.stride;
        std::size_t f = 0;
        fetch_ahead<false>(row, width, false);
        for (; width - f >= kNative<T>; f += kNative<T>)
            hn::StoreU(load<T>(row + f), Tag<T>(), out + r * width + f);
        for (; f < width; ++f)
            out[r * width + f] = widen(row[f]);
    }
}

/// Queries that each widen narrow rows as they read them: several share a row anyhow, as it goes by.
inline constexpr std::size_t kWidenedByEach = 8;

/// score_run of narrow rows. A few queries read them as they lie; more read what was widened once for all,
/// unless a row is too long for that.
template <class T, class S>
void score_narrow(T* out, std::size_t out_stride, const RowRun<S>& run, const T* queries,
                  std::size_t query_stride, std::size_t query_count, std::size_t width, T scale) {
    if (query_count <= kWidenedByEach || width > kWidened) {
        return score_run(out, out_stride, run, queries, query_stride, query_count, width, scale);
    }
    alignas(64) T wide[kWidened];
    const std::size_t step = kWidened / width;
    for (std::size_t r = 0; r < run.count; r += step) {
        const std::size_t some = run.count - r < step ? run.count - r : step;
        widen_rows(wide, run, r, some, width);
        tile_queries<T, kSideBySide, 0>(out + r, out_stride, RowRun<T>{wide, width, some}, queries,
                                        query_stride, query_count, width, scale);
    }
}

/// score_run of what a cache stores.
template <class T>
void score_stored(T* out, std::size_t out_stride, const StoredRun<T>& run, const T* queries,
                  std::size_t query_stride, std::size_t query_count, std::size_t width, T scale) {
    with_stored(run, [&]<class S>(const RowRun<S>& rows) HWY_ATTR {
        if constexpr (sizeof(S) < sizeof(T)) {
            score_narrow(out, out_stride, rows, queries, query_stride, query_count, width, scale);
        } else {
            score_run(out, out_stride, rows, queries, query_stride, query_count, width, scale);
        }
    });
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
