// attest-reference check: a verdict on each file.
#pragma once

#include <attest/reference/verdict.hpp>

#include <expected>
#include <string>
#include <vector>

namespace attest::reference::tool {

enum Exit : int { kRight = 0, kWrong = 1, kUnusable = 2, kInternal = 3 };

struct CheckOptions {
    std::vector<std::string> files{};
    std::string json_path{}, junit_path{};  // empty: not written
    unsigned threads = 0;                   // 0: as many as the machine has
    bool forbid_blind = false;
    bool verbose = false;
};

// load reads a dump and understands it; where that can't be done it prints why on stderr and gives the exit.
[[nodiscard]] std::expected<Task, Exit> load(const std::string& path, std::string* refusal = nullptr);

// complain prints an error on stderr and gives its exit.
Exit complain(const std::string& file, const Error& error, std::string* refusal = nullptr);

// check judges every file; the worst exit decides.
[[nodiscard]] int check(const CheckOptions& options);

}  // namespace attest::reference::tool
