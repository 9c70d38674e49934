// attest-refusals: how often published rules and the bound refuse the wrong kernels of the bank, on decode
// steps of normal inputs. README.md shows what it prints, and a test holds README.md against it.
//
//   attest-refusals --lengths 128,1024,8192 --trials 24          the table, in Markdown
//   attest-refusals … --narrow                                   of kernels wrong by narrow numbers alone
//   attest-refusals … --require                                  exit 1 unless the bound refuses every one
//   attest-refusals … --against README.md                        exit 1 unless the file holds these lines
#include "refusals.hpp"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
    using namespace attest::reference;
    refusals::Options options;
    std::string type = "f32";
    CLI::App app{"How often published rules and the bound refuse wrong kernels on decode steps."};
    app.add_option("--type", type, "f64, f32 or bf16")->check(CLI::IsMember({"f64", "f32", "bf16"}));
    app.add_option("--lengths", options.lengths, "keys")->delimiter(',');
    app.add_option("--trials", options.trials, "at each length")->check(CLI::PositiveNumber);
    app.add_flag("--require", options.require, "exit 1 unless the bound refuses everything");
    app.add_flag("--all", options.all, "every kernel of every set");
    app.add_flag("--narrow", options.narrow, "the kernels that are wrong by narrow numbers alone");
    app.add_option("--against", options.against, "exit 1 unless this file holds the table");
    CLI11_PARSE(app, argc, argv);
    options.type = *number_named(type);
    return refusals::run(options);
}
