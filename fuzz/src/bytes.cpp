#include "bytes.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/dump/npy.hpp"
#include "attest/dump/safetensors.hpp"

#include <algorithm>
#include <expected>
#include <iterator>
#include <string>
#include <vector>

namespace attest::fuzzing {
namespace {

using properties::Checks;
using properties::Verdict;

// The writer's view of what was read.
std::vector<dump::NewTensor> rewritten(const dump::File& file) {
    std::vector<dump::NewTensor> tensors;
    for (const dump::Tensor& tensor : file.tensors()) {
        dump::NewTensor made;
        made.name = tensor.name();
        made.dtype = tensor.dtype();
        made.shape.assign(tensor.shape().begin(), tensor.shape().end());
        made.bytes.assign(tensor.bytes().begin(), tensor.bytes().end());
        tensors.push_back(std::move(made));
    }
    return tensors;
}

// Reads every element in every way; sanitizers watch the accesses, the checks watch the values.
void read_fully(Checks& checks, const dump::Tensor& tensor) {
    const std::vector<double> numbers = tensor.numbers();
    checks.equal(tensor.name() + ": numbers", numbers.size(), tensor.count());
    const std::uint64_t bytes = tensor.count() * dump::size_of(tensor.dtype());
    checks.equal(tensor.name() + ": bytes", tensor.bytes().size(), bytes);
    for (std::uint64_t index = 0; index < tensor.count() && index < numbers.size(); ++index) {
        const std::uint64_t bits = tensor.bits(index);
        const double number = tensor.number(index);
        checks.bits(tensor.name() + ": number", number, numbers[static_cast<std::size_t>(index)]);
        checks.bits(tensor.name() + ": to_double", dump::to_double(tensor.dtype(), bits), number);
        const std::optional<std::int64_t> integer = tensor.integer(index);
        if (dump::is_float(tensor.dtype())) {
            checks.that(tensor.name() + ": integer", !integer, "an integer", "none, as this is a float type");
        } else if (integer && *integer >= -(std::int64_t{1} << 53) && *integer <= (std::int64_t{1} << 53)) {
            checks.bits(tensor.name() + ": integer", static_cast<double>(*integer), number);
        }
    }
}

void same_file(Checks& checks, const dump::File& got, const dump::File& want) {
    checks.equal("tensors written again", got.tensors().size(), want.tensors().size());
    for (const dump::Tensor& tensor : want.tensors()) {
        const dump::Tensor* again = got.find(tensor.name());
        if (!checks.that(tensor.name(), again != nullptr, "lost", "the tensor, written again")) {
            continue;
        }
        checks.equal(tensor.name() + ": type", dump::to_text(again->dtype()), dump::to_text(tensor.dtype()));
        checks.that(tensor.name() + ": shape", std::ranges::equal(again->shape(), tensor.shape()),
                    "another shape", "the shape that was read");
        checks.that(tensor.name() + ": elements", std::ranges::equal(again->bytes(), tensor.bytes()),
                    "other bytes", "the bytes that were read");
    }
    auto ours = got.metadata();
    auto theirs = want.metadata();
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    checks.that("metadata", ours == theirs, "other strings", "the strings that were read");
}

}  // namespace

Verdict any_dump(const std::expected<dump::File, dump::Error>& file, bool writable) {
    Checks checks;
    if (!file) {
        if (file.error().reason.empty()) {
            checks.fail("error", file.error().text(), "a refusal that says why", "exactly");
            return checks.verdict();
        }
        return properties::vacuous(file.error().text());
    }
    checks.tested();
    for (const dump::Tensor& tensor : file->tensors()) {
        read_fully(checks, tensor);
    }
    const auto written = dump::format_safetensors(rewritten(*file), file->metadata());
    if (!written) {
        checks.that("write", !writable, written.error().text(), "a file");
        return checks.verdict();
    }
    const auto again = dump::parse_safetensors(*written, "written again");
    if (checks.that("read again", again.has_value(), again ? "" : again.error().text(), "a file")) {
        same_file(checks, *again, *file);
    }
    return checks.verdict();
}

Verdict case_bytes(std::span<const std::byte> bytes) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Checks checks;
    const auto parsed = cases::parse(text);
    if (!parsed) {
        if (parsed.error().reason.empty()) {
            checks.fail("error", parsed.error().text(), "a refusal that says why", "exactly");
            return checks.verdict();
        }
        return properties::vacuous(parsed.error().text());
    }
    checks.tested();
    const auto violated = cases::check(*parsed);
    checks.that("check", !violated, violated ? violated->text() : "", "a parsed case passes check");
    const std::string printed = cases::print(*parsed);
    const auto again = cases::parse(printed);
    if (checks.that("parse(print)", again.has_value(), again ? "" : again.error().text(), "a case")) {
        checks.that("parse(print)", *again == *parsed, "another case", "the same case");
        checks.equal("print(parse(print))", cases::print(*again), printed);
    }
    cases::Case left_alone = *parsed;
    cases::normalise(left_alone);
    checks.that("normalise", left_alone == *parsed, "another case", "a case that passes check, left alone");
    return checks.verdict();
}

Verdict safetensors_bytes(std::span<const std::byte> bytes) {
    return any_dump(dump::parse_safetensors(bytes, "input"), true);
}

Verdict npy_bytes(std::span<const std::byte> bytes) {
    return any_dump(dump::parse_npy(bytes, "input"), false);
}

BytesProperty find_bytes_property(std::string_view name) {
    struct Row {
        std::string_view name;
        BytesProperty property;
    };
    static constexpr Row kRows[] = {
        {"case_bytes", case_bytes},
        {"safetensors_bytes", safetensors_bytes},
        {"npy_bytes", npy_bytes},
    };
    const auto* found = std::ranges::find(kRows, name, &Row::name);
    return found == std::end(kRows) ? nullptr : found->property;
}

}  // namespace attest::fuzzing
