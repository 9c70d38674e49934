// Many rows against many: the projections of several rows of input, the scores of several queries. Each sum
// is the dot product of sums.hpp, one vector of partial sums from its first product to its last.
//
// A tile is a few rows by a few vectors whose partial sums fill the registers, so that one chunk of each is
// loaded for many products. The tile's rows are packed, chunk by chunk, and stay in the first cache while the
// vectors, a block of them that stays in the second, go by. Rows a power of two apart read as they lie take a
// fifth longer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../kernels.hpp"
#include "crossed.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// The most a tile takes: 24 sums in 32 registers, or 12 in 16, beside a chunk of each vector and of one row.
template <class T>
inline constexpr std::size_t kTileRows = kParts<T> == 1 ? 6 : 2;
template <class T>
inline constexpr std::size_t kTileQueries = kParts<T> == 1 ? 4 : 3;

/// Elements of a row that are packed at a time: a tile's rows take half of the first cache.
template <class T>
inline constexpr std::size_t kPanelWidth = 4096 / sizeof(T);

/// Bytes of vectors that stay in the second cache: three quarters of a MiB, which processors with 512 bits
/// have at least.
inline constexpr std::size_t kVectorBytes = std::size_t{HWY_CAP_GE512 ? 768 : 256} << 10;

/// Vectors whose partial sums are held in memory between two panels of long rows.
template <class T>
inline constexpr std::size_t kHeldQueries = 16 * kTileQueries<T>;

/// Fewer vectors than this are not worth packing rows for.
inline constexpr std::size_t kFewestVectors = 16;

/// The sums of Rows vectors of partial sums, Rows a power of two: as fold_rows, whose tree they fill by
/// standing for themselves several times.
template <class T, std::size_t Rows, std::size_t Step = kNative<T> / Rows / 2>
HWY_INLINE Vec<T> fold_down(Vec<T> sums) {
    if constexpr (Step == 0) {
        return row_order<T>(sums);
    } else {
        return fold_down<T, Rows, Step / 2>(fold_pair<T, Step>(sums, sums));
    }
}

/// out[0 .. Count) = the sums of Count vectors times a factor; what lies up to a vector beyond is
/// overwritten.
template <class T, std::size_t Count>
HWY_INLINE void fold_all(T* out, const Vec<T>* parts, Vec<T> factor) {
    constexpr std::size_t some = std::min(std::bit_floor(Count), kNative<T>);
    const Vec<T> sums = fold_down<T, some>(fold_tree<T, some>(parts));
    hn::StoreU(hn::Mul(sums, factor), Tag<T>(), out);
    if constexpr (Count > some) fold_all<T, Count - some>(out + some, parts + some, factor);
}

/// Elements [first, first + width) of `count` rows from `row` on, chunk by chunk: of each row kLanes, then of
/// each the next. A tile's missing rows repeat the last one, and the last chunk is filled up with zeros.
template <class T, std::size_t Rows, class S>
HWY_INLINE void pack_rows(T* panel, const RowRun<S>& run, std::size_t row, std::size_t count,
                          std::size_t first, std::size_t width) {
    constexpr std::size_t chunk = kLanes<T>;
    const std::size_t whole = width / chunk * chunk;
    for (std::size_t r = 0; r < Rows; ++r) {
        const S* const from = run.rows + (row + std::min(r, count - 1)) * run.stride + first;
        T* to = panel + r * chunk;
        for (std::size_t i = 0; i < whole; i += chunk) {
#pragma GCC unroll 8
            for (std::size_t p = 0; p < kParts<T>; ++p)
                hn::Store(load<T>(from + i + p * kNative<T>), Tag<T>(), to + p * kNative<T>);
            to += Rows * chunk;
        }
        for (std::size_t l = 0; whole < width && l < chunk; ++l)
            to[l] = whole + l < width ? widen(from[whole + l]) : T(0);
    }
}

/// Where products go, and by what each is multiplied: y[q · stride + r].
template <class T>
struct Products {
    T* y;
    std::size_t stride;
    T scale;
};

