// forward(x)_t = forward(x')_t whenever x_{1:t} = x'_{1:t}: no later row changes a bit, in one prefix or in
// one prefill.
//
// Kills a causal frontier off by one or not moved by the past (B06), and an order of summation that depends
// on the number of rows (B08).
//
// Stays although others see its bugs as well: it changes the future itself, where others compare runs that
// may see the same wrong one.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Rows behind `kept` replaced: zeros, the rows reversed in sign and order, or the first row doubled.
Array other_future(const Scene& scene, std::uint64_t rows, std::uint64_t kept, unsigned way) {
    const std::uint64_t width = scene.one.width;
    Array x = scene.x_rows(0, rows);
    for (std::uint64_t b = 0; b < scene.one.batch; ++b) {
        for (std::uint64_t t = kept; t < rows; ++t) {
            for (std::uint64_t i = 0; i < width; ++i) {
                const double mirrored = scene.x[(b * scene.rows + (rows - 1 - t)) * width + i];
                x[(b * rows + t) * width + i] = way == 0 ? 0.0 : way == 1 ? -mirrored : 1.0;
            }
        }
    }
    return x;
}

}  // namespace

Verdict future_does_not_matter(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::full_prefix, Capability::same_bits}, 16);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows < 2) return vacuous("one row has no future", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();

    const Array x = scene.x_rows(0, rows);
    const Outcome<Array> want = scene.layer->forward(scene.input(x, rows), one.rope.first);
    as_predicted(checks, subject, "the full prefix", code_of(want),
                 predict_numbers(one, scene.weights, x, one.batch, rows, 0, rows));
    if (!want) return checks.failed() ? checks.verdict() : vacuous("the rows are refused", checks.counters());
    const std::uint64_t step = rows <= 6 ? 1 : rows / 5;
    for (std::uint64_t kept = 1; kept < rows && !checks.failed(); kept += step) {
        const Array shorter = scene.x_rows(0, kept);
        const Outcome<Array> cut = scene.layer->forward(scene.input(shorter, kept), one.rope.first);
        checks.tested();
        if (!checks.equal("a shorter prefix", code_of(cut), "")) break;
        const Array first_rows = rows_of(*want, one.batch, rows, one.width, 0, kept);
        checks.bits([&] { return fmt::format("{} of {} rows", kept, rows); }, first_rows, *cut);
        for (unsigned way = 0; way < 3 && !checks.failed(); ++way) {
            const Array other = other_future(scene, rows, kept, way);
            const Outcome<Array> changed = scene.layer->forward(scene.input(other, rows), one.rope.first);
            // Another future may overflow; then there is no answer to compare.
            if (!changed) continue;
            checks.bits([&] { return fmt::format("another future from row {}", kept); },
                        rows_of(*changed, one.batch, rows, one.width, 0, kept), first_rows);
            if (!subject.can(Capability::prefill)) continue;
            cache->reset();
            const Answer chunk = prefill(*scene.layer, *cache, scene.input(other, rows));
            if (!checks.equal("prefill of another future", chunk.code, "")) break;
            checks.bits([&] { return fmt::format("prefill with another future from row {}", kept); },
                        rows_of(chunk.y, one.batch, rows, one.width, 0, kept), first_rows);
        }
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
