#include "trace.hpp"

#include <attest/case/rows.hpp>
#include <attest/case/values.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attest::properties {
namespace {

template <class T>
std::vector<double> widen(std::span<const T> values) {
    return {values.begin(), values.end()};
}

// A refusal of the library on the way to a trace, as words.
struct Refused {
    std::string text;
};

template <class R>
auto value_of(R&& result) {
    if (!result) throw Refused{std::string(name(result.error())) + ": " + describe(result.error()).c_str()};
    return std::move(*result);
}

template <class T>
std::vector<double> snapshot(Result<Tensor<T>> rows) {
    const Tensor<T> tensor = value_of(std::move(rows));
    return widen(tensor.span());
}

template <class T>
class Tracer {
  public:
    explicit Tracer(const cases::Case& one) : case_(one), layer_(make_layer(one)) {
        rows_ = static_cast<std::size_t>(cases::rows_needed(one));
        if (rows_ == 0) throw Refused{"the case has no rows"};
        input_ = fill(one, cases::Tensor::x);
    }

    Trace run() {
        Trace trace;
        trace.geometry = layer_.geometry();
        trace.batch = batch();
        auto cache = new_cache(layer_, case_.capacity);
        trace.steps = steps(cache);
        std::vector<StepRecord> records;
        for (const TraceStep& step : trace.steps) {
            const std::size_t key_rows = step.weights.size() / (batch() * layer_.geometry().heads);
            records.push_back({step.work, key_rows, step.cache_after});
        }
        trace.history = value_of(history_contrast(records));
        trace.reset = reset(cache, trace.steps);
        trace.refusals = refusals();
        return trace;
    }

  private:
    using Layer = MultiHeadAttention<T>;
    using Cache = LayerKvCache<T>;

    static std::vector<T> fill(const cases::Case& one, cases::Tensor tensor) {
        const auto filled = cases::fill<T>(one, tensor);
        if (!filled) throw Refused{filled.error().text()};
        return *filled;
    }

    static Rotary<T> make_rotary(const cases::Case& one) {
        return value_of(
            Rotary<T>::make({.width = one.rope.width,
                             .max_positions = one.rope.positions,
                             .base = one.rope.base,
                             .pairs = one.rope.pairs == cases::Pairs::interleaved ? RotaryPairs::interleaved
                                                                                  : RotaryPairs::half}));
    }

    static Parameter<T> make_parameter(const cases::Case& one, cases::Tensor tensor) {
        const auto shape = cases::shape_of(one, tensor);
        if (!shape) throw Refused{shape.error().text()};
        const std::vector<T> values = fill(one, tensor);
        const Shape matrix{shape->sizes[0], shape->sizes[1]};
        return value_of(Parameter<T>::make(value_of(TensorView<const T>::over(values, matrix))));
    }

    static Layer make_layer(const cases::Case& one) {
        return value_of(Layer::from_parameters(
            make_parameter(one, cases::Tensor::wq), make_parameter(one, cases::Tensor::wk),
            make_parameter(one, cases::Tensor::wv), make_parameter(one, cases::Tensor::wo), one.heads,
            one.kv_heads, make_rotary(one)));
    }

    // The same four parameter nodes under another rotary configuration.
    Layer with_rotary(cases::Variant variant) const {
        const auto parameters = layer_.parameters();
        return value_of(Layer::from_parameters(parameters[0], parameters[1], parameters[2], parameters[3],
                                               case_.heads, case_.kv_heads,
                                               make_rotary(cases::variant_of(case_, variant))));
    }

    Layer other_layer(cases::Variant variant) const { return make_layer(cases::variant_of(case_, variant)); }

    std::size_t batch() const { return static_cast<std::size_t>(case_.batch); }

    Cache new_cache(const Layer& layer, std::size_t capacity) const {
        return value_of(Cache::make(layer, batch(), capacity, case_.rope.first));
    }

    TensorView<const T> rows(std::size_t first, std::size_t count) const {
        const auto all = value_of(
            TensorView<const T>::over(input_, Shape{batch(), rows_, static_cast<std::size_t>(case_.width)}));
        return value_of(all.slice(1, first, count));
    }

