// Where the published vectors lie: the folder that ATTEST_VECTORS names, or ../shared/vectors beside the
// repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace attest::testing {

inline std::optional<std::filesystem::path> vectors(const std::string& folder) {
    const char* const named = std::getenv("ATTEST_VECTORS");
    const std::filesystem::path root = named != nullptr
                                           ? std::filesystem::path(named)
                                           : std::filesystem::path(ATTEST_SOURCE_DIR) / "../shared/vectors";
    std::error_code error;
    if (!std::filesystem::is_directory(root / folder, error)) return std::nullopt;
    return root / folder;
}

// Skips loudly: the folder looked for is named.
#define ATTEST_VECTORS_OR_SKIP(variable, folder)                                       \
    const auto variable = ::attest::testing::vectors(folder);                          \
    if (!variable)                                                                     \
    GTEST_SKIP() << "NOT CHECKED: no folder " << folder << " under ATTEST_VECTORS or " \
                 << "../shared/vectors"

}  // namespace attest::testing
