#include <attest/attention.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

#include <attest/random.hpp>

#include "attention_rows.hpp"
#include "cache_state.hpp"
#include "kernels.hpp"
#include "view_walk.hpp"

namespace attest {
namespace {

Result<void> check_heads(std::size_t heads, std::size_t kv_heads) {
    if (heads == 0) {
        return std::unexpected(ZeroHeads{});
    }
    if (kv_heads == 0) {
        return std::unexpected(ZeroKvHeads{});
    }
    if (heads % kv_heads != 0) {
        return std::unexpected(KvHeadsDoNotDivideHeads{heads, kv_heads});
    }
    return {};
}

// Where a call's answer goes must have its shape and name every element once.
template <class T>
Result<void> check_output(const TensorView<T>& y, const Shape& expected) {
    if (y.shape() != expected) {
        return std::unexpected(ShapeMismatch{Stage::output, expected, y.shape()});
    }
    if (!detail::can_write(y)) {
        return std::unexpected(ViewNotWritable{y.shape()});
    }
    return {};
}

template <class T>
Result<StepEvidence<T>> make_evidence(const detail::CacheState<T>& state, Memory& memory) {
    const AttentionGeometry& geometry = state.binding.geometry;
    const std::size_t batch = state.binding.batch_size;
    const Shape query_heads{batch, geometry.heads, std::size_t{1}, geometry.head_width};
    const Shape kv_heads = query_heads.with(1, geometry.kv_heads);
    StepEvidence<T> evidence;
    struct Part {
        Tensor<T>* tensor;
        Shape shape;
    };
    const Part parts[] = {
        {&evidence.projected_queries, query_heads},
        {&evidence.projected_keys, kv_heads},
        {&evidence.projected_values, kv_heads},
        {&evidence.rotated_queries, query_heads},
        {&evidence.rotated_keys, kv_heads},
        {&evidence.weights, query_heads.with(3, state.length + 1)},
        {&evidence.head_outputs, query_heads},
        {&evidence.merged, Shape{batch, std::size_t{1}, geometry.heads * geometry.head_width}},
        {&evidence.output, Shape{batch, std::size_t{1}, geometry.model_width}},
    };
    for (const Part& part : parts) {
        Result<Tensor<T>> tensor = Tensor<T>::zeros(part.shape, memory, Stage::evidence);
        if (!tensor) {
            return std::unexpected(tensor.error());
        }
        *part.tensor = std::move(*tensor);
    }
    return evidence;
}

}  // namespace

template <class T>
Result<MultiHeadAttention<T>> MultiHeadAttention<T>::from_parameters(Parameter<T> wq, Parameter<T> wk,
                                                                     Parameter<T> wv, Parameter<T> wo,
                                                                     std::size_t heads, std::size_t kv_heads,
                                                                     Rotary<T> rotary) {
    if (const Result<void> valid = check_heads(heads, kv_heads); !valid) {
        return std::unexpected(valid.error());
    }
    std::array<Parameter<T>, 4> parameters{std::move(wq), std::move(wk), std::move(wv), std::move(wo)};
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        if (parameters[parameter].shape().rank() != 2) {
            return std::unexpected(WeightRank{parameter, parameters[parameter].shape().rank()});
        }
    }
    const std::size_t rows = parameters[0].shape()[0];
    const std::size_t model_width = parameters[0].shape()[1];
    if (model_width == 0) {
        return std::unexpected(ZeroModelWidth{});
    }
    if (rows % heads != 0) {
        return std::unexpected(HeadsDoNotDivideRows{rows, heads});
    }
    const std::size_t head_width = rows / heads;
    if (head_width == 0) {
        return std::unexpected(ZeroHeadWidth{});
    }
    // kv_heads ≤ heads, so this product fits as heads · head_width does.
    const Shape kv_shape{kv_heads * head_width, model_width};
    const Shape expected[] = {parameters[0].shape(), kv_shape, kv_shape, Shape{model_width, rows}};
    for (std::size_t parameter = 1; parameter < 4; ++parameter) {
        if (parameters[parameter].shape() != expected[parameter]) {
            return std::unexpected(
                WeightShapeMismatch{parameter, expected[parameter], parameters[parameter].shape()});
        }
    }
    if (rotary.config().width > head_width) {
        return std::unexpected(RopeWidthExceedsHead{rotary.config().width, head_width});
    }
    const detail::Kernels<T>* const kernels = detail::choose_kernels_from_environment<T>();
    if (kernels == nullptr) {
        return std::unexpected(KernelsUnavailable{});
    }
    return MultiHeadAttention(std::move(parameters), std::move(rotary),
                              AttentionGeometry{model_width, heads, kv_heads, head_width}, *kernels);
}

