// attest-ledger: a hash of the bits that fixed cases give, a line each; attest-properties --ledger prints the
// same. Apart from it, because it must be built quickly for machines that are only emulated.
//
// Exit: 0 printed, 1 a case could not be played, 2 unusable command line or environment.
#include "../run/ledger.hpp"

#include "attest/case/environment.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

int complain(std::string_view text) {
    fmt::print(stderr, "attest-ledger: {}\n", text);
    return 2;
}

int run(int argc, char** argv) {
    using namespace attest;
    std::string offender;
    if (!cases::environment_is_known(offender)) return complain("unknown environment variable " + offender);
    const std::string_view argument = argc == 2 ? argv[1] : "";
    if (argument == "--help" || argument == "-h") {
        fmt::print("attest-ledger: prints a hash of the bits that fixed cases give\n");
        return 0;
    }
    if (argc > 1) return complain("it takes no arguments");
    return properties::print_ledger(*properties::make_attest_subject());
}

}  // namespace

int main(int argc, char** argv) {
    const int result = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return result;
    return complain("standard output can't be written: the ledger is lost");
}
