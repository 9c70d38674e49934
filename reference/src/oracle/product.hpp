// The products with a layer's weights: exact integer sums where rows fit them, sums in Real where they don't.
#pragma once

#include "oracle/fixed.hpp"
#include "oracle/oracle.hpp"

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

namespace attest::reference {

// Matrix is rows of doubles as the products want them. The span is borrowed.
struct Matrix {
    std::span<const double> values;
    std::size_t width;
    Fixed fixed;
    Residues residues;

    Matrix(std::span<const double> elements, std::size_t row_width)
        : values(elements),
          width(row_width),
          fixed(Fixed::exact(elements, row_width)),
          residues(elements, row_width) {}
};

// Checked is how a product is formed and whether its own checks agreed.
struct Checked {
    Formulation formulation = Formulation::definition;
    unsigned threads = 1;
    std::atomic<bool> agrees{true};
};

// Signs that no error of a kernel follows (the middle bits of a multiplicative hash).
[[nodiscard]] inline bool exchange_is_negative(std::size_t index) noexcept {
    return ((index + 1) * 0x9e3779b97f4a7c15U >> 40 & 1) != 0;
}

// Exchange holds Σ_i ±wo_i and Σ_i |wo_i|, column by column: what tells a wrong product from a right one.
template <class N>
struct Exchange {
    std::vector<N> sums, magnitudes;

    explicit Exchange(const Matrix& wo) : sums(wo.width, N(0)), magnitudes(wo.width, N(0)) {
        for (std::size_t n = 0; n < wo.values.size(); ++n) {
            const N value = wo.values[n];
            sums[n % wo.width] += exchange_is_negative(n / wo.width) ? N(-value) : value;
            magnitudes[n % wo.width] += abs(value);
        }
    }

    // Errors of rounding are below a half of the digits, whatever cancels; an error of ours is not.
    bool agrees(const N* y, std::size_t width, const std::vector<N>& merged) const {
        N difference = 0, size = 0;
        for (std::size_t i = 0; i < width; ++i) {
            difference += exchange_is_negative(i) ? N(-y[i]) : y[i];
            size += abs(y[i]);
        }
        for (std::size_t j = 0; j < merged.size(); ++j) {
            difference -= sums[j] * merged[j];
            size += magnitudes[j] * abs(merged[j]);
        }
        N allowed = size;
        auto* const raw = allowed.backend().data();
        mpfr_div_2ui(raw, raw, static_cast<unsigned long>(mpfr_get_prec(raw)) / 2, MPFR_RNDN);
        return abs(difference) <= allowed;
    }
};

// project gives w·x for rows [first, first + count) of x [batch · length, width], split into heads: feature f
// of head h is row h·head_width + f of w. The second formulation also sums residues modulo a prime, from the
// last term, and compares.
template <class N>
Heads<N> project(const Matrix& x, std::size_t batch, std::size_t length, const Matrix& w, std::size_t heads,
                 std::size_t head_width, Rows rows, Checked& how);

// merge gives wo·(the heads of a row, one after the other), in C order [batch, rows, width]. The second
// formulation also exchanges the sums: Σ_i ±y_i must be (Σ_i ±wo_i)·o.
template <class N>
std::vector<N> merge(const Heads<N>& mixed, const Matrix& wo, Checked& how);

}  // namespace attest::reference
