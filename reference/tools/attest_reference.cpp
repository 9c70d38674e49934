// attest-reference: a verdict on anybody's attention.
//
//   attest-reference check FILE...                  is every answer inside the error allowed to it?
//   attest-reference expect FILE [-o OUT]           what the answers are exactly, and what they are allowed
//   attest-reference rules [FILE...] [--json OUT]   which wrong kernels published rules and the bound refuse;
//                                                   without a file, the rules and where each was read
//   attest-reference bound FILE [--json OUT]        the bound as one pair, atol and rtol
//
// Exit: 0 right, 1 wrong (or blind, where that is forbidden), 2 unusable input, no bound, or output that
// could not be written, 3 the oracle disagrees with itself.
#include "check.hpp"
#include "report.hpp"
#include "rules.hpp"

#include <attest/case/environment.hpp>
#include <attest/dump/safetensors.hpp>
#include <attest/reference/verdict.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace attest;
using namespace attest::reference;
using namespace attest::reference::tool;

int expect(const std::string& path, const std::string& out_path) {
    const auto task = load(path);
    if (!task) return task.error();
    const auto judged = expectation(*task);
    if (!judged) return complain(path, judged.error());
    if (out_path.empty()) {
        for (const Judged& tensor : *judged)
            tool::print_expected(tensor);
        return kRight;
    }
    std::vector<dump::NewTensor> tensors;
    for (const Judged& tensor : *judged) {
        const std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
        std::vector<double> exact;
        for (const Exact& value : tensor.exact)
            exact.push_back(static_cast<double>(value));
        tensors.push_back(dump::make_tensor(tensor.name, shape, exact));
        tensors.push_back(dump::make_tensor(tensor.name + "_allowed", shape, tensor.allowed));
    }
    const dump::File::Metadata metadata{{"attest", std::string(task->kind()) + " expected"}};
    if (const auto error = dump::write_safetensors(out_path, tensors, metadata)) {
        fmt::print(stderr, "{}\n", error->text());
        return kUnusable;
    }
    return kRight;
}

int run(int argc, char** argv) {
    std::string offender;
    if (!attest::cases::environment_is_known(offender)) {
        fmt::print(stderr, "attest-reference: unknown environment variable {}\n", offender);
        return kUnusable;
    }
    CLI::App app{
        "A verdict on anybody's attention: the exact answer, the error a correct kernel may make, and "
        "whether this answer lies inside it."};
    app.require_subcommand(1);
    CheckOptions options;
    std::string file, out_path;
    CLI::App* const checking = app.add_subcommand("check", "Judge every answer tensor of each dump");
    checking->add_option("FILE", options.files, "dumps to judge")->required();
    checking->add_option("--json", options.json_path, "write the verdicts here as JSON");
    checking->add_option("--junit", options.junit_path, "write the verdicts here as JUnit's XML");
    checking->add_option("--threads", options.threads, "how many threads judge a file (default: all)")
        ->check(CLI::Range(1U, 1024U));
    checking->add_flag("--forbid-blind", options.forbid_blind,
                       "exit 1 when a bound would have passed a wrong kernel that applies");
    checking->add_flag("-v,--verbose", options.verbose, "print the worst elements of right answers too");
    CLI::App* const expecting =
        app.add_subcommand("expect", "Print the exact answers and what they are allowed");
    expecting->add_option("FILE", file, "a dump; its answers, if any, are not read")->required();
    expecting->add_option("-o,--output", out_path, "write a safetensors file instead");
    CLI::App* const ruling =
        app.add_subcommand("rules", "Which wrong kernels would published rules and the bound refuse here?");
    ruling->add_option("FILE", options.files, "dumps to try them on; none: only print the rules' sources");
    ruling->add_option("--json", options.json_path, "write the tables here as JSON");
    CLI::App* const bounding =
        app.add_subcommand("bound", "The bound as one pair, atol and rtol, and what the pair is blind to");
    bounding->add_option("FILE", file, "a dump; its answers, if any, are not read")->required();
    bounding->add_option("--json", options.json_path, "write it here as JSON");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kRight : kUnusable;
    }
    if (ruling->parsed()) return rules(options.files, options.json_path);
    if (bounding->parsed()) return bound(file, options.json_path);
    return checking->parsed() ? check(options) : expect(file, out_path);
}

}  // namespace

int main(int argc, char** argv) {
    int result = kUnusable;
    try {
        result = run(argc, argv);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "attest-reference: not enough memory\n");
    } catch (const std::length_error&) {
        fmt::print(stderr, "attest-reference: not enough memory\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "attest-reference: {}\n", error.what());
    }
    // A verdict that nobody could read is none.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return result;
    fmt::print(stderr, "attest-reference: standard output: CannotWrite: the verdict is lost\n");
    return kUnusable;
}
