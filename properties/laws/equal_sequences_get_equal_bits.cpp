// x_1 = … = x_B ⇒ y_1 = … = y_B, by bits, and so are keys and values: one sequence, standing in every place
// of a batch, in single rows and in chunks.
//
// Kills an order of summation that depends on the place in the batch, or on what is left over at its end
// (B08), a stride taken from the shape (B07), and scratch that sequences share (B21).
//
// Stays, whoever else sees its bugs: it fills every place of a batch with one sequence, where
// others compare a few places.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// The last sequence of x, as often as wanted: [batch, rows, D].
Array repeated(const Scene& scene, std::uint64_t rows, std::uint64_t batch) {
    const Array x = scene.x_rows(0, rows);
    const std::size_t size = rows * scene.one.width;
    Array all;
    for (std::uint64_t b = 0; b < batch; ++b) {
        all.insert(all.end(), x.end() - static_cast<std::ptrdiff_t>(size), x.end());
    }
    return all;
}

// Every sequence of `numbers` [batch, …] is the first one.
void all_equal(Checks& checks, Text place, const Array& numbers, std::uint64_t batch) {
    const std::size_t size = numbers.size() / batch;
    for (std::uint64_t b = 1; b < batch; ++b) {
        checks.bits([&] { return fmt::format("{}: sequence {} and the first", place(), b); },
                    std::span(numbers).subspan(b * size, size), std::span(numbers).first(size));
    }
}

void run_copies(Scene& scene, std::uint64_t rows, std::uint64_t batch, std::uint64_t chunk) {
    Checks& checks = scene.checks;
    const std::unique_ptr<Cache> cache = scene.make_cache(*scene.layer, batch, scene.one.capacity);
    if (cache == nullptr) return;
    const Array x = repeated(scene, rows, batch);
    for (std::uint64_t t = 0; t < rows && !checks.failed();) {
        const std::uint64_t count = std::min(chunk, rows - t);
        const Array values = rows_of(x, batch, rows, scene.one.width, t, count);
        const Input input = {.shape = {batch, count, scene.one.width}, .values = values};
        const Answer answer =
            chunk == 1 ? append(*scene.layer, *cache, input) : prefill(*scene.layer, *cache, input);
        // Whether numbers stay finite is another law's business.
        if (answer.refused()) return;
        const auto place = [&] { return fmt::format("{} copies, row {} in chunks of {}", batch, t, chunk); };
        checks.tested();
        all_equal(checks, place, answer.y, batch);
        t += count;
    }
    const auto place = [&] { return fmt::format("{} copies in chunks of {}", batch, chunk); };
    const auto keys = [&] { return place() + ": keys"; };
    const auto values = [&] { return place() + ": values"; };
    all_equal(checks, keys, cache->live_keys(), batch);
    all_equal(checks, values, cache->live_values(), batch);
}

}  // namespace

Verdict equal_sequences_get_equal_bits(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 8);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();
    constexpr std::array<std::uint64_t, 7> kCopies = {2, 3, 5, 8, 17, 28, 32};
    const std::uint64_t copies = kCopies[one.values.seed % kCopies.size()];
    for (const std::uint64_t batch : {std::uint64_t{2}, copies}) {
        const std::uint64_t work = multiply_adds(one, rows) / one.batch * batch;
        if (work > kSubjectWork / 4 || !predict_cache(one, batch, one.capacity, one.rope.first).success()) {
            continue;
        }
        if (!checks.failed()) run_copies(scene, rows, batch, 1);
        if (!checks.failed() && subject.can(Capability::prefill)) {
            run_copies(scene, rows, batch, 1 + one.values.seed % 3);
        }
    }
    return checks.verdict("a batch would be too large, or its first row is refused");
}

}  // namespace attest::properties::law
