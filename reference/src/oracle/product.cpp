#include "oracle/product.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <optional>

namespace attest::reference {
namespace {

template <class N>
std::vector<N> row_of(const Matrix& matrix, std::size_t row) {
    return to_reals<N>(matrix.values.subspan(row * matrix.width, matrix.width));
}

}  // namespace

template <class N>
Heads<N> project(const Matrix& x, std::size_t batch, std::size_t length, const Matrix& w, std::size_t heads,
                 std::size_t head_width, Rows rows, Checked& how) {
    Heads<N> projected(batch, heads, rows.count, head_width);
    parallel(batch * rows.count, how.threads, [&](std::size_t begin, std::size_t end) {
        bool agrees = true;
        for (std::size_t n = begin; n < end; ++n) {
            const std::size_t b = n / rows.count, t = n % rows.count;
            const std::size_t x_row = b * length + rows.first + t;
            const Fixed::Row row = x.fixed.row(x_row);
            std::vector<N> row_in_reals;
            for (std::size_t i = 0; i < heads * head_width; ++i) {
                N& out = projected.at(b, i / head_width, t)[i % head_width];
                const Fixed::Row weights = w.fixed.row(i);
                if (row.count != 0 && weights.count != 0) {
                    const bool doubt = how.formulation == Formulation::second;
                    out = exact_dot<N>(weights, row, x.width, w.residues.row(i), x.residues.row(x_row),
                                       doubt ? &agrees : nullptr);
                    continue;
                }
                if (row_in_reals.empty()) row_in_reals = row_of<N>(x, x_row);
                const std::vector<N> weights_in_reals = row_of<N>(w, i);
                out = dot(weights_in_reals.data(), row_in_reals.data(), x.width, how.formulation);
            }
        }
        if (!agrees) how.agrees = false;
    });
    return projected;
}

template <class N>
std::vector<N> merge(const Heads<N>& mixed, const Matrix& wo, Checked& how) {
    const std::size_t width = wo.width == 0 ? 0 : wo.values.size() / wo.width;
    std::vector<N> y(mixed.batch * mixed.rows * width);
    const bool doubt = how.formulation == Formulation::second;
    std::optional<Exchange<N>> exchange;
    if (doubt) exchange.emplace(wo);
    parallel(mixed.batch * mixed.rows, how.threads, [&](std::size_t begin, std::size_t end) {
        std::vector<N> merged(wo.width);
        for (std::size_t n = begin; n < end; ++n) {
            for (std::size_t h = 0; h < mixed.heads; ++h)
                std::copy_n(mixed.at(n / mixed.rows, h, n % mixed.rows), mixed.width,
                            merged.begin() + static_cast<std::ptrdiff_t>(h * mixed.width));
            const Fixed cut = Fixed::cut_to<N>(merged.data(), 1, wo.width, limbs_for<N>());
            for (std::size_t i = 0; i < width; ++i) {
                N& out = y[n * width + i];
                if (auto sum = cut_dot<N>(wo.fixed.row(i), cut.row(0), wo.width)) {
                    out = std::move(*sum);
                } else {
                    const std::vector<N> weights = row_of<N>(wo, i);
                    out = dot(weights.data(), merged.data(), wo.width, how.formulation);
                }
            }
            if (doubt && !exchange->agrees(y.data() + n * width, width, merged)) how.agrees = false;
        }
    });
    return y;
}

#define ATTEST_REFERENCE_PRODUCT(N)                                                                   \
    template Heads<N> project<N>(const Matrix&, std::size_t, std::size_t, const Matrix&, std::size_t, \
                                 std::size_t, Rows, Checked&);                                        \
    template std::vector<N> merge<N>(const Heads<N>&, const Matrix&, Checked&);

ATTEST_REFERENCE_PRODUCT(Real)
ATTEST_REFERENCE_PRODUCT(Real100)
ATTEST_REFERENCE_PRODUCT(Real400)
ATTEST_REFERENCE_PRODUCT(Real800)

}  // namespace attest::reference
