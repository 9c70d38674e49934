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
