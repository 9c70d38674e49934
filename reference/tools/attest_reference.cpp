// attest-reference: a verdict on anybody's attention.
//
//   attest-reference check FILE... [--json OUT]     is every answer inside the error allowed to it?
//   attest-reference expect FILE [-o OUT]           what the answers are exactly, and what they are allowed
//
// Exit: 0 right, 1 wrong, 2 unusable input or no bound, 3 the oracle disagrees with itself.
#include "report.hpp"

#include <attest/case/environment.hpp>
#include <attest/dump/safetensors.hpp>
#include <attest/reference/verdict.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace attest;
using namespace attest::reference;

enum Exit : int { kRight = 0, kWrong = 1, kUnusable = 2, kInternal = 3 };

Exit complain(const std::string& file, const Error& error) {
    fmt::print(stderr, "{}: {}{}: {}\n", file, error.subject.empty() ? "" : error.subject + ": ",
               name_of(error.code), error.message);
    return error.code == Error::Code::disagreement ? kInternal : kUnusable;
}

std::expected<Task, Exit> load(const std::string& path) {
    const auto file = dump::read(path);
    if (!file) {
        fmt::print(stderr, "{}\n", file.error().text());
        return std::unexpected(kUnusable);
    }
    auto task = task_of(*file);
    if (!task) return std::unexpected(complain(path, task.error()));
    return std::move(*task);
}

Exit check_one(const std::string& path, tool::Json& json) {
    const auto task = load(path);
    if (!task) return task.error();
    const auto verdict = verdict_on(*task);
    if (!verdict) return complain(path, verdict.error());
    tool::print(path, *task, *verdict);
    json.push_back(tool::to_json(path, *task, *verdict));
    switch (verdict->outcome) {
        case Outcome::right:
            return kRight;
        case Outcome::wrong:
            return kWrong;
        case Outcome::unproved:
            break;
    }
    for (const TensorVerdict& tensor : verdict->tensors)
        if (tensor.outcome == Outcome::unproved)
            fmt::print(stderr, "{}: {}: NoBound: {} of {} elements: {}\n", path, tensor.name,
                       tensor.comparison.unproved, tensor.comparison.compared, name_of(tensor.no_bound));
    return kUnusable;
}

int check(const std::vector<std::string>& paths, const std::string& json_path) {
    int worst = kRight;
    tool::Json json = tool::Json::array();
    for (const std::string& path : paths)
        worst = std::max<int>(worst, check_one(path, json));
    if (!json_path.empty()) {
        std::ofstream out(json_path);
        out << json.dump(2) << '\n';
        if (!out.flush()) {
            fmt::print(stderr, "{}: CannotWrite\n", json_path);
            return kUnusable;
        }
    }
    return worst;
}

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

}  // namespace

int main(int argc, char** argv) {
    std::string offender;
    if (!attest::cases::environment_is_known(offender)) {
        fmt::print(stderr, "attest-reference: unknown environment variable {}\n", offender);
        return kUnusable;
    }
    CLI::App app{
        "A verdict on anybody's attention: the exact answer, the error a correct kernel may make, and "
        "whether this answer lies inside it."};
    app.require_subcommand(1);
    std::vector<std::string> files;
    std::string json_path, file, out_path;
    CLI::App* const checking = app.add_subcommand("check", "Judge every answer tensor of each dump");
    checking->add_option("FILE", files, "dumps to judge")->required();
    checking->add_option("--json", json_path, "write the verdicts here as JSON");
    CLI::App* const expecting =
        app.add_subcommand("expect", "Print the exact answers and what they are allowed");
    expecting->add_option("FILE", file, "a dump; its answers, if any, are not read")->required();
    expecting->add_option("-o,--output", out_path, "write a safetensors file instead");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kRight : kUnusable;
    }
    try {
        return checking->parsed() ? check(files, json_path) : expect(file, out_path);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "attest-reference: not enough memory\n");
        return kUnusable;
    }
}