/// The next rows, asked for a few lines at a time while others are at work: they come from beyond the second
/// cache. After the last row those that follow it in memory are, more often than not, the next call's. An
/// address, not a pointer: it may lie beyond the rows, and is only a hint.
class Ahead {
  public:
    /// Elements [first, first + width) of `count` rows from `row` on, in `turns` equal parts.
    template <class S>
    Ahead(const RowRun<S>& run, std::size_t row, std::size_t count, std::size_t first, std::size_t width,
          std::size_t turns)
        : row_(reinterpret_cast<std::uintptr_t>(run.rows) + (row * run.stride + first) * sizeof(S)),
          stride_(run.stride * sizeof(S)),
          bytes_(width * sizeof(S)),
          part_((count * ((bytes_ + kLine - 1) / kLine) + turns - 1) / turns) {}

    HWY_INLINE void fetch() {
        for (std::size_t line = 0; line < part_; ++line) {
            __builtin_prefetch(reinterpret_cast<const void*>(row_ + byte_), 0, 2);
            byte_ += kLine;
            if (byte_ >= bytes_) {
                byte_ = 0;
                row_ += stride_;
            }
        }
    }

  private:
    static constexpr std::size_t kLine = 64;
    std::uintptr_t row_;
    std::size_t stride_;
    std::size_t bytes_;
    std::size_t part_;
    std::size_t byte_ = 0;
};

template <class T, std::size_t Rows>
struct ProductTile {
    using V = Vec<T>;
    static constexpr std::size_t kQueries = kTileQueries<T>;
    static constexpr std::size_t kSums = Rows * kQueries;
    static constexpr std::size_t kChunk = kLanes<T>;
    using Sums = V[kSums][kParts<T>];
    using QueryPointers = const T* [kQueries];

