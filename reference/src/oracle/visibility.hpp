// Which keys a row sees, and what is added to their scores.
#pragma once

#include <attest/reference/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attest::reference {

// Seen is what one row sees: its columns in order, and their biases (empty when nothing is added).
struct Seen {
    std::vector<std::size_t> columns;
    std::vector<double> biases;
    bool hidden_by_finite_bias = false;  // a column is hidden only by a finite bias
};

// Visibility answers for every row of an attention; it borrows what it was made from.
class Visibility {
  public:
    // Causal over a prefix: row i, at index first + i of the prefix, sees columns 0 … first + i of `columns`.
    // The prefix is part of `total` rows.
    static Visibility prefix(std::size_t columns, std::size_t first, std::size_t total);

    // By the core's rules: causal offset, key lengths, mask, bias. `lowest` is what a bias must exceed to
    // add.
    static Visibility of(const Core& core, double lowest);

    // from_row gives the same for a selection whose row 0 is row `first` here.
    Visibility from_row(std::size_t first) const;

    std::size_t columns() const noexcept { return columns_; }
    // What a kernel that sums over hidden columns too would sum over.
    std::size_t total() const noexcept { return total_; }

    // see fills `seen` for row `row` of batch `batch` and head `head`.
    void see(std::size_t batch, std::size_t head, std::size_t row, Seen& seen) const;

  private:
    // A broadcast tensor by its strides; column_count is what it covers.
    struct Spread {
        const double* values = nullptr;
        std::size_t batch = 0, head = 0, row = 0, column = 0, column_count = 0;
        double at(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const noexcept {
            return values[b * batch + h * head + i * row + j * column];
        }
    };
    static Spread spread(const Broadcast& tensor, std::size_t columns);

    std::size_t columns_ = 0;
    std::size_t total_ = 0;
    bool causal_ = false;
    std::vector<std::int64_t> offsets_;  // one for all batches, or one a batch
    std::vector<std::int64_t> lengths_;  // empty, or one a batch
    Spread mask_, bias_;
    double lowest_ = 0;
    std::size_t first_row_ = 0;
};

}  // namespace attest::reference
