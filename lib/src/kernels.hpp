// The inner loops of the library behind one table of functions, so that a machine's instructions can be
// chosen at run time. Every table gives the same bits: each operation is one IEEE addition, multiplication,
// fused multiply-add or bit operation, in the order of sums.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <attest/rotary.hpp>
#include <attest/storage.hpp>

#include "narrow.hpp"
#include "sums.hpp"

namespace attest::detail {

struct RotationBlock;

/// Where rows are expected to come from, which decides how they are best walked, and no bit of what is made
/// of them: caches that give the next row in time, the last cache, or memory.
enum class Reach : unsigned char { near, far, memory };

/// `count` rows, `stride` elements apart. With count 0 the pointer is never read.
template <class T>
struct RowRun {
    const T* rows = nullptr;
    std::size_t stride = 0;
    std::size_t count = 0;
    Reach reach = Reach::near;
};

/// Rows as a cache stores them, for a layer that computes in T: a RowRun of T or of a narrow type.
template <class T>
struct StoredRun {
    const void* rows = nullptr;
    std::size_t stride = 0;
    std::size_t count = 0;
    KvStorage storage = KvStorage::computing;
    Reach reach = Reach::near;

    /// Precondition: S is what `storage` says.
    template <class S>
    [[nodiscard]] RowRun<S> as() const {
        return {static_cast<const S*>(rows), stride, count, reach};
    }
    /// Rows [first, last) of it.
    [[nodiscard]] StoredRun part(std::size_t first, std::size_t last) const {
        const std::size_t bytes = first * stride * element_bytes<T>(storage);
        return {static_cast<const char*>(rows) + bytes, stride, last - first, storage, reach};
    }
};

/// The rows of positions 0 .. size() − 1: retained ones, then candidates not yet appended, which are never
/// narrow: those of a narrow layer hold numbers already rounded to what will be stored.
template <class T>
struct PositionRows {
    StoredRun<T> retained;
    RowRun<T> candidates;

    [[nodiscard]] constexpr std::size_t size() const { return retained.count + candidates.count; }
};

/// Kernels are pure functions on dense rows: no allocation, no state, no refusal. Non-finite values pass
/// through by the rules of arithmetic. Pointers need the alignment of T only. Inputs and outputs don't
/// overlap unless it is said.
template <class T>
struct Kernels {
    /// "portable", "loops", "avx2", "avx512", "neon": what ATTEST_SIMD and test reports call this table.
    std::string_view name;

    /// dot is Σ a_i b_i, i < n.
    T (*dot)(const T* a, const T* b, std::size_t n);

    /// project sets y_i = dot(row i of weights, x), i < rows. weights [rows, width], rows `stride` apart.
    void (*project)(T* y, const T* weights, std::size_t stride, std::size_t rows, const T* x,
                    std::size_t width);

    /// scores sets s_j = dot(q, key j) · scale for every position j; q [width].
    void (*scores)(T* s, const T* q, const PositionRows<T>& keys, std::size_t width, T scale);

    /// maximum is the largest of s[0..n), n ≥ 1, no NaN among them. A zero maximum is +0.
    T (*maximum)(const T* s, std::size_t n);

    /// peak is the maximum of s[0..n), n ≥ 1, if all are finite, a NaN otherwise.
    T (*peak)(const T* s, std::size_t n);

    /// exponentials sets w_j = exp(s_j − m), j < n, with the exponential of exponential.hpp. w may be s.
    void (*exponentials)(T* w, const T* s, std::size_t n, T m);

    /// sum is Σ w_j over positions j < n, in blocks.
    T (*sum)(const T* w, std::size_t n);

    /// mix sets out_f = Σ_j w_j v_jf over every position j, f < width, in blocks.
    /// scratch: mix_scratch_elements(values.size(), width) elements, of any content.
    void (*mix)(T* out, const T* w, const PositionRows<T>& values, std::size_t width, T* scratch);

    /// rotate turns one head row in place by a row of the rotary table, cosines and sines [width/2]:
    /// (a, b) → (fma(a, c, −(b · s)), fma(a, s, b · c)). width is the rotary width; what lies beyond stays.
    void (*rotate)(T* row, const T* cosines, const T* sines, std::size_t width, RotaryPairs pairs);

    /// advance fills rows of a rotary table, `row_stride` elements apart: the recurrence of rotation.cpp.
    void (*advance)(T* cosines, T* sines, std::size_t row_stride, const RotationBlock& block);

    // ---- the same sums, many at once

    /// project_rows sets y[i · y_stride + r] = dot(row r of weights, row i of x), i < x_rows, r < rows.
    void (*project_rows)(T* y, std::size_t y_stride, const T* x, std::size_t x_stride, std::size_t x_rows,
                         const T* weights, std::size_t stride, std::size_t rows, std::size_t width);

    /// score_group is scores for `queries` queries, q_stride apart, over the same keys: row i of s is query
    /// i's. The keys are read once.
    void (*score_group)(T* s, std::size_t s_stride, const T* q, std::size_t q_stride, std::size_t queries,
                        const PositionRows<T>& keys, std::size_t width, T scale);

    /// mix_group is mix for `queries` rows of weights over the same values; if `causal`, query i sees i more
    /// candidates than values.candidates.count says, and they are there.
    /// scratch: max(queries, kCausalGroup) · mix_scratch_elements(positions, width) elements.
    void (*mix_group)(T* out, std::size_t out_stride, const T* w, std::size_t w_stride, std::size_t queries,
                      const PositionRows<T>& values, std::size_t width, T* scratch, bool causal);

    /// mix_soft is what follows the scores of `queries` queries over the same values, s_stride apart: the
    /// exponentials against a maximum each, in place, then mix_group of them into out, and `sum` of them into
    /// totals[0..queries). No score lies above its query's peak: nothing holds it below where exp overflows.
    /// scratch: queries · mix_scratch_elements(positions, width) elements.
    void (*mix_soft)(T* out, std::size_t out_stride, T* totals, T* s, std::size_t s_stride,
                     std::size_t queries, const T* peaks, const PositionRows<T>& values, std::size_t width,
                     T* scratch);

    /// divide sets out_i = values_i / divisor, i < n, and says whether none of the values is NaN or infinite.
    /// out may be values.
    bool (*divide)(T* out, const T* values, std::size_t n, T divisor);

    /// all_finite says whether none of values[0..n) is NaN or infinite.
    bool (*all_finite)(const T* values, std::size_t n);
};

/// Rows that mix_group takes together when each sees one more than the row before.
inline constexpr std::size_t kCausalGroup = 32;

/// portable_kernels go through std::fma and run anywhere.
template <class T>
[[nodiscard]] const Kernels<T>& portable_kernels() noexcept;

/// available_kernels lists what this machine can run, portable first, best last.
template <class T>
[[nodiscard]] std::span<const Kernels<T>* const> available_kernels() noexcept;

/// choose_kernels returns the best table there is for an empty request, the portable one for "off", one by
/// name otherwise; nullptr if there is none of that name or this machine can't run it.
template <class T>
[[nodiscard]] const Kernels<T>* choose_kernels(std::string_view request) noexcept;

/// choose_kernels for what the environment variable ATTEST_SIMD holds (unset: empty). Reads the environment,
/// so it is called when a layer is made, and the layer keeps the pointer.
template <class T>
[[nodiscard]] const Kernels<T>* choose_kernels_from_environment() noexcept;

}  // namespace attest::detail
