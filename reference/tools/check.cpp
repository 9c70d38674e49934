#include "check.hpp"

#include "escape.hpp"
#include "progress.hpp"
#include "records.hpp"
#include "report.hpp"

#include <attest/dump/file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace attest::reference::tool {
namespace {

void say(const std::string& line, std::string* refusal) {
    fmt::print(stderr, "{}\n", line);
    if (refusal != nullptr) *refusal = line;
}

Exit exit_of(const std::string& path, const Verdict& verdict, bool forbid_blind) {
    if (verdict.outcome == Outcome::wrong) return kWrong;
    if (verdict.outcome == Outcome::unproved) {
        for (const TensorVerdict& tensor : verdict.tensors)
            if (tensor.outcome == Outcome::unproved)
                fmt::print(stderr, "{}: {}: NoBound: {} of {} elements: {}\n", path, tensor.name,
                           tensor.comparison.unproved, tensor.comparison.compared, name_of(tensor.no_bound));
        return kUnusable;
    }
    if (!forbid_blind || !verdict.blind()) return kRight;
    for (const TensorVerdict& tensor : verdict.tensors)
        if (!tensor.blind.empty())
            fmt::print(stderr, "{}: {}: Blind: the bound would have passed {} of {} wrong kernels: {}\n",
                       path, tensor.name, tensor.blind.size(), tensor.tried, blindness(tensor));
    return kWrong;
}

Record judge_file(const std::string& path, const CheckOptions& options) {
    Record record{.path = path};
    const auto begin = std::chrono::steady_clock::now();
    const auto task = load(path, &record.refusal);
    if (!task) {
        record.exit = task.error();
        return record;
    }
    Progress progress;
    const unsigned threads =
        options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    auto verdict = [&] {
        const Watch watch(path, progress);
        return verdict_on(*task, {.threads = threads, .progress = &progress});
    }();
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!verdict) {
        record.exit = complain(path, verdict.error(), &record.refusal);
        return record;
    }
    record.arithmetic = name_of(task->arithmetic().arithmetic);
    print(path, *task, *verdict, options.verbose);
    record.exit = exit_of(path, *verdict, options.forbid_blind);
    record.verdict = std::move(*verdict);
    return record;
}

}  // namespace

Exit complain(const std::string& file, const Error& error, std::string* refusal) {
    say(fmt::format("{}: {}{}: {}", file, error.subject.empty() ? "" : escape(error.subject) + ": ",
                    name_of(error.code), escape(error.message)),
        refusal);
    return error.code == Error::Code::disagreement ? kInternal : kUnusable;
}

std::expected<Task, Exit> load(const std::string& path, std::string* refusal) {
    const auto file = dump::read(path);
    if (!file) {
        say(file.error().text(), refusal);
        return std::unexpected(kUnusable);
    }
    auto task = task_of(*file);
    if (!task) return std::unexpected(complain(path, task.error(), refusal));
    return std::move(*task);
}

int check(const CheckOptions& options) {
    if (const auto doubt = self_check()) return complain("attest-reference", *doubt);
    int worst = kRight;
    std::vector<Record> records;
    for (const std::string& path : options.files) {
        records.push_back(judge_file(path, options));
        worst = std::max(worst, records.back().exit);
    }
    const auto written = [&](const std::string& path, bool good) {
        if (good) return;
        fmt::print(stderr, "{}: CannotWrite\n", path);
        worst = std::max<int>(worst, kUnusable);
    };
    if (!options.json_path.empty()) written(options.json_path, write_json(options.json_path, records));
    if (!options.junit_path.empty()) written(options.junit_path, write_junit(options.junit_path, records));
    return worst;
}

}  // namespace attest::reference::tool
