#include "dump_check.hpp"

#include "attest/properties/scene.hpp"

#include <attest/dump/file.hpp>
#include <attest/reference/verdict.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using Clock = std::chrono::steady_clock;

std::string name_of_file(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

Row row_named(const std::string& name, RowOutcome outcome, std::string verdict) {
    Row row;
    row.name = name;
    row.outcome = outcome;
    row.verdict = std::move(verdict);
    row.cases = 1;
    return row;
}

Row unusable(const std::string& name, const std::string& why) {
    Row row = row_named(name, RowOutcome::unusable, "unusable");
    row.cases = 0;
    row.details.push_back(fmt::format("{}: {}", name, why));
    return row;
}

// One comparison's contribution to a row.
void take(Row& row, const std::string& what, const reference::Comparison& comparison) {
    row.worst = std::max(row.worst, comparison.worst.ratio);
    if (comparison.holds()) return;
    row.outcome = RowOutcome::wrong;
    row.verdict = "WRONG";
    if (comparison.wrong > 0) {
        const reference::Finding& found = comparison.first_wrong;
        row.details.push_back(fmt::format(
            "{}: {}{}: got {}, want {}, allowed {:.6g}, error {:.6g}; {} of {} wrong", row.name, what,
            reference::place_text(found.place), number_text(found.got), number_text(found.want),
            found.allowed, found.error, comparison.wrong, comparison.compared));
    } else {
        row.details.push_back(fmt::format("{}: {}: {} of {} elements have no bound", row.name, what,
                                          comparison.unproved, comparison.compared));
    }
}

Row published(const std::string& name, const reference::Task& task) {
    Row row = row_named(name + " published", RowOutcome::right, "inside");
    const auto verdict = reference::verdict_on(task);
    if (!verdict) return unusable(row.name, verdict.error().subject + ": " + verdict.error().message);
    for (const reference::TensorVerdict& tensor : verdict->tensors) {
        take(row, tensor.name, tensor.comparison);
        for (const reference::Wrong wrong : tensor.blind) {
            row.details.push_back(
                fmt::format("{}: {} is blind to {}", row.name, tensor.name, reference::name_of(wrong)));
        }
    }
    return row;
}

// The layer of a dump on the subject, in one element type.
class OnSubject {
  public:
    OnSubject(const reference::Layer& layer, cases::ElementType type, Subject& subject)
        : layer_(layer), type_(type), subject_(subject) {}

    // Empty when all went well, else which call was refused.
    std::string run() {
        LayerSpec spec;
        spec.type = type_;
        spec.width = layer_.width;
        spec.heads = layer_.heads;
        spec.kv_heads = layer_.kv_heads;
        spec.head_width = layer_.head_width;
        spec.rope = {.pairs = layer_.rope.pairs == reference::RopePairs::half ? cases::Pairs::half
                                                                              : cases::Pairs::interleaved,
                     .width = layer_.rope.width,
                     .base = layer_.rope.base,
                     .positions = layer_.first_position + layer_.length,
                     .first = layer_.first_position};
        spec.weights = {Array(layer_.wq.begin(), layer_.wq.end()), Array(layer_.wk.begin(), layer_.wk.end()),
                        Array(layer_.wv.begin(), layer_.wv.end()), Array(layer_.wo.begin(), layer_.wo.end())};
        auto made = subject_.make_layer(spec);
        if (!made) return "making the layer: " + made.error().text;
        auto cache = (*made)->make_cache(layer_.batch, layer_.length, layer_.first_position);
        auto chunked = (*made)->make_cache(layer_.batch, layer_.length, layer_.first_position);
        if (!cache || !chunked) return "making the cache: " + (cache ? chunked : cache).error().text;

        std::vector<Array> rows;
        for (std::uint64_t t = 0; t < layer_.length; ++t) {
            const Array row = rows_of(layer_.x, layer_.batch, layer_.length, layer_.width, t, 1);
            const Answer answer = append(**made, **cache, input(row, 1));
            if (answer.refused()) return fmt::format("row {}: {}", t, answer.code);
            rows.push_back(answer.y);
        }
        cached = joined(rows, layer_.batch, layer_.width);
        const auto all = (*made)->forward(input(layer_.x, layer_.length), layer_.first_position);
        if (!all) return "the full prefix: " + all.error().text;
        full = *all;
        const Answer at_once = prefill(**made, **chunked, input(layer_.x, layer_.length));
        if (at_once.refused()) return "prefill: " + at_once.code;
        prefilled = at_once.y;
        keys = (*cache)->live_keys();
        values = (*cache)->live_values();
        prefilled_keys = (*chunked)->live_keys();
        return {};
    }

    Array cached, full, prefilled, keys, values, prefilled_keys;

  private:
    Input input(std::span<const double> values_of, std::uint64_t count) const {
        return {.shape = {layer_.batch, count, layer_.width}, .values = values_of};
    }

    const reference::Layer& layer_;
    cases::ElementType type_;
    Subject& subject_;
};

template <class T>
Row own_answers(const std::string& name, const reference::Layer& layer, Subject& subject) {
    constexpr bool narrow = std::is_same_v<T, float>;
    Row row = row_named(fmt::format("{} {}", name, narrow ? "float" : "double"), RowOutcome::right, "inside");
    // Weights that a float can't hold are another problem for it.
    const auto is_narrow = [](std::span<const double> numbers) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [](double number) { return reference::holds(reference::Number::f32, number); });
    };
    if (narrow && !(is_narrow(layer.x) && is_narrow(layer.wq) && is_narrow(layer.wk) && is_narrow(layer.wv) &&
                    is_narrow(layer.wo))) {
        row.cases = 0;
        row.verdict = "not float";
        return row;
    }
    OnSubject own(layer, narrow ? cases::ElementType::float32 : cases::ElementType::float64, subject);
    if (const std::string refused = own.run(); !refused.empty()) {
        row.outcome = RowOutcome::wrong;
        row.verdict = "REFUSED";
        row.details.push_back(fmt::format("{}: {}", row.name, refused));
        return row;
    }
    Checks checks;
    checks.bits("cached rows against the full prefix", own.cached, own.full);
    checks.bits("prefill against the full prefix", own.prefilled, own.full);
    checks.bits("keys of rows one by one against prefill", own.keys, own.prefilled_keys);
    if (checks.failed()) {
        row.outcome = RowOutcome::wrong;
        row.verdict = "OTHER BITS";
        row.details.push_back(fmt::format("{}: {}", row.name, checks.verdict().text()));
        return row;
    }
    const auto judgement = reference::judge(layer, reference::Arithmetic::attest<T>());
    if (!judgement) return unusable(row.name, judgement.error().message);
    take(row, "y", reference::compare(judgement->y, own.cached));
    take(row, "keys", reference::compare(judgement->keys, own.keys));
    take(row, "values", reference::compare(judgement->values, own.values));
    return row;
}

}  // namespace

std::vector<Row> check_dump(const std::string& path, const SubjectMaker& make,
                            const std::function<void(const std::string&)>& progress) {
    const std::string name = name_of_file(path);
    const auto file = dump::read(path);
    if (!file) return {unusable(name, file.error().text())};
    const auto task = reference::task_of(*file);
    if (!task) return {unusable(name, task.error().subject + ": " + task.error().message)};

    std::vector<Row> rows;
    const auto timed = [&](const auto& work) {
        if (progress)
            progress(fmt::format("{}: {}", name, rows.empty() ? "published answers" : "own answers"));
        const Clock::time_point start = Clock::now();
        Row row = work();
        row.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        rows.push_back(std::move(row));
    };
    if (!task->answers().empty()) timed([&] { return published(name, *task); });
    if (const auto* const layer = std::get_if<reference::Layer>(&task->problem())) {
        const std::unique_ptr<Subject> subject = make();
        timed([&] { return own_answers<float>(name, *layer, *subject); });
        timed([&] { return own_answers<double>(name, *layer, *subject); });
    }
    if (rows.empty()) rows.push_back(unusable(name, "there is nothing to judge"));
    return rows;
}

}  // namespace attest::properties
