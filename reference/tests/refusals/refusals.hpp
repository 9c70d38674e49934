// How often published rules and the bound refuse the wrong kernels of the bank, on decode steps of normal
// inputs.
#pragma once

#include <attest/reference/number.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace attest::reference::refusals {

struct Options {
    Number type = Number::f32;
    std::vector<std::size_t> lengths{128};
    std::size_t trials = 2;
    bool require = false, all = false;
    bool narrow = false;  // the kernels that are wrong by narrow numbers alone, and otherwise the others
    std::string against;
};

// run prints the table in Markdown and gives the program's exit code.
int run(const Options& options);

}  // namespace attest::reference::refusals
