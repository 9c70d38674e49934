// run(x, dead slots = p) = run(x, dead slots = p') for all p, p': NaN with a payload, infinity, huge numbers
// at and beyond the length change no bit, and are not written to before a row takes their place.
//
// Kills 0 · NaN over dead slots, reads beyond the length and vector tails (B09), the newest row's weight
// taken from a stale slot (B27), and a reset that counts on cleared storage (B19).

#include "support.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Patterns that every element type represents exactly; the NaN is a float's, widened.
std::array<double, 4> poisons(cases::ElementType type) {
    const double huge = type == cases::ElementType::float32 ? 0x1.8p+127 : 1e300;
    return {std::bit_cast<double>(std::uint64_t{0x7ff8000020000000}), std::numeric_limits<double>::infinity(),
            -huge, 0x1p-149};
}

// The poison as a narrow slot holds it: what is beyond the range is infinite, a NaN comes back quiet.
double narrow_poison(cases::KvStorage storage, double poison) {
    if (std::isnan(poison)) return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
    const double stored = as_stored(storage, {poison})[0];
    const bool beyond = storage == cases::KvStorage::f16 && std::abs(stored) > 65504.0;
    return beyond ? std::copysign(std::numeric_limits<double>::infinity(), stored) : stored;
}

// What lies beyond the length still is the poison.
void still_poisoned(Scene& scene, const Cache& cache, double poison, Text place) {
    if (!scene.subject.can(Capability::storage)) return;
    const Storage storage = cache.storage();
    const std::uint64_t d = scene.one.head_width;
    const std::uint64_t lanes = scene.one.batch * scene.one.kv_heads;
    const std::uint64_t dead = cache.capacity() - cache.length();
    const Array want(lanes * dead * d, scene.one.storage == cases::KvStorage::computing
                                           ? poison
                                           : narrow_poison(scene.one.storage, poison));
    scene.checks.bits([&] { return fmt::format("{}: dead keys", place()); },
                      rows_of(storage.keys, lanes, cache.capacity(), d, cache.length(), dead), want);
    scene.checks.bits([&] { return fmt::format("{}: dead values", place()); },
                      rows_of(storage.values, lanes, cache.capacity(), d, cache.length(), dead), want);
}

// One call and what it did: to a cache whose dead slots nobody touched.
struct Call {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    Answer answer;
    Array keys;
    Array values;
};

Answer call(Scene& scene, Cache& cache, std::uint64_t first, std::uint64_t count) {
    const Array values = scene.x_rows(first, count);
    const Input x = scene.input(values, count);
    return count == 1 ? append(*scene.layer, cache, x) : prefill(*scene.layer, cache, x);
}

// All rows, up to the first that is refused. Every third call takes two at once, where there are two.
std::vector<Call> calls_on(Scene& scene, Cache& clean, std::uint64_t rows) {
    std::vector<Call> calls;
    for (std::uint64_t t = 0; t < rows;) {
        const bool pair = t % 3 == 2 && t + 2 <= rows && scene.subject.can(Capability::prefill);
        Call one = {.first = t,
                    .count = pair ? std::uint64_t{2} : std::uint64_t{1},
                    .answer = {},
                    .keys = {},
                    .values = {}};
        one.answer = call(scene, clean, t, one.count);
        clean.read_live(one.keys, one.values);
        t += one.count;
        calls.push_back(std::move(one));
        if (calls.back().answer.refused()) break;
    }
    return calls;
}

void above_poison(Scene& scene, double poison, std::span<const Call> calls, const Cache& clean) {
    Checks& checks = scene.checks;
    const std::unique_ptr<Cache> dirty = scene.make_cache();
    for (const Call& want : calls) {
        if (checks.failed()) return;
        dirty->poison(poison);
        const Answer got = call(scene, *dirty, want.first, want.count);
        const auto place = [&] { return fmt::format("row {} above {}", want.first, number_text(poison)); };
        checks.tested();
        checks.equal([&] { return place() + ": refusal"; }, got.code, want.answer.code);
        checks.bits([&] { return place() + ": answer"; }, got.y, want.answer.y);
        checks.bits([&] { return place() + ": keys"; }, dirty->live_keys(), want.keys);
        checks.bits([&] { return place() + ": values"; }, dirty->live_values(), want.values);
        still_poisoned(scene, *dirty, poison, place);
        if (want.answer.refused()) return;
    }
    if (checks.failed() || !scene.subject.can(Capability::copy)) return;
    checks.that("equality above poison", dirty->equals(clean), "differ", "equal");
    // After a reset everything is dead.
    const std::uint64_t rows = calls.back().first + calls.back().count;
    dirty->reset();
    dirty->poison(poison);
    const Run again = run_rows(scene, *scene.layer, *dirty, 0, rows);
    checks.equal("after reset and poison", again.code, "");
    checks.bits("after reset and poison: keys", again.keys, calls.back().keys);
}

}  // namespace

Verdict dead_slots_do_not_matter(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::poison, Capability::same_bits}, 16);
    if (!scene) return scene.verdict();
    const std::unique_ptr<Cache> clean = scene.make_cache();
    if (clean == nullptr) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::vector<Call> calls = calls_on(scene, *clean, rows);
    for (const double poison : poisons(one.type)) {
        if (!checks.failed()) above_poison(scene, poison, calls, *clean);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
