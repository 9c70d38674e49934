#include "table.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace attest::properties {

Table::Table(std::string first_column, std::size_t name_width)
    : name_width_(std::max(name_width, first_column.size())),
      first_column_(std::move(first_column)),
      terminal_(isatty(STDERR_FILENO) != 0) {
    fmt::print("{:<{}}  {:>8}  {:<18}  {:>11}  {:>8}\n", first_column_, name_width_, "cases", "verdict",
               "error/bound", "seconds");
    std::fflush(stdout);
}

Table::~Table() {
    clear_progress();
}

void Table::clear_progress() {
    if (progress_shown_) fmt::print(stderr, "\r\x1b[K");
    progress_shown_ = false;
}

void Table::progress(const std::string& text) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    progress_shown_ = true;
}

void Table::add(const Row& row) {
    clear_progress();
    const std::string worst = row.worst > 0 ? fmt::format("{:.4f}", row.worst) : "-";
    fmt::print("{:<{}}  {:>8}  {:<18}  {:>11}  {:>8.2f}\n", row.name, name_width_, row.cases, row.verdict,
               worst, row.seconds);
    std::fflush(stdout);
    rows_.push_back(row);
}

int Table::finish() {
    clear_progress();
    bool wrong = rows_.empty();
    bool unusable = false;
    if (rows_.empty()) fmt::print("nothing was run\n");
    // By outcome, and in the order they came; clang calls the buffer of std::stable_sort deprecated.
    std::vector<const Row*> order;
    for (const Row& row : rows_)
        order.push_back(&row);
    std::sort(order.begin(), order.end(), [](const Row* left, const Row* right) {
        return left->outcome != right->outcome ? left->outcome < right->outcome : left < right;
    });
    for (const Row* const next : order) {
        const Row& row = *next;
        wrong = wrong || row.outcome == RowOutcome::wrong;
        unusable = unusable || row.outcome == RowOutcome::unusable;
        for (const std::string& detail : row.details) {
            fmt::print("{}\n", detail);
        }
    }
    std::fflush(stdout);
    return unusable ? 2 : wrong ? 1 : 0;
}

}  // namespace attest::properties
