#include "attest/properties/scene.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/rows.hpp"
#include "attest/case/values.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace attest::properties {

namespace {

std::uint64_t saturated(const std::optional<std::uint64_t>& value) {
    return value.value_or(UINT64_MAX);
}

std::uint64_t saturated_sum(std::uint64_t left, std::uint64_t right) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

}  // namespace

std::uint64_t multiply_adds(const cases::Case& g, std::uint64_t batch, std::uint64_t rows) {
    const std::uint64_t heads = saturated_sum(g.heads, g.kv_heads);
    const std::uint64_t projections = saturated(product({2, batch, rows, heads, g.head_width, g.width}));
    const std::uint64_t attention = saturated(product({2, batch, rows, rows, g.heads, g.head_width}));
    // A head of no width or a row of no features still costs a visit.
    const std::uint64_t visits = saturated(product({batch, rows, saturated_sum(g.width, heads)}));
    return saturated_sum(visits, saturated_sum(projections, attention));
}

LayerSpec spec_of(const cases::Case& geometry) {
    LayerSpec spec;
    spec.type = geometry.type;
    spec.storage = geometry.storage;
    spec.width = geometry.width;
    spec.heads = geometry.heads;
    spec.kv_heads = geometry.kv_heads;
    spec.head_width = geometry.head_width;
    spec.rope = geometry.rope;
    return spec;
}

std::optional<std::array<Array, 4>> weights_of(const cases::Case& geometry) {
    std::array<Array, 4> weights;
    constexpr std::array tensors = {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv,
                                    cases::Tensor::wo};
    // Shapes first: a law that can't play a case should not fill its smaller tensors either.
    std::uint64_t elements = 0;
    for (const cases::Tensor tensor : tensors) {
        const auto shape = cases::shape_of(geometry, tensor);
        if (!shape) return std::nullopt;
        elements = saturated_sum(elements, shape->elements);
    }
    if (elements > kSubjectWork / 4) return std::nullopt;
    for (std::size_t i = 0; i < 4; ++i) {
        auto filled = cases::fill<double>(geometry, tensors[i]);
        if (!filled) return std::nullopt;
        weights[i] = std::move(*filled);
    }
    return weights;
}

Array rows_of(std::span<const double> x, std::uint64_t batch, std::uint64_t rows, std::uint64_t width,
              std::uint64_t first, std::uint64_t count) {
    Array taken;
    taken.reserve(batch * count * width);
    for (std::uint64_t b = 0; b < batch; ++b) {
        const auto start = x.begin() + static_cast<std::ptrdiff_t>((b * rows + first) * width);
        taken.insert(taken.end(), start, start + static_cast<std::ptrdiff_t>(count * width));
    }
    return taken;
}

Array joined(std::span<const Array> parts, std::uint64_t batch, std::uint64_t width) {
    Array whole;
    for (std::uint64_t b = 0; b < batch; ++b) {
        for (const Array& part : parts) {
            const std::uint64_t rows = width == 0 ? 0 : part.size() / batch / width;
            const auto start = part.begin() + static_cast<std::ptrdiff_t>(b * rows * width);
            whole.insert(whole.end(), start, start + static_cast<std::ptrdiff_t>(rows * width));
        }
    }
    return whole;
}

bool as_predicted(Checks& checks, const Subject& subject, Text place, std::string_view code,
                  const Prediction& prediction) {
    if (!subject.can(Capability::typed_refusals)) {
        // Only whether it was refused means something.
        const bool may_pass = prediction.allows("");
        const bool may_refuse = !prediction.success();
        return checks.that(place, code.empty() ? may_pass : may_refuse, code.empty() ? "no refusal" : code,
                           [&] { return prediction.text(); });
    }
    return checks.that(place, prediction.allows(code), code.empty() ? "no refusal" : code,
                       [&] { return prediction.text(); });
}

bool asks_for_too_much(const Prediction& prediction) {
    return prediction.allows("AllocationFailed") || prediction.allows("ElementCountOverflow");
}

Verdict unable(const Subject& subject, Capability capability) {
    return vacuous(fmt::format("{}{}{}", subject.name(), kUnable, to_text(capability)));
}

Scene::Scene(const cases::Case& the_case, Subject& the_subject, Checks& the_checks,
             std::initializer_list<Capability> needed, std::uint64_t times, std::uint64_t budget)
    : one(the_case), subject(the_subject), checks(the_checks) {
    refuse_or_make(needed, times, budget);
}

Scene::~Scene() {
    if (subject.can(Capability::allocation)) {
        subject.fail_allocation(0);
        subject.limit_allocation(0);
    }
}

