// run(x_1 … x_B)_b = run(x_b): a sequence has the same bits alone, beside any neighbours, at any place of the
// batch; so identical sequences have identical bits.
//
// Kills an order of summation that depends on the batch (B08), exchanged axes (B14), and scratch shared
// between sequences (B21).
//
// Stays although others see its bugs as well: it alone runs each sequence of a batch by itself, and beside
// others than its own.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// The sequences of x named by `order`, [order.size(), rows, D].
Array gathered(std::span<const double> x, std::uint64_t rows, std::uint64_t width,
               std::span<const std::uint64_t> order) {
    Array all;
    for (const std::uint64_t b : order) {
        const auto start = x.begin() + static_cast<std::ptrdiff_t>(b * rows * width);
        all.insert(all.end(), start, start + static_cast<std::ptrdiff_t>(rows * width));
    }
    return all;
}

Run run_batch(Scene& scene, std::span<const double> x, std::uint64_t batch, std::uint64_t rows) {
    Run run;
    const std::unique_ptr<Cache> cache = scene.make_cache(*scene.layer, batch, scene.one.capacity);
    if (cache == nullptr) {
        run.code = "no cache";
        return run;
    }
    std::vector<Array> answers;
    for (std::uint64_t t = 0; t < rows; ++t) {
        const Array row = rows_of(x, batch, rows, scene.one.width, t, 1);
        const Answer answer =
            append(*scene.layer, *cache, {.shape = {batch, 1, scene.one.width}, .values = row});
        if (answer.refused()) {
            run.code = answer.code;
            return run;
        }
        answers.push_back(answer.y);
    }
    run.y = joined(answers, batch, scene.one.width);
    run.keys = cache->live_keys();
    run.values = cache->live_values();
    return run;
}

}  // namespace

Verdict batch_rows_do_not_mix(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::same_bits}, 8);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> probe = scene.make_cache();
    if (probe == nullptr) return scene.verdict();

    const Array x = scene.x_rows(0, rows);
    const Run whole = run_batch(scene, x, one.batch, rows);
    as_predicted(checks, subject, "the batch", whole.code,
                 predict_rows_one_by_one(one, scene.weights, x, one.batch, rows));
    if (!whole.code.empty()) {
        return checks.failed() ? checks.verdict() : vacuous("the rows are refused", checks.counters());
    }
    const std::uint64_t lanes = one.kv_heads * rows * one.head_width;
    for (std::uint64_t b = 0; b < one.batch && !checks.failed(); ++b) {
        const std::array<std::uint64_t, 1> alone = {b};
        const Run single = run_batch(scene, gathered(x, rows, one.width, alone), 1, rows);
        checks.tested();
        checks.equal([&] { return fmt::format("sequence {} alone", b); }, single.code, "");
        checks.bits([&] { return fmt::format("sequence {} alone: answers", b); }, single.y,
                    gathered(whole.y, rows, one.width, alone));
        checks.bits([&] { return fmt::format("sequence {} alone: keys", b); }, single.keys,
                    gathered(whole.keys, lanes, 1, alone));
        checks.bits([&] { return fmt::format("sequence {} alone: values", b); }, single.values,
                    gathered(whole.values, lanes, 1, alone));
    }
    // One sequence at every place of a larger batch, between others.
    std::vector<std::uint64_t> order;
    for (const std::uint64_t copies :
         {std::uint64_t{3}, one.values.seed % 2 == 0 ? std::uint64_t{28} : std::uint64_t{32}}) {
        if (checks.failed() || multiply_adds(one, rows) / one.batch * copies > kSubjectWork / 4) break;
        order.clear();
        for (std::uint64_t i = 0; i < copies; ++i) {
            order.push_back(i % 4 == 1 ? (one.batch - 1) : 0);
        }
        const Run many = run_batch(scene, gathered(x, rows, one.width, order), copies, rows);
        checks.equal([&] { return fmt::format("{} sequences", copies); }, many.code, "");
        checks.bits([&] { return fmt::format("{} sequences: answers", copies); }, many.y,
                    gathered(whole.y, rows, one.width, order));
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