    static HWY_INLINE void add_chunk(Sums& acc, const T* panel, const QueryPointers& x, std::size_t i) {
#pragma GCC unroll 8
        for (std::size_t p = 0; p < kParts<T>; ++p) {
            V vectors[kQueries];
#pragma GCC unroll 4
            for (std::size_t q = 0; q < kQueries; ++q)
                vectors[q] = load(x[q] + i + p * kNative<T>);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < Rows; ++r) {
                const V row = hn::Load(Tag<T>(), panel + r * kChunk + p * kNative<T>);
#pragma GCC unroll 4
                for (std::size_t q = 0; q < kQueries; ++q)
                    acc[q * Rows + r][p] = hn::MulAdd(row, vectors[q], acc[q * Rows + r][p]);
            }
            // Beside so many sums there is no register left for the next part's vectors.
            if constexpr (2 < kParts<T>) keep_order();
        }
    }

    // The last n < kChunk products: lanes without one keep their sums, the sign of a zero included.
    static HWY_INLINE void add_rest(Sums& acc, const T* panel, const QueryPointers& x, std::size_t i,
                                    std::size_t n) {
        alignas(64) T rest[kQueries][kChunk] = {};
        for (std::size_t q = 0; q < kQueries; ++q)
            std::copy_n(x[q] + i, n, rest[q]);
#pragma GCC unroll 8
        for (std::size_t p = 0; p < kParts<T>; ++p) {
            const std::size_t before = p * kNative<T>;
            const auto some = hn::FirstN(Tag<T>(), n < before ? 0 : n - before);
#pragma GCC unroll 8
            for (std::size_t r = 0; r < Rows; ++r) {
                const V row = hn::Load(Tag<T>(), panel + r * kChunk + before);
#pragma GCC unroll 4
                for (std::size_t q = 0; q < kQueries; ++q) {
                    V& sum = acc[q * Rows + r][p];
                    const V vector = hn::Load(Tag<T>(), rest[q] + before);
                    sum = hn::IfThenElse(some, hn::MulAdd(row, vector, sum), sum);
                }
            }
        }
    }

    static HWY_INLINE void add_products(Sums& acc, const T* panel, const QueryPointers& x,
                                        std::size_t width) {
        std::size_t i = 0;
        for (; width - i >= kChunk; i += kChunk) {
            add_chunk(acc, panel, x, i);
            panel += Rows * kChunk;
        }
        if (i < width) add_rest(acc, panel, x, i, width - i);
    }

    // Vectors q .. q + kQueries − 1; where there are fewer, the last stands in for those beyond.
    static HWY_INLINE void choose(QueryPointers& x, const RowRun<T>& vectors, std::size_t q) {
#pragma GCC unroll 4
        for (std::size_t k = 0; k < kQueries; ++k)
            x[k] = vectors.rows + std::min(q + k, vectors.count - 1) * vectors.stride;
    }

    // The sums of Some rows of the tile, a power of two, from First on; then of those after them.
    template <std::size_t First = 0, std::size_t Some = std::bit_floor(Rows)>
    static HWY_INLINE void store(T* y, std::size_t stride, std::size_t queries, std::size_t rows, V factor,
                                 const Sums& acc) {
        V parts[kQueries * Some];
#pragma GCC unroll 4
        for (std::size_t q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
            for (std::size_t r = 0; r < Some; ++r)
                parts[q * Some + r] = fold_parts<T, kParts<T>>(acc[q * Rows + First + r]);
        }
        alignas(64) T sums[kQueries * Some + kNative<T>];
        fold_all<T, kQueries * Some>(sums, parts, factor);
        if (rows >= First + Some && queries >= kQueries) {
#pragma GCC unroll 4
            for (std::size_t q = 0; q < kQueries; ++q)
                std::copy_n(sums + q * Some, Some, y + q * stride + First);
        } else if (rows > First) {
            for (std::size_t q = 0; q < std::min(kQueries, queries); ++q)
                std::copy_n(sums + q * Some, std::min(Some, rows - First), y + q * stride + First);
        }
        if constexpr (First + Some < Rows) {
            store<First + Some, std::bit_floor(Rows - First - Some)>(y, stride, queries, rows, factor, acc);
        }
    }
    static HWY_INLINE void store(const Products<T>& out, std::size_t q, std::size_t queries, std::size_t rows,
                                 const Sums& acc) {
        store(out.y + q * out.stride, out.stride, queries - q, rows, hn::Set(Tag<T>(), out.scale), acc);
    }

    // A packed panel of `rows` whole rows against every vector.
    static HWY_NOINLINE void whole(const Products<T>& out, const T* panel, std::size_t rows,
                                   const RowRun<T>& vectors, std::size_t width, Ahead ahead) {
        for (std::size_t q = 0; q < vectors.count; q += kQueries) {
            QueryPointers x;
            choose(x, vectors, q);
            ahead.fetch();
            Sums acc;
#pragma GCC unroll 32
            for (std::size_t i = 0; i < kSums; ++i) {
#pragma GCC unroll 8
                for (std::size_t p = 0; p < kParts<T>; ++p)
                    acc[i][p] = hn::Zero(Tag<T>());
            }
            add_products(acc, panel, x, width);
            store(out, q, vectors.count, rows, acc);
        }
    }

    // ---- longer rows: the partial sums of a part wait in memory for the next

    static HWY_INLINE void load_sums(Sums& acc, const T* held) {
#pragma GCC unroll 32
        for (std::size_t i = 0; i < kSums; ++i) {
#pragma GCC unroll 8
            for (std::size_t p = 0; p < kParts<T>; ++p)
                acc[i][p] = hn::Load(Tag<T>(), held + i * kChunk + p * kNative<T>);
        }
    }

    static HWY_NOINLINE void add_part(T* held, const T* panel, const RowRun<T>& vectors, std::size_t width,
                                      Ahead ahead) {
        for (std::size_t q = 0; q < vectors.count; q += kQueries) {
            QueryPointers x;
            choose(x, vectors, q);
            ahead.fetch();
            Sums acc;
            load_sums(acc, held);
            add_products(acc, panel, x, width);
#pragma GCC unroll 32
            for (std::size_t i = 0; i < kSums; ++i) {
#pragma GCC unroll 8
                for (std::size_t p = 0; p < kParts<T>; ++p)
                    hn::Store(acc[i][p], Tag<T>(), held + i * kChunk + p * kNative<T>);
            }
            held += kSums * kChunk;
        }
    }

    static HWY_NOINLINE void store_held(const Products<T>& out, const T* held, std::size_t rows,
                                        std::size_t queries) {
        for (std::size_t q = 0; q < queries; q += kQueries) {
            Sums acc;
            load_sums(acc, held);
            store(out, q, queries, rows, acc);
            held += kSums * kChunk;
        }
    }
};

