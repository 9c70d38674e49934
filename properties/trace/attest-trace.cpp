// attest-trace: the published fixture, or any case, row by row through the cache.
//
// Exit: 0 printed (with --check: and equal to what was published), 1 --check found a difference, 2 unusable
// input.
#include "trace.hpp"

#include <attest/case/environment.hpp>
#include <attest/case/parse.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace {

using namespace attest;

int complain(std::string_view text) {
    fmt::print(stderr, "attest-trace: {}\n", text);
    return 2;
}

// Names the first line that differs.
bool agrees(std::string_view what, std::string_view got, std::string_view want) {
    if (got == want) {
        fmt::print("{}: as published\n", what);
        return true;
    }
    std::istringstream got_lines{std::string(got)};
    std::istringstream want_lines{std::string(want)};
    std::string got_line;
    std::string want_line;
    std::size_t line = 0;
    do {
        ++line;
        got_line.clear();
        want_line.clear();
        std::getline(got_lines, got_line);
        std::getline(want_lines, want_line);
    } while (got_line == want_line);
    fmt::print("{}: line {} differs\n  got  {}\n  want {}\n", what, line, got_line, want_line);
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Prints every row of a case as it passes through the cache, beside the full prefix.");
    std::string file;
    bool evidence = false;
    bool check = false;
    app.add_option("--case", file, "trace this case and print both reports (default: the published fixture)");
    app.add_flag("--evidence", evidence, "print every retained and new row, weight and output");
    app.add_flag("--check", check, "compare both reports of the fixture with what was published");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    std::string unknown;
    if (!cases::environment_is_known(unknown)) return complain("unknown environment variable " + unknown);
    if (check && (evidence || !file.empty())) return complain("--check takes no other option");

    std::string text(properties::fixture_case());
    if (!file.empty()) {
        std::ifstream stream(file, std::ios::binary);
        std::ostringstream content;
        if (!stream || !(content << stream.rdbuf())) return complain(file + ": cannot be read");
        text = content.str();
    }
    const auto one = cases::parse(text);
    if (!one) return complain((file.empty() ? "fixture" : file) + ": " + one.error().text());
    const auto trace = properties::trace_case(*one);
    if (!trace) return complain((file.empty() ? "fixture" : file) + ": " + trace.error());

    if (check) {
        const bool same_trace = agrees("trace", print_trace(*trace), properties::published_trace());
        const bool same_evidence =
            agrees("evidence", print_evidence(*trace), properties::published_evidence());
        return same_trace && same_evidence ? 0 : 1;
    }
    if (!file.empty() || !evidence) fmt::print("{}", print_trace(*trace));
    if (!file.empty() || evidence) fmt::print("{}", print_evidence(*trace));
    return 0;
}
