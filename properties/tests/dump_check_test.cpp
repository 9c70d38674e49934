// Dumps in the table of verify: a right one passes, one stale key row is refused and named, what can't be
// read is unusable.

#include "../run/dump_check.hpp"

#include "attest/properties/scene.hpp"

#include <attest/dump/safetensors.hpp>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

constexpr std::uint64_t kBatch = 2, kRows = 5, kWidth = 6, kHeads = 4, kKvHeads = 2, kHeadWidth = 4;
constexpr std::uint64_t kFirst = 3;

// Numbers between −1 and 1 that differ everywhere.
Array numbers(std::uint64_t count, std::uint64_t salt) {
    Array values;
    for (std::uint64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<double>((i * 7919 + salt * 104729) % 257) / 128 - 1);
    }
    return values;
}

struct Dump {
    Array x = numbers(kBatch * kRows * kWidth, 1);
    std::array<Array, 4> weights = {
        numbers(kHeads * kHeadWidth * kWidth, 2), numbers(kKvHeads* kHeadWidth* kWidth, 3),
        numbers(kKvHeads* kHeadWidth* kWidth, 4), numbers(kWidth* kHeads* kHeadWidth, 5)};
    Array y, keys, values;
};

// The library's own double answers stand for what somebody published.
Dump answered() {
    Dump dump;
    LayerSpec spec;
    spec.type = cases::ElementType::float64;
    spec.width = kWidth;
    spec.heads = kHeads;
    spec.kv_heads = kKvHeads;
    spec.head_width = kHeadWidth;
    spec.rope = {
        .pairs = cases::Pairs::half, .width = 4, .base = 10000, .positions = kFirst + kRows, .first = kFirst};
    spec.weights = dump.weights;
    const std::unique_ptr<Subject> subject = make_attest_subject();
    const auto layer = subject->make_layer(spec);
    const auto cache = (*layer)->make_cache(kBatch, kRows, kFirst);
    const Answer answer = prefill(**layer, **cache, {.shape = {kBatch, kRows, kWidth}, .values = dump.x});
    EXPECT_EQ(answer.code, "");
    dump.y = answer.y;
    dump.keys = (*cache)->live_keys();
    dump.values = (*cache)->live_values();
    return dump;
}

std::string written(const Dump& dump, const std::string& name) {
    const std::string path = testing::TempDir() + "/" + name;
    const auto tensor = [](std::string label, std::vector<std::uint64_t> shape, const Array& elements) {
        return attest::dump::make_tensor(std::move(label), std::move(shape),
                                         std::span<const double>(elements));
    };
    const std::vector<attest::dump::NewTensor> tensors = {
        tensor("x", {kBatch, kRows, kWidth}, dump.x),
        tensor("wq", {kHeads * kHeadWidth, kWidth}, dump.weights[0]),
        tensor("wk", {kKvHeads * kHeadWidth, kWidth}, dump.weights[1]),
        tensor("wv", {kKvHeads * kHeadWidth, kWidth}, dump.weights[2]),
        tensor("wo", {kWidth, kHeads * kHeadWidth}, dump.weights[3]),
        tensor("y", {kBatch, kRows, kWidth}, dump.y),
        tensor("keys", {kBatch, kKvHeads, kRows, kHeadWidth}, dump.keys),
        tensor("values", {kBatch, kKvHeads, kRows, kHeadWidth}, dump.values),
    };
    const attest::dump::File::Metadata metadata = {
        {"attest", "layer"},   {"heads", "4"},         {"kv_heads", "2"},      {"rope_base", "10000"},
        {"rope_width", "4"},   {"rope_pairs", "half"}, {"max_positions", "8"}, {"first_position", "3"},
        {"arithmetic", "f64"}, {"summation", "attest"}};
    const auto error = attest::dump::write_safetensors(path, tensors, metadata);
    EXPECT_FALSE(error.has_value()) << error->text();
    return path;
}

std::string all(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += row.name + ": " + row.verdict + "\n";
        for (const std::string& detail : row.details) {
            text += "  " + detail + "\n";
        }
    }
    return text;
}

TEST(DumpCheck, PassesARightDumpInEveryRow) {
    const std::vector<Row> rows =
        check_dump(written(answered(), "right.safetensors"), make_attest_subject, {});
    ASSERT_EQ(rows.size(), 3u) << all(rows);
    for (const Row& row : rows) {
        EXPECT_EQ(row.outcome, RowOutcome::right) << all(rows);
        EXPECT_EQ(row.verdict, "inside") << all(rows);
        EXPECT_GT(row.worst, 0) << row.name;
        EXPECT_LT(row.worst, 1) << row.name;
    }
}

TEST(DumpCheck, NamesTheStaleKeyRow) {
    Dump dump = answered();
    // Row 3 of batch 1, head 0 keeps the key of the row before.
    const std::uint64_t row = (kKvHeads * kRows + 3) * kHeadWidth;
    std::copy_n(dump.keys.begin() + static_cast<std::ptrdiff_t>(row - kHeadWidth), kHeadWidth,
                dump.keys.begin() + static_cast<std::ptrdiff_t>(row));
    const std::vector<Row> rows = check_dump(written(dump, "stale.safetensors"), make_attest_subject, {});
    ASSERT_EQ(rows.size(), 3u) << all(rows);
    EXPECT_EQ(rows[0].outcome, RowOutcome::wrong);
    EXPECT_NE(all(rows).find("keys[1, 0, 3, "), std::string::npos) << all(rows);
    EXPECT_EQ(rows[1].outcome, RowOutcome::right)
        << "the library's own answers are right whatever was published";
}

TEST(DumpCheck, CallsWhatCannotBeReadUnusable) {
    const std::vector<Row> missing =
        check_dump(testing::TempDir() + "/no such file", make_attest_subject, {});
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_EQ(missing[0].outcome, RowOutcome::unusable);
    const std::string path = testing::TempDir() + "/damaged.safetensors";
    std::ofstream(path) << "no dump at all";
    const std::vector<Row> damaged = check_dump(path, make_attest_subject, {});
    ASSERT_EQ(damaged.size(), 1u);
    EXPECT_EQ(damaged[0].outcome, RowOutcome::unusable);
}

}  // namespace
}  // namespace attest::properties