template <class T>
Result<MultiHeadAttention<T>> MultiHeadAttention<T>::from_seed(std::uint64_t seed,
                                                               const AttentionGeometry& geometry,
                                                               Rotary<T> rotary, Memory& memory) {
    if (const Result<void> valid = check_heads(geometry.heads, geometry.kv_heads); !valid) {
        return std::unexpected(valid.error());
    }
    if (geometry.model_width == 0) {
        return std::unexpected(ZeroModelWidth{});
    }
    if (geometry.head_width == 0) {
        return std::unexpected(ZeroHeadWidth{});
    }
    std::size_t rows = 0;
    if (__builtin_mul_overflow(geometry.heads, geometry.head_width, &rows)) {
        return std::unexpected(
            ElementCountOverflow{Stage::parameter, Shape{geometry.heads, geometry.head_width}});
    }
    if (rotary.config().width > geometry.head_width) {
        return std::unexpected(RopeWidthExceedsHead{rotary.config().width, geometry.head_width});
    }
    const std::size_t kv_rows = geometry.kv_heads * geometry.head_width;
    SplitMix64 random = SplitMix64::from_seed(seed);
    const auto draw = [&](std::size_t outputs, std::size_t inputs) -> Result<Parameter<T>> {
        Result<Tensor<T>> values = Tensor<T>::zeros(Shape{outputs, inputs}, memory, Stage::parameter);
        if (!values) {
            return std::unexpected(values.error());
        }
        const double bound = xavier_bound(inputs, outputs);
        for (T& value : values->span()) {
            value = static_cast<T>(next_symmetric(random, bound));
        }
        return Parameter<T>::make(values->view(), memory);
    };
    Result<Parameter<T>> wq = draw(rows, geometry.model_width);
    if (!wq) {
        return std::unexpected(wq.error());
    }
    Result<Parameter<T>> wk = draw(kv_rows, geometry.model_width);
    if (!wk) {
        return std::unexpected(wk.error());
    }
    Result<Parameter<T>> wv = draw(kv_rows, geometry.model_width);
    if (!wv) {
        return std::unexpected(wv.error());
    }
    Result<Parameter<T>> wo = draw(geometry.model_width, rows);
    if (!wo) {
        return std::unexpected(wo.error());
    }
    return from_parameters(std::move(*wq), std::move(*wk), std::move(*wv), std::move(*wo), geometry.heads,
                           geometry.kv_heads, std::move(rotary));
}

template <class T>
Result<MultiHeadAttention<T>> MultiHeadAttention<T>::stored_as(KvStorage storage) const {
    if constexpr (!std::is_same_v<T, float>) {
        if (storage != KvStorage::computing) {
            return std::unexpected(StorageUnsupported{storage});
        }
    }
    MultiHeadAttention layer = *this;
    layer.storage_ = storage;
    return layer;
}

template <class T>
Result<Tensor<T>> MultiHeadAttention<T>::forward(const TensorView<const T>& x, std::size_t first_position,
                                                 Memory& memory, Executor& executor) const {
    const Shape& shape = x.shape();
    if (shape.rank() != 3) {
        return std::unexpected(InputRank{shape.rank()});
    }
    if (shape[0] == 0) {
        return std::unexpected(ZeroBatchSize{});
    }
    if (shape[1] == 0) {
        return std::unexpected(ZeroRows{});
    }
    if (shape[2] != geometry_.model_width) {
        return std::unexpected(InputWidthMismatch{geometry_.model_width, shape[2]});
    }
    const std::size_t max_positions = rotary_.config().max_positions;
    if (first_position > max_positions || shape[1] > max_positions - first_position) {
        return std::unexpected(PositionsExceeded{first_position, shape[1], max_positions});
    }
    Result<detail::RowBuffers<T>> buffers =
        detail::RowBuffers<T>::make(memory, geometry_, shape[0], shape[1], shape[1], executor.workers());
    if (!buffers) {
        return std::unexpected(buffers.error());
    }
    Result<Tensor<T>> y = Tensor<T>::zeros(shape, memory, Stage::output);
    if (!y) {
        return y;
    }
    const detail::RowsCall<T> call{*kernels_, executor,       geometry_,
                                   rotary_,   weights(),      shape[0],
                                   shape[1],  first_position, {.storage = storage_}};
    if (const Result<void> done = detail::attend<T>(call, x, *buffers, nullptr); !done) {
        return std::unexpected(done.error());
    }
    std::copy_n(buffers->output.data(), y->size(), y->span().data());
    return y;
}

