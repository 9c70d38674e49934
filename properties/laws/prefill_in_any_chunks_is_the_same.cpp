// prefill(x_{1:n}) = prefill(x_{1:a}) · prefill(x_{a+1:b}) · …, by bits, for all 2^(n−1) ways to cut n ≤ 6
// rows, and for some ways to cut more.
//
// Kills an order of summation that depends on the chunk (B08), a frontier (B06) or an offset (B04) that
// forgets the past, and room checked for one row only (B12).
//
// Stays although others see its bugs as well: it tries every way to cut a few rows, where others meet some
// by luck.

#include "support.hpp"

#include "attest/properties/draw.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Bit i of `cuts` cuts behind row i.
std::vector<std::uint64_t> chunks_of(std::uint64_t rows, std::uint64_t cuts) {
    std::vector<std::uint64_t> chunks(1, 1);
    for (std::uint64_t i = 0; i + 1 < rows; ++i) {
        if ((cuts >> i & 1) != 0) {
            chunks.push_back(1);
        } else {
            ++chunks.back();
        }
    }
    return chunks;
}

// A few ways to cut many rows: at both ends, around every block of 64, and at random.
std::vector<std::vector<std::uint64_t>> some_chunks(std::uint64_t rows, std::uint64_t seed) {
    std::vector<std::vector<std::uint64_t>> ways = {
        {1, rows - 1}, {rows - 1, 1}, {rows / 2, rows - rows / 2}};
    constexpr std::array<std::uint64_t, 6> kEdges = {63, 64, 65, 127, 128, 129};
    for (const std::uint64_t edge : kEdges) {
        if (edge < rows) ways.push_back({edge, rows - edge});
    }
    SeededChoices choices(seed);
    for (int way = 0; way < 3; ++way) {
        std::vector<std::uint64_t> chunks;
        for (std::uint64_t left = rows; left > 0; left -= chunks.back()) {
            chunks.push_back(1 + choices.below(left));
        }
        ways.push_back(chunks);
    }
    return ways;
}

}  // namespace

Verdict prefill_in_any_chunks_is_the_same(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::prefill, Capability::same_bits}, 16);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows < 2) return vacuous("one row can't be cut", checks.counters());
    std::vector<std::vector<std::uint64_t>> ways;
    if (rows <= 6) {
        for (std::uint64_t cuts = 1; cuts < std::uint64_t{1} << (rows - 1); ++cuts) {
            ways.push_back(chunks_of(rows, cuts));
        }
    } else {
        ways = some_chunks(rows, one.values.seed);
    }

    const std::unique_ptr<Cache> whole = scene.make_cache();
    if (whole == nullptr) return scene.verdict();
    const std::array<std::uint64_t, 1> uncut = {rows};
    const Run want = run_chunks(scene, *scene.layer, *whole, uncut, false);
    as_predicted(checks, subject, "prefill of all rows", want.code,
                 predict_numbers(one, scene.weights, scene.x_rows(0, rows), one.batch, rows, 0, rows));
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();
    bool through_append = false;
    for (const std::vector<std::uint64_t>& chunks : ways) {
        if (checks.failed()) break;
        cache->reset();
        through_append = !through_append;
        const Run got = run_chunks(scene, *scene.layer, *cache, chunks, through_append);
        const auto place = [&] {
            std::string text = "chunks";
            for (const std::uint64_t chunk : chunks) {
                text += fmt::format(" {}", chunk);
            }
            return text;
        };
        checks.tested();
        same_run(checks, place, got, want);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
