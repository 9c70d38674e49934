#include "attention_rows.hpp"

#include <algorithm>
#include <type_traits>

#include "attention_heads.hpp"
#include "finite.hpp"
#include "narrow.hpp"
#include "view_walk.hpp"

namespace attest::detail {
namespace {

template <class T>
void keep(Tensor<T>* tensor, const T* values) {
    if (tensor != nullptr) {
        std::copy_n(values, tensor->size(), tensor->span().data());
    }
}

// Rows of input that one piece of a projection takes, and features of the output projection: as many of
// either as the kernels' blocks want.
constexpr std::size_t kPieceRows = 192;
constexpr std::size_t kPieceFeatures = 64;

// Whether a matrix goes by in one piece: for one row a sequence it is read from memory as fast as that gives
// it, and every piece begins anew. More rows have pieces that caches hold, more workers pieces to share.
template <class T>
bool reads_whole(const RowsCall<T>& call) {
    return call.rows == 1 && call.executor.workers() == 1;
}

// x [B, n, D] times W [heads·d, D] into [B, heads, n, d].
template <class T>
struct HeadProjection {
    const T* weights;
    T* out;
    std::size_t heads;

    // One head, or for one row a sequence `some` from number `head` on, input rows [first, first + count) of
    // all B · n.
    void run(const RowsCall<T>& call, const T* input, std::size_t head, std::size_t some, std::size_t first,
             std::size_t count) const {
        const std::size_t model_width = call.geometry.model_width;
        const std::size_t head_width = call.geometry.head_width;
        const T* const rows = weights + head * head_width * model_width;
        if (call.rows == 1) {
            call.kernels.project_rows(out + (first * heads + head) * head_width, heads * head_width,
                                      input + first * model_width, model_width, count, rows, model_width,
                                      some * head_width, model_width);
            return;
        }
        for (std::size_t row = first; row < first + count;) {
            const std::size_t batch = row / call.rows;
            const std::size_t here = std::min((batch + 1) * call.rows, first + count) - row;
            T* const target = out + ((batch * heads + head) * call.rows + row % call.rows) * head_width;
            call.kernels.project_rows(target, head_width, input + row * model_width, model_width, here, rows,
                                      model_width, head_width, model_width);
            row += here;
        }
    }
};

template <class T>
void project_heads(const RowsCall<T>& call, const T* input, const HeadProjection<T> (&projections)[3]) {
    const std::size_t rows = call.batch * call.rows;
    const std::size_t heads = projections[0].heads + projections[1].heads + projections[2].heads;
    const std::size_t row_parts = (rows + kPieceRows - 1) / kPieceRows;
    if (reads_whole(call)) {
        auto matrix = [&](std::size_t index, std::size_t) {
            const HeadProjection<T>& all = projections[index % 3];
            const std::size_t first = index / 3 * kPieceRows;
            all.run(call, input, 0, all.heads, first, std::min(kPieceRows, rows - first));
        };
        run_pieces(call.executor, 3 * row_parts, matrix);
        return;
    }
    auto piece = [&](std::size_t index, std::size_t) {
        const std::size_t first = index / heads * kPieceRows;
        std::size_t head = index % heads;
        std::size_t which = 0;
        for (; head >= projections[which].heads; ++which)
            head -= projections[which].heads;
        projections[which].run(call, input, head, 1, first, std::min(kPieceRows, rows - first));
    };
    run_pieces(call.executor, heads * row_parts, piece);
}

// merged [B·n, H·d] times wo [D, H·d] into [B·n, D].
template <class T>
void project_output(const RowsCall<T>& call, const T* merged, T* output) {
    const std::size_t rows = call.batch * call.rows;
    const std::size_t model_width = call.geometry.model_width;
    const std::size_t merged_width = call.geometry.heads * call.geometry.head_width;
    const std::size_t features = reads_whole(call) ? model_width : kPieceFeatures;
    const std::size_t parts = (model_width + features - 1) / features;
    auto piece = [&](std::size_t index, std::size_t) {
        const std::size_t first = index / parts * kPieceRows;
        const std::size_t feature = index % parts * features;
        call.kernels.project_rows(
            output + first * model_width + feature, model_width, merged + first * merged_width, merged_width,
            std::min(kPieceRows, rows - first), call.weights[3] + feature * merged_width, merged_width,
            std::min(features, model_width - feature), merged_width);
    };
    run_pieces(call.executor, parts * ((rows + kPieceRows - 1) / kPieceRows), piece);
}

// first_nonfinite, at the speed of vectors where all are finite.
template <class T>
std::optional<Found> find_nonfinite(const RowsCall<T>& call, const T* values, std::size_t count) {
    return call.kernels.all_finite(values, count) ? std::nullopt : first_nonfinite(values, count);
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

// The new keys or values as they will be stored, so that their own row already sees what later ones will.
Result<void> round_rows(KvStorage storage, float* values, std::size_t count, Stage stage) {
    const auto found = round_all(values, count, storage);
    return found ? Result<void>(
                       std::unexpected(StorageOverflow{stage, *found, static_cast<double>(values[*found])}))
                 : Result<void>();
}

}  // namespace

template <class T>
Result<RowBuffers<T>> RowBuffers<T>::make(Memory& memory, const AttentionGeometry& geometry,
                                          std::size_t batch, std::size_t rows, std::size_t positions,
                                          std::size_t workers) {
    // heads · d is the row count of wq and fits; the merged width needs no check of its own.
    const std::size_t merged_width = geometry.heads * geometry.head_width;
    const Shape kv_shape{batch, geometry.kv_heads, rows, geometry.head_width};
    const HeadRoom room = HeadRoom::of(geometry, batch, rows, positions, workers);
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
        {&made.scores, room.scores, Stage::scores},
        {&made.folds, room.folds, Stage::workspace},
        {&made.denominators, room.denominators, Stage::workspace},
        {&made.merged, Shape{batch, rows, merged_width}, Stage::head_outputs},
        {&made.output, Shape{batch, rows, geometry.model_width}, Stage::output_projection},
    };
    for (const Part& part : parts) {
        // A cache's own is touched here, so that no step takes a page fault; a call's is not worth it.
        Result<Buffer<T>> buffer = rows == 1 ? Buffer<T>::make(memory, part.shape, part.stage)
                                             : Buffer<T>::make_unset(memory, part.shape, part.stage);
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
    T* const queries = buffers.queries.data();
    T* const keys = buffers.keys.data();
    T* const values = buffers.values.data();

    if (!x.is_dense()) {
        copy_to_dense(x, buffers.input.data());
    }
    // Nothing is written to the caller's memory before x was read for the last time.
    const T* const input = x.is_dense() ? x.data() : buffers.input.data();
    if (const auto found = find_nonfinite(call, input, buffers.input.size())) {
        return std::unexpected(NonFiniteInput{found->index, found->value});
    }

    const HeadProjection<T> projections[] = {
        {call.weights[0], queries, geometry.heads},
        {call.weights[1], keys, geometry.kv_heads},
        {call.weights[2], values, geometry.kv_heads},
    };
    project_heads(call, input, projections);
    struct Projected {
        const T* values;
        std::size_t count;
        Stage stage;
        Tensor<T>* kept;
    };
    const Projected projected[] = {
        {queries, query_count, Stage::query_projection,
         evidence == nullptr ? nullptr : &evidence->projected_queries},
        {keys, kv_count, Stage::key_projection, evidence == nullptr ? nullptr : &evidence->projected_keys},
        {values, kv_count, Stage::value_projection,
         evidence == nullptr ? nullptr : &evidence->projected_values},
    };
    for (const Projected& each : projected) {
        if (const auto found = find_nonfinite(call, each.values, each.count)) {
            return std::unexpected(NonFiniteProjection{each.stage, found->index, found->value});
        }
        keep(each.kept, each.values);
    }

    // Values are not rotated.
    rotate_heads(call, geometry.heads, queries);
    if (const auto found = find_nonfinite(call, queries, query_count)) {
        return std::unexpected(NonFiniteRotation{Stage::query_rotation, found->index, found->value});
    }
    rotate_heads(call, geometry.kv_heads, keys);
    if (const auto found = find_nonfinite(call, keys, kv_count)) {
        return std::unexpected(NonFiniteRotation{Stage::key_rotation, found->index, found->value});
    }
    if constexpr (std::is_same_v<T, float>) {
        if (call.prefix.storage != KvStorage::computing) {
            const KvStorage storage = call.prefix.storage;
            if (auto rounded = round_rows(storage, keys, kv_count, Stage::key_storage); !rounded) {
                return rounded;
            }
            if (auto rounded = round_rows(storage, values, kv_count, Stage::value_storage); !rounded) {
                return rounded;
            }
        }
    }

    if (const Result<void> mixed =
            attend_heads(call, buffers, evidence == nullptr ? nullptr : &evidence->weights);
        !mixed) {
        return mixed;
    }

    project_output(call, buffers.merged.data(), buffers.output.data());
    if (const auto found = find_nonfinite(call, buffers.output.data(), buffers.output.size())) {
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
