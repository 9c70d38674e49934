// The table that runs print: one row a law or file, and what is wrong below it.
#pragma once

#include "run.hpp"

#include <string>
#include <vector>

namespace attest::properties {

// Table prints rows as they come, wide enough for the names known beforehand, and shows progress in between
// where standard error is a terminal.
class Table {
  public:
    explicit Table(std::string first_column, std::size_t name_width);
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    void progress(const std::string& text);
    void add(const Row& row);
    const std::vector<Row>& rows() const { return rows_; }

    // Prints the details of all rows, wrong ones last. The exit code: 2 when a row is unusable, 1 when one is
    // wrong or when there is none, else 0.
    int finish();

  private:
    void clear_progress();

    std::size_t name_width_;
    std::string first_column_;
    bool terminal_;
    bool progress_shown_ = false;
    std::vector<Row> rows_;
};

}  // namespace attest::properties