    std::vector<TraceStep> steps(Cache& cache) const {
        std::vector<TraceStep> made;
        for (std::size_t row = 0; row < rows_; ++row) {
            TraceStep step;
            step.cache_before = cache.length();
            const auto evidence = value_of(layer_.forward_incremental_with_evidence(rows(row, 1), cache));
            const auto full = value_of(layer_.forward(rows(0, row + 1), cache.first_position()));
            const auto newest = value_of(Tensor<T>::copy_of(value_of(full.view().slice(1, row, 1))));
            step.work = evidence.work;
            step.cache_after = cache.length();
            step.keys = snapshot(cache.keys());
            step.values = snapshot(cache.values());
            step.weights = widen(evidence.weights.span());
            step.output = widen(evidence.output.span());
            step.full_prefix = widen(newest.span());
            for (std::size_t i = 0; i < step.output.size(); ++i) {
                step.max_abs_diff =
                    std::max(step.max_abs_diff, std::fabs(step.output[i] - step.full_prefix[i]));
            }
            made.push_back(std::move(step));
        }
        return made;
    }

    ResetEvidence reset(Cache& cache, const std::vector<TraceStep>& first_run) const {
        ResetEvidence evidence;
        evidence.before = cache.length();
        const T* const keys = cache.key_storage().data();
        const T* const values = cache.value_storage().data();
        const auto stored_keys = widen(cache.key_storage());
        const auto stored_values = widen(cache.value_storage());
        cache.reset();
        evidence.after = cache.length();
        evidence.allocation_reused =
            cache.key_storage().data() == keys && cache.value_storage().data() == values;
        evidence.storage_unchanged =
            widen(cache.key_storage()) == stored_keys && widen(cache.value_storage()) == stored_values;
        evidence.replay_identical = steps(cache) == first_run;
        return evidence;
    }

    // Whether a call against `cache` is refused with `code`, and the cache keeps every byte.
    bool refused(const Layer& layer, const TensorView<const T>& x, Cache& cache, std::string_view code,
                 bool& unchanged) const {
        const auto before = value_of(cache.copy());
        const auto answer = layer.forward_incremental_with_evidence(x, cache);
        unchanged = unchanged && cache.same_bytes(before) && cache == before;
        return !answer && name(answer.error()).starts_with(code);
    }

    RefusalEvidence refusals() const {
        using cases::Variant;
        RefusalEvidence shown;
        const TensorView<const T> single = rows(0, 1);
        const auto against = [&](const Layer& layer, Cache cache, const TensorView<const T>& x,
                                 std::string_view code) {
            return refused(layer, x, cache, code, shown.unchanged);
        };

        const std::size_t width = static_cast<std::size_t>(case_.width);
        std::vector<T> repeated(2 * batch() * width);
        for (std::size_t i = 0; i < repeated.size(); ++i) {
            repeated[i] = single(i / (2 * width), std::size_t{0}, i % width);
        }
        const auto two = value_of(TensorView<const T>::over(repeated, Shape{batch(), std::size_t{2}, width}));
        shown.two_tokens = against(layer_, new_cache(layer_, 1), two, "SingleTokenRequired");

        Cache full = new_cache(layer_, 1);
        value_of(layer_.forward_incremental_with_evidence(single, full));
        shown.full_cache = against(layer_, std::move(full), single, "CacheFull");

        shown.model_mismatch =
            against(layer_, new_cache(other_layer(Variant::wider), 1), single, "CacheModelWidthMismatch");
        shown.head_mismatch =
            against(layer_, new_cache(other_layer(Variant::heads), 1), single, "CacheHeadCountMismatch");
        shown.layer_mismatch =
            against(layer_, new_cache(other_layer(Variant::rebuilt), 1), single, "CacheLayerMismatch");
        shown.rope_mismatch =
            against(with_rotary(Variant::rope_base), new_cache(layer_, 1), single, "CacheRopeMismatch");
        shown.rope_positions_mismatch =
            against(with_rotary(Variant::positions), new_cache(layer_, 1), single, "CacheRopeMismatch");

        // The largest finite input: where the weights do not make the projection itself overflow, the score
        // does.
        const std::vector<T> huge(batch() * width, std::numeric_limits<T>::max());
        const auto largest = value_of(TensorView<const T>::over(huge, Shape{batch(), std::size_t{1}, width}));
        shown.nonfinite_projection = against(layer_, new_cache(layer_, 1), largest, "NonFinite");
        return shown;
    }

    cases::Case case_;
    Layer layer_;
    std::size_t rows_ = 0;
    std::vector<T> input_;
};

}  // namespace

std::expected<Trace, std::string> trace_case(const cases::Case& one) {
    try {
        return one.type == cases::ElementType::float32 ? Tracer<float>(one).run() : Tracer<double>(one).run();
    } catch (const Refused& refused) {
        return std::unexpected(refused.text);
    }
}

}  // namespace attest::properties