/// Rows of T or of a narrow type, no longer than kPanelWidth, against a block of vectors.
template <class T, class S>
void short_products(const Products<T>& out, const RowRun<S>& run, const RowRun<T>& vectors,
                    std::size_t width) {
    constexpr std::size_t most = kTileRows<T>;
    constexpr std::size_t fewer = std::min<std::size_t>(most, 4);
    alignas(64) T panel[most * kPanelWidth<T>];
    const std::size_t turns = (vectors.count + kTileQueries<T> - 1) / kTileQueries<T>;
    for (std::size_t row = 0; row < run.count; row += most) {
        const std::size_t count = std::min(most, run.count - row);
        const Products<T> here = {out.y + row, out.stride, out.scale};
        const Ahead ahead(run, row + most, most, 0, width, turns);
        if (count > fewer) {
            pack_rows<T, most>(panel, run, row, count, 0, width);
            ProductTile<T, most>::whole(here, panel, count, vectors, width, ahead);
        } else {
            pack_rows<T, fewer>(panel, run, row, count, 0, width);
            ProductTile<T, fewer>::whole(here, panel, count, vectors, width, ahead);
        }
    }
}

/// The same of longer rows, part after part, kHeldQueries vectors at most.
template <class T, class S>
void long_products(const Products<T>& out, const RowRun<S>& run, const RowRun<T>& vectors,
                   std::size_t width) {
    constexpr std::size_t most = kTileRows<T>;
    using Tile = ProductTile<T, most>;
    alignas(64) T panel[most * kPanelWidth<T>];
    alignas(64) T held[most * kHeldQueries<T> * kLanes<T>];
    const std::size_t turns = (vectors.count + kTileQueries<T> - 1) / kTileQueries<T>;
    for (std::size_t row = 0; row < run.count; row += most) {
        const std::size_t count = std::min(most, run.count - row);
        std::fill(std::begin(held), std::end(held), T(0));
        for (std::size_t i = 0; i < width; i += kPanelWidth<T>) {
            const std::size_t some = std::min(kPanelWidth<T>, width - i);
            const Ahead ahead(run, row, count, i + some, std::min(kPanelWidth<T>, width - i - some), turns);
            pack_rows<T, most>(panel, run, row, count, i, some);
            Tile::add_part(held, panel, {vectors.rows + i, vectors.stride, vectors.count}, some, ahead);
        }
        Tile::store_held({out.y + row, out.stride, out.scale}, held, count, vectors.count);
    }
}

/// y[q · stride + r] = dot(row r, vector q) · scale, for any number of rows and vectors.
template <class T, class S>
void many_products(const Products<T>& out, const RowRun<S>& run, const RowRun<T>& vectors,
                   std::size_t width) {
    constexpr std::size_t queries = kTileQueries<T>;
    const bool fits = width <= kPanelWidth<T>;
    const std::size_t in_cache = kVectorBytes / (width * sizeof(T)) / queries * queries;
    const std::size_t block = fits ? in_cache : std::clamp(in_cache, 4 * queries, kHeldQueries<T>);
    for (std::size_t first = 0; first < vectors.count; first += block) {
        const RowRun<T> some = {vectors.rows + first * vectors.stride, vectors.stride,
                                std::min(block, vectors.count - first)};
        const Products<T> here = {out.y + first * out.stride, out.stride, out.scale};
        if constexpr (kCrosses<T>) {
            if (width <= kCrossedWidth<T> && width % kLanes<T> == 0) {
                crossed_products(here.y, here.stride, here.scale, run, some, width);
                continue;
            }
        }
        if (fits) {
            short_products(here, run, some, width);
        } else {
            long_products(here, run, some, width);
        }
    }
}

/// many_products of what a cache stores.
template <class T>
void many_stored_products(const Products<T>& out, const StoredRun<T>& run, const RowRun<T>& vectors,
                          std::size_t width) {
    with_stored(run, [&](const auto& rows) HWY_ATTR { many_products(out, rows, vectors, width); });
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
