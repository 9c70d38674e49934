// With s = 2^k: W_v·s gives v·s and y·s; W_o·s gives y·s; W_q·s with W_k/s gives k/s and y; x·s with W_q/s,
// W_k/s and W_v/s gives the same k, v and y. All by bits: a power of two only moves exponents, in every
// product, sum, rotation, weight and quotient.
//
// That holds as long as nothing is rounded among the subnormal numbers, so the law first looks at every
// number of the computation. A product of two factors of p bits, each 0 or at least 2^-f, is a whole multiple
// of 2^(-2f-2p+2); as long as that is a multiple of the least subnormal number, with room for s, every sum of
// products is either exact there or rounded in the normal range, and the law's floors see to that.
//
// Kills numbers flushed or clamped by a threshold of their own (B17), an epsilon added where only factors
// belong, a scale that is not one factor (B11), and fixed-point numbers on the way.
//
// Stays, whoever else sees its bugs: a threshold or an epsilon that stays within the bound is
// seen by nothing else.

#include "support.hpp"

#include <cmath>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Numbers are 0 or within [2^-floor, 2^40]. A float's product of two, cut by 2^8, is a multiple of 2^-149:
// 40 + 40 + 46 + 8 and 60 + 30 + 46 + 8 are below it; a double has more room still.
struct Floors {
    int numbers;
    int values;
    int weights;
};

Floors floors_of(cases::ElementType type) {
    return type == cases::ElementType::float32 ? Floors{40, 30, 60} : Floors{200, 200, 500};
}

bool between(std::span<const double> numbers, int floor) {
    const double least = std::ldexp(1.0, -floor);
    for (const double number : numbers) {
        const double magnitude = std::abs(number);
        if (magnitude != 0 && !(magnitude >= least && magnitude <= 0x1p40)) return false;
    }
    return true;
}

// Whether no cosine or sine of the rows' angles is so small that a product with it could leave the range.
bool angles_are_far_from_zero(const cases::Case& one, std::uint64_t rows, int floor) {
    const long double least = std::ldexp(1.0L, -floor);
    for (std::uint64_t i = 0; i < one.rope.width / 2; ++i) {
        for (std::uint64_t t = 0; t < rows; ++t) {
            const long double angle =
                static_cast<long double>(one.rope.first + t) *
                std::pow(static_cast<long double>(one.rope.base),
                         -2 * static_cast<long double>(i) / static_cast<long double>(one.rope.width));
            // Tables are within half an ulp, so a factor of two on either side is plenty.
            const bool small = std::abs(std::cos(angle)) < 2 * least || std::abs(std::sin(angle)) < 2 * least;
            if (small && one.rope.first + t != 0) return false;
        }
    }
    return true;
}

// Runs the case's rows and looks at every intermediate number. Empty where the law says nothing of the case.
std::optional<Run> watched_run(Scene& scene, std::uint64_t rows) {
    const Floors floors = floors_of(scene.one.type);
    const std::unique_ptr<Cache> cache = scene.make_cache();
    bool inside = angles_are_far_from_zero(scene.one, rows, floors.numbers) &&
                  between(scene.x_rows(0, rows), floors.numbers);
    for (const Array& weight : scene.weights) {
        inside = inside && between(weight, floors.numbers);
    }
    Run run;
    std::vector<Array> answers;
    for (std::uint64_t t = 0; t < rows && inside; ++t) {
        const Array row = scene.x_rows(t, 1);
        const Outcome<Evidence> step = scene.layer->append_with_evidence(*cache, scene.input(row, 1));
        if (!scene.checks.equal([&] { return fmt::format("row {}", t); }, code_of(step), ""))
            return std::nullopt;
        inside = between(step->projected_queries, floors.numbers) &&
                 between(step->projected_keys, floors.numbers) &&
                 between(step->rotated_queries, floors.numbers) &&
                 between(step->rotated_keys, floors.numbers) &&
                 between(step->projected_values, floors.values) && between(step->weights, floors.weights) &&
                 between(step->merged, floors.numbers) && between(step->output, floors.numbers);
        answers.push_back(step->output);
    }
    if (!inside) return std::nullopt;
    run.y = joined(answers, scene.one.batch, scene.one.width);
    run.keys = cache->live_keys();
    run.values = cache->live_values();
    return run;
}

Array scaled(std::span<const double> numbers, int exponent) {
    Array all(numbers.begin(), numbers.end());
    for (double& number : all) {
        number = std::ldexp(number, exponent);
    }
    return all;
}

// Exponents by which inputs are scaled, and what comes of it.
struct Trial {
    std::string_view what;
    std::array<int, 4> weights;
    int x, keys, values, y;
};

void compare(Scene& scene, const Trial& trial, int k, const Run& plain, std::uint64_t rows) {
    Checks& checks = scene.checks;
    LayerSpec spec = spec_of(scene.one);
    for (std::size_t i = 0; i < 4; ++i) {
        spec.weights[i] = scaled(scene.weights[i], k * trial.weights[i]);
    }
    const Array x = scaled(scene.x_rows(0, rows), k * trial.x);
    const auto layer = scene.subject.make_layer(spec);
    if (!checks.equal([&] { return fmt::format("{}: the layer", trial.what); }, code_of(layer), "")) return;
    const std::unique_ptr<Cache> cache = scene.make_cache(**layer, scene.one.batch, scene.one.capacity);
    for (std::uint64_t t = 0; t < rows && cache != nullptr; ++t) {
        const Array row = rows_of(x, scene.one.batch, rows, scene.one.width, t, 1);
        const Answer answer = append(**layer, *cache, scene.input(row, 1));
        const auto place = [&] { return fmt::format("{} times 2^{}: row {}", trial.what, k, t); };
        if (!checks.equal(place, answer.code, "")) return;
        checks.tested();
        checks.bits(place, answer.y,
                    scaled(rows_of(plain.y, scene.one.batch, rows, scene.one.width, t, 1), k * trial.y));
    }
    if (cache == nullptr || checks.failed()) return;
    checks.bits([&] { return fmt::format("{} times 2^{}: keys", trial.what, k); }, cache->live_keys(),
                scaled(plain.keys, k * trial.keys));
    checks.bits([&] { return fmt::format("{} times 2^{}: values", trial.what, k); }, cache->live_values(),
                scaled(plain.values, k * trial.values));
}

}  // namespace

Verdict powers_of_two_scale_exactly(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::evidence}, 6);
    if (!scene) return scene.verdict();
    if (is_narrow(one)) return vacuous(kUnrounded, checks.counters());
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();
    if (!far_from_overflow(one, scene.weights, scene.x, one.capacity)) {
        return vacuous("numbers may overflow", checks.counters());
    }
    const std::optional<Run> plain = watched_run(scene, rows);
    if (checks.failed()) return checks.verdict();
    if (!plain) return vacuous("a number comes near the subnormal ones", checks.counters());
    constexpr std::array<Trial, 4> kTrials = {{
        {"wv", {0, 0, 1, 0}, 0, 0, 1, 1},
        {"wo", {0, 0, 0, 1}, 0, 0, 0, 1},
        {"wq and 1/wk", {1, -1, 0, 0}, 0, -1, 0, 0},
        {"x and 1/weights", {-1, -1, -1, 0}, 1, 0, 0, 0},
    }};
    const int k = 1 + static_cast<int>(one.values.seed % 7);
    for (const Trial& trial : kTrials) {
        if (checks.failed()) break;
        compare(scene, trial, k, *plain, rows);
        if (!checks.failed()) compare(scene, trial, -k, *plain, rows);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
