// Rows of a matrix against one vector: memory is all that a row costs, so what matters is the order in which
// its bytes are asked for.
#pragma once

#include "dots.hpp"
#include "vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::detail::HWY_NAMESPACE {

/// Rows of more chunks of kLanes than this are long.
inline constexpr std::size_t kShortRow = 32;

/// Long rows at four places, each of which goes on in strict order of address: beyond the caches that is as
/// fast as reading gets, where eight neighbours side by side take an eighth more, and inside them no slower
/// (measured at rows of 4 to 16 KiB). Returns how many of `rows` it has done.
template <class T>
HWY_INLINE std::size_t project_at_places(T* y, const T* weights, std::size_t stride, std::size_t rows,
                                         const T* x, std::size_t width) {
    constexpr std::size_t places = 4;
    const std::size_t part = rows / places / kNative<T> * kNative<T>;
    for (std::size_t r = 0; r < part; r += kNative<T>) {
        Vec<T> sums[places][kNative<T>];
        for (std::size_t k = 0; k < kNative<T>; ++k) {
            Vec<T> each[places];
            Tile<T, 1>::template accumulate<places, 0>(each, weights + (r + k) * stride, part * stride, x, 0,
                                                       width);
#pragma GCC unroll 4
            for (std::size_t place = 0; place < places; ++place)
                sums[place][k] = each[place];
        }
        for (std::size_t place = 0; place < places; ++place)
            hn::StoreU(fold_rows<T>(sums[place]), Tag<T>(), y + place * part + r);
    }
    return places * part;
}

/// Several rows side by side: a long row's sum is one chain of additions, too slow to keep up alone.
template <class T>
inline constexpr std::size_t kRowsTogether = kParts<T> == 1 ? 8 : 4;

/// y[r] = dot(row r, x).
template <class T>
void project_vector(T* y, const T* weights, std::size_t stride, std::size_t rows, const T* x,
                    std::size_t width) {
    std::size_t done = 0;
    if (width > kShortRow * kLanes<T>) {
        done = project_at_places(y, weights, stride, rows, x, width);
        if (done == rows) return;
        // A last tile that does some rows again is cheaper than single rows.
        if (rows >= kNative<T>) done = std::min(done, rows - kNative<T>);
    }
    tile_rows<T, 1, kRowsTogether<T>, 0>(
        y + done, rows - done, RowRun<T>{weights + done * stride, stride, rows - done}, x, 0, width, T(1));
}

}  // namespace attest::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