template <class T>
Result<void> MultiHeadAttention<T>::check_binding(const LayerKvCache<T>& cache) const {
    const detail::CacheBinding<T>& bound = detail::CacheAccess<T>::state(cache).binding;
    const AttentionGeometry& cached = bound.geometry;
    if (cached.model_width != geometry_.model_width) {
        return std::unexpected(CacheModelWidthMismatch{geometry_.model_width, cached.model_width});
    }
    if (cached.heads != geometry_.heads) {
        return std::unexpected(CacheHeadCountMismatch{geometry_.heads, cached.heads});
    }
    if (cached.kv_heads != geometry_.kv_heads) {
        return std::unexpected(CacheKvHeadCountMismatch{geometry_.kv_heads, cached.kv_heads});
    }
    if (cached.head_width != geometry_.head_width) {
        return std::unexpected(CacheHeadWidthMismatch{geometry_.head_width, cached.head_width});
    }
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        if (bound.parameters[parameter].identity() != parameters_[parameter].identity()) {
            return std::unexpected(CacheLayerMismatch{parameter});
        }
    }
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        const std::uint64_t current = parameters_[parameter].revision();
        if (bound.revisions[parameter] != current) {
            return std::unexpected(
                CacheLayerRevisionMismatch{parameter, bound.revisions[parameter], current});
        }
    }
    const RotaryConfig& cached_rope = bound.rotary.config();
    const RotaryConfig& own_rope = rotary_.config();
    if (cached_rope != own_rope) {
        return std::unexpected(CacheRopeMismatch{cached_rope.width, own_rope.width, cached_rope.max_positions,
                                                 own_rope.max_positions, cached_rope.base, own_rope.base,
                                                 cached_rope.pairs == RotaryPairs::interleaved,
                                                 own_rope.pairs == RotaryPairs::interleaved});
    }
    if (bound.storage != storage_) {
        return std::unexpected(CacheStorageMismatch{bound.storage, storage_});
    }
    return {};
}

template <class T>
Result<void> MultiHeadAttention<T>::check_call(const TensorView<const T>& x, const LayerKvCache<T>& cache,
                                               bool single_row) const {
    const Shape& shape = x.shape();
    if (shape.rank() != 3) {
        return std::unexpected(InputRank{shape.rank()});
    }
    if (single_row && shape[1] != 1) {
        return std::unexpected(SingleTokenRequired{shape[1]});
    }
    if (shape[1] == 0) {
        return std::unexpected(ZeroRows{});
    }
    if (shape[0] != cache.batch_size()) {
        return std::unexpected(InputBatchMismatch{cache.batch_size(), shape[0]});
    }
    if (shape[2] != geometry_.model_width) {
        return std::unexpected(InputWidthMismatch{geometry_.model_width, shape[2]});
    }
    if (const Result<void> bound = check_binding(cache); !bound) {
        return bound;
    }
    if (shape[1] > cache.capacity() - cache.length()) {
        return std::unexpected(CacheFull{cache.capacity(), cache.length(), shape[1]});
    }
    return {};
}

template <class T>
Result<void> MultiHeadAttention<T>::compute(const TensorView<const T>& x, const LayerKvCache<T>& cache,
                                            detail::RowBuffers<T>& buffers, StepEvidence<T>* evidence,
                                            Executor& executor) const {
    const detail::RowsCall<T> call{*kernels_,
                                   executor,
                                   geometry_,
                                   rotary_,
                                   weights(),
                                   cache.batch_size(),
                                   x.shape()[1],
                                   cache.first_position(),
                                   detail::CacheAccess<T>::state(cache).prefix()};
    return detail::attend<T>(call, x, buffers, evidence);
}

