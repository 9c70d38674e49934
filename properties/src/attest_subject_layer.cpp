#include "attest_subject_parts.hpp"

#include <functional>

namespace attest::properties::detail {

namespace {

RotaryConfig rotary_config(const cases::Rope& rope) {
    return {.width = rope.width,
            .max_positions = rope.positions,
            .base = rope.base,
            .pairs = rope.pairs == cases::Pairs::half ? RotaryPairs::half : RotaryPairs::interleaved};
}

KvStorage storage_of(cases::KvStorage storage) {
    switch (storage) {
        case cases::KvStorage::bf16:
            return KvStorage::bf16;
        case cases::KvStorage::f16:
            return KvStorage::f16;
        case cases::KvStorage::computing:
            break;
    }
    return KvStorage::computing;
}

// A layer that was made, storing as the spec says; or the first refusal.
template <class T>
Outcome<std::unique_ptr<Layer>> stored(const Result<MultiHeadAttention<T>>& layer, cases::KvStorage storage,
                                       CountedMemory& memory) {
    if (!layer) return refused(layer.error());
    Result<MultiHeadAttention<T>> alike = layer->stored_as(storage_of(storage));
    if (!alike) return refused(alike.error());
    return std::make_unique<LibLayer<T>>(std::move(*alike), memory);
}

}  // namespace

template <class T>
Outcome<std::unique_ptr<Layer>> LibLayer<T>::make(const LayerSpec& spec, CountedMemory& memory) {
    const Result<Rotary<T>> rotary = Rotary<T>::make(rotary_config(spec.rope), memory);
    if (!rotary) return refused(rotary.error());
    const std::size_t queries = spec.heads * spec.head_width;
    const std::size_t keys = spec.kv_heads * spec.head_width;
    const std::array<Shape, 4> shapes = {Shape{queries, spec.width}, Shape{keys, spec.width},
                                         Shape{keys, spec.width}, Shape{spec.width, queries}};
    std::array<std::optional<Parameter<T>>, 4> parameters;
    for (std::size_t i = 0; i < 4; ++i) {
        const Result<Placed<T>> placed = place<T>(shapes[i], spec.weights[i], spec.layout);
        if (!placed) return refused(placed.error());
        Result<Parameter<T>> parameter = Parameter<T>::make(placed->view, memory);
        if (!parameter) return refused(parameter.error());
        parameters[i].emplace(std::move(*parameter));
    }
    Result<MultiHeadAttention<T>> layer = MultiHeadAttention<T>::from_parameters(
        *parameters[0], *parameters[1], *parameters[2], *parameters[3], spec.heads, spec.kv_heads, *rotary);
    return stored(layer, spec.storage, memory);
}

template <class T>
Outcome<std::unique_ptr<Layer>> LibLayer<T>::make_seeded(const LayerSpec& spec, std::uint64_t seed,
                                                         CountedMemory& memory) {
    const Result<Rotary<T>> rotary = Rotary<T>::make(rotary_config(spec.rope), memory);
    if (!rotary) return refused(rotary.error());
    const AttentionGeometry geometry = {.model_width = spec.width,
                                        .heads = spec.heads,
                                        .kv_heads = spec.kv_heads,
                                        .head_width = spec.head_width};
    const Result<MultiHeadAttention<T>> layer =
        MultiHeadAttention<T>::from_seed(seed, geometry, *rotary, memory);
    return stored(layer, spec.storage, memory);
}

template <class T>
Outcome<std::unique_ptr<Cache>> LibLayer<T>::make_cache(std::uint64_t batch, std::uint64_t capacity,
                                                        std::uint64_t first_position) {
    Result<LayerKvCache<T>> cache = LayerKvCache<T>::make(layer_, batch, capacity, first_position, memory_);
    if (!cache) return refused(cache.error());
    return std::make_unique<LibCache<T>>(std::move(*cache), memory_);
}

template <class T>
template <class Compute>
auto LibLayer<T>::with_rows(const Input& x, Output& y, Compute compute)
    -> Outcome<typename std::invoke_result_t<Compute, TensorView<const T>, TensorView<T>>::value_type> {
    const Outcome<Shape> x_shape = detail::shape_of(x.shape);
    if (!x_shape) return std::unexpected(x_shape.error());
    const Outcome<Shape> y_shape = y.shape.empty() ? x_shape : detail::shape_of(y.shape);
    if (!y_shape) return std::unexpected(y_shape.error());
    Result<Placed<T>> input = place<T>(*x_shape, x.values, x.layout);
    if (!input) return refused(input.error());
    if (y.layout == Layout::aliased) {
        auto done = compute(TensorView<const T>(input->view), input->view);
        if (!input->virtual_shape) read_back(input->view, y.values);
        if (!done) return refused(done.error());
        if constexpr (std::is_void_v<typename decltype(done)::value_type>) {
            return {};
        } else {
            return std::move(*done);
        }
    }
    const Layout layout = y.layout == Layout::repeated ? Layout::dense : y.layout;
    const std::span<const double> before = y.not_writable ? std::span<const double>() : y.values;
    Result<Placed<T>> output = place<T>(*y_shape, before, layout);
    if (!output) return refused(output.error());
    auto done = compute(TensorView<const T>(input->view), output->view);
    if (!output->virtual_shape) read_back(output->view, y.values);
    y.gaps_intact = gaps_intact(*output);
    if (!done) return refused(done.error());
    if constexpr (std::is_void_v<typename decltype(done)::value_type>) {
        return {};
    } else {
        return std::move(*done);
    }
}

template <class T>
Outcome<void> LibLayer<T>::append(Cache& cache, const Input& x, Output& y) {
    return with_rows(x, y, [&](const TensorView<const T>& rows, const TensorView<T>& answer) {
        return layer_.forward_incremental(rows, static_cast<LibCache<T>&>(cache).cache, answer,
                                          memory_.executor());
    });
}

template <class T>
Outcome<void> LibLayer<T>::prefill(Cache& cache, const Input& x, Output& y) {
    return with_rows(x, y, [&](const TensorView<const T>& rows, const TensorView<T>& answer) {
        return layer_.prefill(rows, static_cast<LibCache<T>&>(cache).cache, answer, memory_,
                              memory_.executor());
    });
}

template <class T>
Outcome<std::unique_ptr<properties::Ticket>> LibLayer<T>::prepare(Cache& cache, const Input& x, Output& y) {
    const Outcome<attest::Ticket> ticket =
        with_rows(x, y, [&](const TensorView<const T>& rows, const TensorView<T>& answer) {
            return layer_.prepare(rows, static_cast<LibCache<T>&>(cache).cache, answer, memory_.executor());
        });
    if (!ticket) return std::unexpected(ticket.error());
    return std::make_unique<LibTicket>(*ticket);
}

template <class T>
Outcome<Array> LibLayer<T>::forward(const Input& x, std::uint64_t first_position) {
    const Outcome<Shape> shape = detail::shape_of(x.shape);
    if (!shape) return std::unexpected(shape.error());
    const Result<Placed<T>> input = place<T>(*shape, x.values, x.layout);
    if (!input) return refused(input.error());
    const Result<Tensor<T>> answer = layer_.forward(input->view, first_position, memory_, memory_.executor());
    if (!answer) return refused(answer.error());
    return read_back(answer->view());
}

template <class T>
Outcome<Evidence> LibLayer<T>::append_with_evidence(Cache& cache, const Input& x) {
    const Outcome<Shape> shape = detail::shape_of(x.shape);
    if (!shape) return std::unexpected(shape.error());
    const Result<Placed<T>> input = place<T>(*shape, x.values, x.layout);
    if (!input) return refused(input.error());
    const Result<StepEvidence<T>> step = layer_.forward_incremental_with_evidence(
        input->view, static_cast<LibCache<T>&>(cache).cache, memory_);
    if (!step) return refused(step.error());
    return Evidence{.projected_queries = read_back(step->projected_queries.view()),
                    .projected_keys = read_back(step->projected_keys.view()),
                    .projected_values = read_back(step->projected_values.view()),
                    .rotated_queries = read_back(step->rotated_queries.view()),
                    .rotated_keys = read_back(step->rotated_keys.view()),
                    .weights = read_back(step->weights.view()),
                    .head_outputs = read_back(step->head_outputs.view()),
                    .merged = read_back(step->merged.view()),
                    .output = read_back(step->output.view()),
                    .key_rows = step->weights.shape()[3],
                    .position = step->work.position,
                    .full_prefix_rows = step->work.full_prefix_rows,
                    .incremental_rows = step->work.incremental_rows,
                    .reused_key_value_rows = step->work.reused_key_value_rows,
                    .cache_length = step->cache_length};
}

template <class T>
Outcome<void> LibLayer<T>::update(std::uint64_t weight, const Input& value) {
    const Outcome<Shape> shape = detail::shape_of(value.shape);
    if (!shape) return std::unexpected(shape.error());
    const Result<Placed<T>> placed = place<T>(*shape, value.values, value.layout);
    if (!placed) return refused(placed.error());
    Parameter<T> parameter = layer_.parameters()[weight];
    const Result<void> done = parameter.update(placed->view);
    if (!done) return refused(done.error());
    return {};
}

template <class T>
Outcome<void> LibLayer<T>::adamw(const std::array<Array, 4>& gradients) {
    if (!optimiser_) {
        Result<AdamW<T>> made = AdamW<T>::make(layer_.parameters(), {}, memory_);
        if (!made) return refused(made.error());
        optimiser_.emplace(std::move(*made));
    }
    std::array<Placed<T>, 4> placed;
    std::array<TensorView<const T>, 4> views;
    for (std::size_t i = 0; i < 4; ++i) {
        Result<Placed<T>> one = place<T>(layer_.parameters()[i].shape(), gradients[i], Layout::dense);
        if (!one) return refused(one.error());
        placed[i] = std::move(*one);
        views[i] = placed[i].view;
    }
    const Result<void> done = optimiser_->step(views);
    if (!done) return refused(done.error());
    return {};
}

template <class T>
std::array<Array, 4> LibLayer<T>::weights() const {
    std::array<Array, 4> values;
    for (std::size_t i = 0; i < 4; ++i) {
        values[i] = read_back(layer_.parameters()[i].value());
    }
    return values;
}

template <class T>
std::array<std::uint64_t, 4> LibLayer<T>::revisions() const {
    std::array<std::uint64_t, 4> revisions{};
    for (std::size_t i = 0; i < 4; ++i) {
        revisions[i] = layer_.parameters()[i].revision();
    }
    return revisions;
}

template <class T>
Outcome<std::unique_ptr<Layer>> LibLayer<T>::share(std::uint64_t heads, std::uint64_t kv_heads,
                                                   const cases::Rope& rope) {
    const Result<Rotary<T>> rotary = Rotary<T>::make(rotary_config(rope), memory_);
    if (!rotary) return refused(rotary.error());
    const auto parameters = layer_.parameters();
    Result<MultiHeadAttention<T>> layer = MultiHeadAttention<T>::from_parameters(
        parameters[0], parameters[1], parameters[2], parameters[3], heads, kv_heads, *rotary);
    if (!layer) return refused(layer.error());
    Result<MultiHeadAttention<T>> alike = layer->stored_as(layer_.storage());
    if (!alike) return refused(alike.error());
    return std::make_unique<LibLayer>(std::move(*alike), memory_);
}

template class LibLayer<float>;
template class LibLayer<double>;

}  // namespace attest::properties::detail
