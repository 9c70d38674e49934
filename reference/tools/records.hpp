// Verdicts for machines: JSON, and JUnit's XML that continuous integration reads.
#pragma once

#include <attest/reference/verdict.hpp>

#include <optional>
#include <string>
#include <vector>

namespace attest::reference::tool {

// Record is what became of one file: a verdict, or the refusal that stands in its place.
struct Record {
    std::string path;
    std::string arithmetic{};
    std::optional<Verdict> verdict{};
    std::string refusal{};  // the line printed, where there is no verdict
    double seconds = 0;
    int exit = 0;
};

// Both write a whole file and tell whether they could.
[[nodiscard]] bool write_json(const std::string& path, const std::vector<Record>& records);
[[nodiscard]] bool write_junit(const std::string& path, const std::vector<Record>& records);

}  // namespace attest::reference::tool
