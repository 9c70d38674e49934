#pragma once

#include <array>
#include <string>
#include <string_view>

extern "C" char** environ;

namespace attest::cases {

// Every environment variable the project reads. scripts/common/common.sh takes the names from this list, so
// that programs and scripts can't disagree about it.
//   ATTEST_VECTORS  the folder of published inputs and answers (default: ../shared/vectors beside the tree)
//   ATTEST_SIMD     the instruction set that the library's kernels may use at most
//   ATTEST_SEED     the seed that laws draw from where no --seed tells one
inline constexpr std::array<std::string_view, 3> kKnownEnvironment = {"ATTEST_VECTORS", "ATTEST_SIMD",
                                                                      "ATTEST_SEED"};

// environment_is_known tells whether each variable that starts with ATTEST_ is one we read. A misspelt name
// would otherwise be ignored, and a run that was meant to be special would quietly be an ordinary one.
// `offender` receives the first unknown name.
inline bool environment_is_known(std::string& offender) {
    constexpr std::string_view prefix = "ATTEST_";
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        if (!line.starts_with(prefix)) {
            continue;
        }
        const std::string_view name = line.substr(0, line.find('='));
        bool known = false;
        for (const std::string_view candidate : kKnownEnvironment) {
            known = known || candidate == name;
        }
        if (!known) {
            offender = std::string(name);
            return false;
        }
    }
    return true;
}

}  // namespace attest::cases
