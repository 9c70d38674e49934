// replay [--refuse-vacuous] FILE...|DIR...: runs each case through its law, with any compiler and no fuzzer.
#include "attest/case/environment.hpp"

#include "../src/replay.hpp"

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    std::string offender;
    if (!attest::cases::environment_is_known(offender)) {
        std::cerr << "replay: unknown environment variable " << offender << '\n';
        return 2;
    }
    attest::fuzzing::ReplayOptions options;
    std::vector<std::string> paths;
    for (int position = 1; position < argc; ++position) {
        const std::string word = argv[position];
        if (word == "--refuse-vacuous") {
            options.refuse_vacuous = true;
        } else if (word == "-h" || word == "--help") {
            std::cout
                << "replay [--refuse-vacuous] FILE...|DIR...\n"
                   "Runs each case file through the law it names, one line a file.\n"
                   "Exit 0: all right. 1: a law fails. 2: a file is unreadable, or nothing was checked.\n";
            return 0;
        } else if (word.starts_with('-')) {
            std::cerr << "replay: unknown option " << word << '\n';
            return 2;
        } else {
            paths.push_back(word);
        }
    }
    const auto counts = attest::fuzzing::replay(paths, options, std::cout);
    std::cout << counts.right << " right, " << counts.wrong << " wrong, " << counts.vacuous << " vacuous, "
              << counts.unreadable << " unreadable\n";
    return counts.exit_code();
}
