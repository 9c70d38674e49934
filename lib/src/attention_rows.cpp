#include "attention_rows.hpp"

#include <algorithm>
#include <cmath>

#include "finite.hpp"
#include "view_walk.hpp"

namespace attest::detail {
namespace {

template <class T>
void keep(Tensor<T>* tensor, const T* values) {
    if (tensor != nullptr) {
        std::copy_n(values, tensor->size(), tensor->span().data());
    }
}

// [B, n, D] times W [heads·d, D] into [B, heads, n, d].
template <class T>
void project_heads(const RowsCall<T>& call, const T* weights, std::size_t heads, const T* input,
                   T* projected) {
    const std::size_t model_width = call.geometry.model_width;
    const std::size_t head_width = call.geometry.head_width;
    for (std::size_t batch = 0; batch < call.batch; ++batch) {
        for (std::size_t row = 0; row < call.rows; ++row) {
            const T* const x = input + (batch * call.rows + row) * model_width;
            for (std::size_t head = 0; head < heads; ++head) {
                T* const out = projected + ((batch * heads + head) * call.rows + row) * head_width;
                call.kernels.project(out, weights + head * head_width * model_width, model_width, head_width,
                                     x, model_width);
            }
        }
    }
}

// Turns every row of [B, heads, n, d] to its absolute position.
template <class T>
void rotate_heads(const RowsCall<T>& call, std::size_t heads, T* projected) {
    const RotaryConfig& config = call.rotary.config();
    const std::size_t half = config.width / 2;
    if (half == 0) {
        return;
    }
    const std::size_t first = call.first_position + call.prefix.length;
    for (std::size_t lane = 0; lane < call.batch * heads; ++lane) {
        for (std::size_t row = 0; row < call.rows; ++row) {
            const std::size_t entry = (first + row) * half;
            call.kernels.rotate(projected + (lane * call.rows + row) * call.geometry.head_width,
                                call.rotary.cosines().data() + entry, call.rotary.sines().data() + entry,
                                config.width, config.pairs);
        }
    }
}

// The rows that query row `row` of key/value lane `lane` sees, by logical position: cached ones, then new
// ones.
template <class T>
PositionRows<T> visible_rows(const RowsCall<T>& call, std::size_t lane, std::size_t row, const T* cached,
                             const T* candidates) {
    const std::size_t width = call.geometry.head_width;
    const T* const retained = cached == nullptr ? nullptr : cached + lane * call.prefix.capacity * width;
    return {{retained, width, call.prefix.length}, {candidates + lane * call.rows * width, width, row + 1}};
}

template <class T>
Result<void> mix_heads(const RowsCall<T>& call, RowBuffers<T>& buffers, Tensor<T>* weights) {
    const AttentionGeometry& geometry = call.geometry;
    const std::size_t width = geometry.head_width;
    const std::size_t group = geometry.heads / geometry.kv_heads;
    const T scale = T(1) / std::sqrt(static_cast<T>(width));
    const std::size_t longest = call.prefix.length + call.rows;
    for (std::size_t batch = 0; batch < call.batch; ++batch) {
        for (std::size_t head = 0; head < geometry.heads; ++head) {
            const std::size_t lane = batch * geometry.heads + head;
            const std::size_t kv_lane = batch * geometry.kv_heads + head / group;
            for (std::size_t row = 0; row < call.rows; ++row) {
                const std::size_t flat_row = lane * call.rows + row;
                const auto keys = visible_rows(call, kv_lane, row, call.prefix.keys, buffers.keys.data());
                const auto values =
                    visible_rows(call, kv_lane, row, call.prefix.values, buffers.values.data());
                const std::size_t positions = keys.size();
                T* const scores = buffers.scores.data();

                call.kernels.scores(scores, buffers.queries.data() + flat_row * width, keys, width, scale);
                if (const auto found = first_nonfinite(scores, positions)) {
                    return std::unexpected(NonFiniteScore{flat_row * longest + found->index, found->value});
                }
                const T maximum = call.kernels.maximum(scores, positions);
                call.kernels.exponentials(scores, scores, positions, maximum);
                // At least one weight is exp(0) = 1 and none is negative: the denominator is finite and ≥ 1.
                const T denominator = call.kernels.sum(scores, positions);

                T* const out =
                    buffers.merged.data() + ((batch * call.rows + row) * geometry.heads + head) * width;
                call.kernels.mix(out, scores, values, width, buffers.folds.data());
                if (const auto found = first_nonfinite(out, width)) {
                    return std::unexpected(
                        NonFiniteHeadOutput{flat_row * width + found->index, found->value});
                }
                for (std::size_t feature = 0; feature < width; ++feature) {
                    out[feature] /= denominator;
                }
                if (weights != nullptr) {
                    T* const kept = weights->span().data() + flat_row * longest;
                    for (std::size_t position = 0; position < positions; ++position) {
                        kept[position] = scores[position] / denominator;
                    }
                }
            }
        }
    }
    return {};
}

}  // namespace

template <class T>
Result<RowBuffers<T>> RowBuffers<T>::make(Memory& memory, const AttentionGeometry& geometry,
                                          std::size_t batch, std::size_t rows, std::size_t positions) {
    // heads · d is the row count of wq and fits; the merged width needs no check of its own.
    const std::size_t merged_width = geometry.heads * geometry.head_width;
    const Shape kv_shape{batch, geometry.kv_heads, rows, geometry.head_width};
    RowBuffers made;
    struct Part {
        Buffer<T>* buffer;
        Shape shape;
        Stage stage;
    };
    const Part parts[] = {
        {&made.input, Shape{batch, rows, geometry.model_width}, Stage::input},
        {&made.queries, Shape{batch, geometry.heads, rows, geometry.head_width}, Stage::query_projection},
        {&made.keys, kv_shape, Stage::key_projection},
        {&made.values, kv_shape, Stage::value_projection},
        {&made.scores, Shape{positions}, Stage::scores},
        {&made.folds, Shape{mix_scratch_rows(positions), geometry.head_width}, Stage::workspace},
        {&made.merged, Shape{batch, rows, merged_width}, Stage::head_outputs},
        {&made.output, Shape{batch, rows, geometry.model_width}, Stage::output_projection},
    };
    for (const Part& part : parts) {
        Result<Buffer<T>> buffer = Buffer<T>::make(memory, part.shape, part.stage);
        if (!buffer) {
            return std::unexpected(buffer.error());
        }
        *part.buffer = std::move(*buffer);
    }
    return made;
}

template <class T>
Result<void> attend(const RowsCall<T>& call, const TensorView<const T>& x, RowBuffers<T>& buffers,
                    StepEvidence<T>* evidence) {
    const AttentionGeometry& geometry = call.geometry;
    const std::size_t query_count = call.batch * geometry.heads * call.rows * geometry.head_width;
    const std::size_t kv_count = call.batch * geometry.kv_heads * call.rows * geometry.head_width;
    const std::size_t merged_width = geometry.heads * geometry.head_width;
    T* const input = buffers.input.data();
    T* const queries = buffers.queries.data();
    T* const keys = buffers.keys.data();
    T* const values = buffers.values.data();

    copy_to_dense(x, input);
    if (const auto found = first_nonfinite(input, buffers.input.size())) {
        return std::unexpected(NonFiniteInput{found->index, found->value});
    }

    struct Projection {
        T* out;
        std::size_t heads;
        std::size_t count;
        Stage stage;
        Tensor<T>* kept;
    };
    const Projection projections[] = {
        {queries, geometry.heads, query_count, Stage::query_projection,
         evidence == nullptr ? nullptr : &evidence->projected_queries},
        {keys, geometry.kv_heads, kv_count, Stage::key_projection,
         evidence == nullptr ? nullptr : &evidence->projected_keys},
        {values, geometry.kv_heads, kv_count, Stage::value_projection,
         evidence == nullptr ? nullptr : &evidence->projected_values},
    };
    for (std::size_t which = 0; which < 3; ++which) {
        const Projection& projection = projections[which];
        project_heads(call, call.weights[which], projection.heads, input, projection.out);
        if (const auto found = first_nonfinite(projection.out, projection.count)) {
            return std::unexpected(NonFiniteProjection{projection.stage, found->index, found->value});
        }
        keep(projection.kept, projection.out);
    }

    // Values are not rotated.
    rotate_heads(call, geometry.heads, queries);
    if (const auto found = first_nonfinite(queries, query_count)) {
        return std::unexpected(NonFiniteRotation{Stage::query_rotation, found->index, found->value});
    }
    rotate_heads(call, geometry.kv_heads, keys);
    if (const auto found = first_nonfinite(keys, kv_count)) {
        return std::unexpected(NonFiniteRotation{Stage::key_rotation, found->index, found->value});
    }

    if (const Result<void> mixed =
            mix_heads(call, buffers, evidence == nullptr ? nullptr : &evidence->weights);
        !mixed) {
        return mixed;
    }

    for (std::size_t row = 0; row < call.batch * call.rows; ++row) {
        call.kernels.project(buffers.output.data() + row * geometry.model_width, call.weights[3],
                             merged_width, geometry.model_width, buffers.merged.data() + row * merged_width,
                             merged_width);
    }
    if (const auto found = first_nonfinite(buffers.output.data(), buffers.output.size())) {
        return std::unexpected(NonFiniteOutput{found->index, found->value});
    }
    if (evidence != nullptr) {
        keep(&evidence->rotated_queries, queries);
        keep(&evidence->rotated_keys, keys);
        // One row: [B, H, 1, d] and [B, 1, H·d] are the same elements in the same order.
        keep(&evidence->head_outputs, buffers.merged.data());
        keep(&evidence->merged, buffers.merged.data());
        keep(&evidence->output, buffers.output.data());
    }
    return {};
}

template struct RowBuffers<float>;
template struct RowBuffers<double>;
template Result<void> attend(const RowsCall<float>&, const TensorView<const float>&, RowBuffers<float>&,
                             StepEvidence<float>*);
template Result<void> attend(const RowsCall<double>&, const TensorView<const double>&, RowBuffers<double>&,
                             StepEvidence<double>*);

}  // namespace attest::detail
