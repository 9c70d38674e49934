// The scores of one query that registers hold, which a decode step without groups spends half of its time
// with.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "dots.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Stores Places equal parts of a vector, `apart` elements from each other.
template <std::size_t Places, class T, class D, class V>
HWY_INLINE void store_places(D d, V values, T* out, std::size_t apart) {
    if constexpr (Places == 1) {
        hn::StoreU(values, d, out);
    } else {
        const hn::Half<D> half;
        store_places<Places / 2>(half, hn::LowerHalf(half, values), out, apart);
        store_places<Places / 2>(half, hn::UpperHalf(half, values), out + Places / 2 * apart, apart);
    }
}

/// Rows of Chunks vectors, S being what they are stored in, T or a narrow type; kNative rows a tile.
template <class T, class S, std::size_t Chunks>
struct HeldQuery {
    template <class E>
    static HWY_INLINE Vec<T> add_products(Vec<T> sum, const E*) {
        return sum;
    }
    template <class E, class... Rest>
    static HWY_INLINE Vec<T> add_products(Vec<T> sum, const E* row, Vec<T> x, Rest... rest) {
        return add_products(hn::MulAdd(load<T>(row), x, sum), row + kNative<T>, rest...);
    }

    /// kNative − 1 rows and a final one, which may lie elsewhere.
    template <class E, class... Held>
    static HWY_INLINE void tile(T* out, const S* rows, std::size_t stride, const E* final, Vec<T> factor,
                                Held... held) {
        constexpr std::size_t before = kNative<T> - 1;
        Vec<T> sums[kNative<T>];
#pragma GCC unroll 16
        for (std::size_t k = 0; k < before; ++k) {
            fetch_ahead<false>(rows + k * stride, Chunks * kNative<T>, false);
            sums[k] = add_products(hn::Zero(Tag<T>()), rows + k * stride, held...);
            keep_order();
        }
        fetch_ahead<false>(final, Chunks * kNative<T>, false);
        sums[before] = add_products(hn::Zero(Tag<T>()), final, held...);
        keep_order();
        hn::StoreU(hn::Mul(fold_rows<T>(sums), factor), Tag<T>(), out);
    }

    /// The rows of a tile come from Places places in turn, `apart` rows from each other: beyond the caches
    /// next to a core a processor reads several runs of rows faster than one.
    template <std::size_t Places, class... Held>
    static HWY_INLINE void tile_of_places(T* out, const S* rows, std::size_t stride, std::size_t apart,
                                          Vec<T> factor, Held... held) {
        constexpr std::size_t each = kNative<T> / Places;
        Vec<T> sums[kNative<T>];
#pragma GCC unroll 16
        for (std::size_t k = 0; k < kNative<T>; ++k) {
            const std::size_t place = k % Places;
            const S* const row = rows + place * apart * stride + k / Places * stride;
            fetch_ahead<false>(row, Chunks * kNative<T>, false);
            sums[place * each + k / Places] = add_products(hn::Zero(Tag<T>()), row, held...);
            keep_order();
        }
        store_places<Places>(Tag<T>(), hn::Mul(fold_rows<T>(sums), factor), out, apart);
    }

    /// out[r] = dot(query, row r) · scale for `count` cached rows, at least kNative − 1, and the newest
    /// behind them, with which the last tile ends: it may do some rows again, which is cheaper than single
    /// ones. Rows before `first` are done.
    template <class... Held>
    static HWY_INLINE void tiles(T* out, const S* rows, std::size_t stride, std::size_t first,
                                 std::size_t count, const T* newest, Vec<T> factor, Held... held) {
        const std::size_t last = count + 1 - kNative<T>;
        if constexpr (std::is_same_v<S, T>) {
            // One body for all tiles: the last one's rows differ, its code does not.
            for (std::size_t r = first, next = first; next <= count; r = next) {
                next = r + kNative<T>;
                r = std::min(r, last);
                const T* const from = rows + r * stride;
                tile(out + r, from, stride, next <= count ? from + (kNative<T> - 1) * stride : newest, factor,
                     held...);
            }
        } else {
            for (std::size_t r = first; r + kNative<T> <= count; r += kNative<T>) {
                const S* const from = rows + r * stride;
                tile(out + r, from, stride, from + (kNative<T> - 1) * stride, factor, held...);
            }
            tile(out + last, rows + last * stride, stride, newest, factor, held...);
        }
    }

    template <std::size_t Places, class... Held>
    static HWY_INLINE void all(T* out, const S* rows, std::size_t stride, std::size_t count, const T* newest,
                               Vec<T> factor, Held... held) {
        std::size_t done = 0;
        if constexpr (Places > 1) {
            constexpr std::size_t each = kNative<T> / Places;
            const std::size_t apart = count / kNative<T> * each;
            const S* row = rows;
            for (std::size_t r = 0; r < apart; r += each, row += each * stride)
                tile_of_places<Places>(out + r, row, stride, apart, factor, held...);
            done = Places * apart;
        }
        tiles(out, rows, stride, done, count, newest, factor, held...);
    }

    template <std::size_t Places, std::size_t... c>
    static HWY_INLINE void all(T* out, const S* rows, std::size_t stride, std::size_t count, const T* newest,
                               const T* query, T scale, std::index_sequence<c...>) {
        all<Places>(out, rows, stride, count, newest, hn::Set(Tag<T>(), scale),
                    load(query + c * kNative<T>)...);
    }

    /// Told word by word: a structure that was written in words and is read as a vector waits until all
    /// before it is done.
    template <std::size_t Places>
    static HWY_NOINLINE void run(T* out, const S* rows, std::size_t stride, std::size_t count,
                                 const T* newest, const T* query, T scale) {
        all<Places>(out, rows, stride, count, newest, query, scale, std::make_index_sequence<Chunks>());
    }

    /// Longer rows come as fast from one place, and narrow ones are asked for ahead.
    static constexpr std::size_t kPlaces = std::is_same_v<S, T> && Chunks <= 4 ? 4 : 1;
    /// Fewer rows than this come from one place.
    static constexpr std::size_t kFewestApart = 32 * kNative<T>;

    static HWY_INLINE void scores(T* out, const RowRun<S>& rows, const T* newest, const T* query, T scale) {
        const bool apart = rows.reach != Reach::near && rows.count >= kFewestApart;
        const auto work = apart ? run<kPlaces> : run<1>;
        work(out, rows.rows, rows.stride, rows.count, newest, query, scale);
    }
};

/// The widths, in chunks of kLanes, that registers hold beside a tile's sums.
template <class T, std::size_t Width>
inline constexpr bool kHolds = (kParts<T> == 1) && (Width / kLanes<T> <= 8);

/// The scores of stored rows and of the newest behind them, of one query. Returns whether it has done so:
/// else nothing is done.
template <class T>
HWY_INLINE bool score_to_newest(T* out, const StoredRun<T>& run, const T* newest, const T* query,
                                std::size_t width, T scale) {
    if (run.count + 1 < kNative<T>) return false;
    return with_stored(run, [&]<class S>(const RowRun<S>& rows) HWY_ATTR {
        if constexpr (kHolds<T, 64>) {
            if (width == 64) {
                HeldQuery<T, S, 64 / kLanes<T>>::scores(out, rows, newest, query, scale);
                return true;
            }
        }
        if constexpr (kHolds<T, 128>) {
            if (width == 128) {
                HeldQuery<T, S, 128 / kLanes<T>>::scores(out, rows, newest, query, scale);
                return true;
            }
        }
        return false;
    });
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
