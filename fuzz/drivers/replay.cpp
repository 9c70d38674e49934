// replay [--refuse-vacuous] FILE...|DIR...: runs each case through its law, with any compiler and no fuzzer.
// replay --shrink FILE: prints the simplest case that still fails.
#include "attest/case/environment.hpp"

#include "../src/replay.hpp"
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/minimise.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr const char* kUsage =
    "replay [--refuse-vacuous] FILE...|DIR...\n"
    "    Runs each case file through the law it names, one line a file.\n"
    "replay --shrink FILE\n"
    "    Prints the simplest case that still fails; looks for it for a minute at most.\n"
    "Exit 0: all right (--shrink: a case was printed). 1: a law fails (--shrink: it does not fail).\n"
    "2: a file is unreadable, or nothing was checked.\n";

int shrink(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto parsed = attest::cases::parse(text);
    if (!in.is_open() || !parsed) {
        std::cerr << "replay: " << path << ": "
                  << (in.is_open() ? parsed.error().text() : std::string("can't be read")) << '\n';
        return 2;
    }
    const auto smallest = attest::properties::minimise(*parsed, attest::properties::make_attest_subject, {});
    if (!smallest) {
        std::cerr << "replay: " << path << " does not fail\n";
        return 1;
    }
    std::cerr << "replay: " << smallest->tried << " cases tried; the smallest " << smallest->text << '\n';
    std::cout << attest::cases::print(smallest->one);
    return 0;
}

int run(int argc, char** argv) {
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
            std::cout << kUsage;
            return 0;
        } else if (word == "--shrink" && argc == 3 && position == 1) {
            return shrink(argv[2]);
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

}  // namespace

int main(int argc, char** argv) {
    const int result = run(argc, argv);
    // A verdict that nobody could read is none.
    if (std::cout.flush()) return result;
    std::cerr << "replay: standard output can't be written: the verdict is lost\n";
    return 2;
}