void Scene::refuse_or_make(std::initializer_list<Capability> needed, std::uint64_t times,
                           std::uint64_t budget) {
    for (const Capability capability : needed) {
        if (!subject.can(capability)) {
            verdict_ = unable(subject, capability);
            return;
        }
    }
    if (one.storage != cases::KvStorage::computing && !subject.can(Capability::narrow_storage)) {
        verdict_ = unable(subject, Capability::narrow_storage);
        return;
    }
    const bool limited = subject.can(Capability::allocation);
    if (limited) subject.limit_allocation(kAllocationLimit);

    std::optional<std::array<Array, 4>> filled = weights_of(one);
    const Prediction prediction = predict_layer(one, filled ? &*filled : nullptr);
    const bool typed_wall = limited && subject.can(Capability::typed_refusals);
    if ((!filled || !prediction.allows("")) && !typed_wall) {
        verdict_ = unable(subject, limited ? Capability::typed_refusals : Capability::allocation);
        return;
    }
    if (!filled && !subject.can(Capability::seeded_geometry)) {
        verdict_ = unable(subject, Capability::seeded_geometry);
        return;
    }
    LayerSpec spec = spec_of(one);
    if (filled) spec.weights = std::move(*filled);
    Outcome<std::unique_ptr<Layer>> made =
        filled ? subject.make_layer(spec) : subject.make_seeded_layer(spec, one.values.seed);
    as_predicted(checks, subject, "making the layer", code_of(made), prediction);
    if (checks.failed()) {
        verdict_ = checks.verdict();
        return;
    }
    if (!made) {
        verdict_ = vacuous(fmt::format("the layer is refused, as it should be: {}", made.error().code),
                           checks.counters());
        return;
    }
    if (!filled) {
        verdict_ = vacuous("the weights are too large to play", checks.counters());
        return;
    }
    // More rows than this are only offered to be refused; then a few stand for all.
    constexpr std::uint64_t kMostRows = 1024;
    constexpr std::uint64_t kFewRows = 16;
    std::optional<cases::Case> few;
    rows = cases::rows_needed(one);
    if (rows > kMostRows) {
        rows = kFewRows;
        few = one;
        few->steps.assign(1, cases::Step());
        few->steps[0].verb = cases::Verb::prefill;
        few->steps[0].count = kFewRows;
        cases::normalise(*few);
    }
    const std::optional<std::uint64_t> work = product({multiply_adds(one, rows), times});
    if (!work || *work > budget) {
        verdict_ = vacuous("the case is too large for this law", checks.counters());
        return;
    }
    auto inputs = cases::fill<double>(few ? *few : one, cases::Tensor::x);
    if (!inputs) {
        verdict_ = vacuous("the rows are too large to fill", checks.counters());
        return;
    }
    x = std::move(*inputs);
    weights = std::move(spec.weights);
    layer = std::move(*made);
}

std::unique_ptr<Cache> Scene::make_cache(Layer& of, std::uint64_t batch, std::uint64_t capacity) {
    if (one.rope.first != 0 && !subject.can(Capability::first_position)) {
        verdict_ = unable(subject, Capability::first_position);
        return nullptr;
    }
    const Prediction prediction = predict_cache(one, batch, capacity, one.rope.first);
    // Without a limit what is too large may be there all the same, and cost gigabytes.
    if (asks_for_too_much(prediction) && !subject.can(Capability::allocation)) {
        verdict_ = unable(subject, Capability::allocation);
        return nullptr;
    }
    Outcome<std::unique_ptr<Cache>> made = of.make_cache(batch, capacity, one.rope.first);
    // A law that has failed already may still ask for caches on its way out, and gets them.
    if (!as_predicted(checks, subject, "making the cache", code_of(made), prediction)) {
        verdict_ = checks.verdict();
        return nullptr;
    }
    if (!made) {
        verdict_ = vacuous(fmt::format("the cache is refused, as it should be: {}", made.error().code),
                           checks.counters());
        return nullptr;
    }
    return std::move(*made);
}

Array Scene::x_rows(std::uint64_t first, std::uint64_t count) const {
    return rows_of(x, one.batch, rows, one.width, first, count);
}

Input Scene::input(std::span<const double> values, std::uint64_t count, Layout layout) const {
    return {.shape = {one.batch, count, one.width}, .values = values, .layout = layout};
}

std::uint64_t Scene::playable_rows() const {
    return std::min(rows, one.capacity);
}

Answer append(Layer& layer, Cache& cache, const Input& x) {
    Output y;
    y.values.assign(x.values.size(), kUntouched);
    const Outcome<void> done = layer.append(cache, x, y);
    return {.code = std::string(code_of(done)), .y = std::move(y.values)};
}

Answer prefill(Layer& layer, Cache& cache, const Input& x) {
    Output y;
    y.values.assign(x.values.size(), kUntouched);
    const Outcome<void> done = layer.prefill(cache, x, y);
    return {.code = std::string(code_of(done)), .y = std::move(y.values)};
}

}  // namespace attest::properties