template <class T>
Result<Ticket> MultiHeadAttention<T>::prepare(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                              const TensorView<T>& y, Executor& executor) const {
    if (const Result<void> valid = check_call(x, cache, true); !valid) {
        return std::unexpected(valid.error());
    }
    if (const Result<void> valid = check_output(y, x.shape()); !valid) {
        return std::unexpected(valid.error());
    }
    const Result<Ticket> ticket = prepare_checked(x, cache, nullptr, executor);
    if (ticket) {
        detail::copy_from_dense(detail::CacheAccess<T>::state(cache).rows.workspace.output.data(), y);
    }
    return ticket;
}

template <class T>
Result<Ticket> MultiHeadAttention<T>::prepare_checked(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                                      StepEvidence<T>* evidence, Executor& executor) const {
    detail::CacheState<T>& state = detail::CacheAccess<T>::state(cache);
    // Whatever was prepared before is about to be overwritten, even if this row is then refused.
    ++state.preparations;
    if (const Result<void> done = compute(x, cache, state.rows.workspace, evidence, executor); !done) {
        return std::unexpected(done.error());
    }
    Ticket ticket;
    ticket.cache_ = state.identity;
    ticket.state_ = state.advances;
    ticket.preparation_ = state.preparations;
    ticket.revisions_ = state.binding.revisions;
    ticket.slot_ = state.length;
    return ticket;
}

template <class T>
Result<void> MultiHeadAttention<T>::forward_incremental(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                                        const TensorView<T>& y, Executor& executor) const {
    const Result<Ticket> ticket = prepare(x, cache, y, executor);
    if (!ticket) {
        return std::unexpected(ticket.error());
    }
    return cache.commit(*ticket);
}

template <class T>
Result<StepEvidence<T>> MultiHeadAttention<T>::forward_incremental_with_evidence(const TensorView<const T>& x,
                                                                                 LayerKvCache<T>& cache,
                                                                                 Memory& memory,
                                                                                 Executor& executor) const {
    if (const Result<void> valid = check_call(x, cache, true); !valid) {
        return std::unexpected(valid.error());
    }
    Result<StepEvidence<T>> evidence = make_evidence(detail::CacheAccess<T>::state(cache), memory);
    if (!evidence) {
        return evidence;
    }
    const Result<Ticket> ticket = prepare_checked(x, cache, &*evidence, executor);
    if (!ticket) {
        return std::unexpected(ticket.error());
    }
    const std::size_t reused = cache.length();
    if (const Result<void> done = cache.commit(*ticket); !done) {
        return std::unexpected(done.error());
    }
    evidence->work = {cache.first_position() + reused, reused + 1, 1, reused};
    evidence->cache_length = cache.length();
    return evidence;
}

template <class T>
Result<void> MultiHeadAttention<T>::prefill(const TensorView<const T>& x, LayerKvCache<T>& cache,
                                            const TensorView<T>& y, Memory& memory,
                                            Executor& executor) const {
    if (const Result<void> valid = check_call(x, cache, false); !valid) {
        return valid;
    }
    if (const Result<void> valid = check_output(y, x.shape()); !valid) {
        return valid;
    }
    const std::size_t rows = x.shape()[1];
    Result<detail::RowBuffers<T>> buffers = detail::RowBuffers<T>::make(
        memory, geometry_, cache.batch_size(), rows, cache.length() + rows, executor.workers());
    if (!buffers) {
        return std::unexpected(buffers.error());
    }
    if (const Result<void> done = compute(x, cache, *buffers, nullptr, executor); !done) {
        return done;
    }
    detail::copy_from_dense(buffers->output.data(), y);
    detail::CacheAccess<T>::state(cache).append(buffers->keys.data(), buffers->values.data(), rows);
    return {};
}

template <class T>
std::array<const T*, 4> MultiHeadAttention<T>::weights() const {
    return {parameters_[0].value().data(), parameters_[1].value().data(), parameters_[2].value().data(),
            parameters_[3].value().data()};
}

template class MultiHeadAttention<float>;
template class MultiHeadAttention<double>;

}  // namespace attest
