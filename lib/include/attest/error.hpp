// Every refusal of the library, one struct each. Nothing throws; a refusal leaves its objects as they were.
//
//     auto done = layer.forward_incremental(x, cache, y);
//     if (!done) {
//         if (const auto* full = done.error().get_if<attest::CacheFull>()) { grow(full->capacity); }
//         else { std::fputs(attest::describe(done.error()).c_str(), stderr); }
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <type_traits>
#include <variant>

#include <attest/shape.hpp>
#include <attest/storage.hpp>

namespace attest {

/// Stage names the step of a computation, or the buffer, in which something went wrong.
enum class Stage : std::uint8_t {
    input,
    query_projection,
    key_projection,
    value_projection,
    query_rotation,
    key_rotation,
    scores,
    head_outputs,
    output_projection,
    output,
    parameter,
    update,
    gradient,
    moments,
    rotary_table,
    key_storage,
    value_storage,
    key_snapshot,
    value_snapshot,
    workspace,
    evidence,
    tensor,
};

[[nodiscard]] std::string_view name(Stage stage);

// ---- sizes and memory

/// A product of lengths, or its size in bytes, does not fit std::size_t.
struct ElementCountOverflow {
    Stage stage;
    Shape shape;
};

/// Memory for `elements` elements (`bytes` bytes) could not be had. Free some, or ask for less, and call
/// again.
struct AllocationFailed {
    Stage stage;
    std::size_t elements;
    std::size_t bytes;
};

/// A shape has more axes than the four a tensor can have.
struct RankUnsupported {
    std::size_t rank;
};

// ---- tensors and views

/// A view's farthest element would lie outside its storage of `storage` elements.
struct ViewOutOfStorage {
    Shape shape;
    std::size_t storage;
};

/// An axis that does not exist, a slice beyond an axis' end, or a broadcast of an axis longer than one.
struct ViewAxisInvalid {
    std::size_t axis;
    std::size_t first;
    std::size_t length;
    Shape shape;
};

/// Writing through a view in which two indices may name one element has no meaning.
struct ViewNotWritable {
    Shape shape;
};

/// A tensor given for `stage` must have shape `expected`.
struct ShapeMismatch {
    Stage stage;
    Shape expected;
    Shape actual;
};

// ---- parameters and their updates

/// A weight is not finite when the parameter is made. `index` is flat, row-major.
struct NonFiniteParameter {
    std::size_t index;
    double value;
};

/// An update would store a non-finite weight in parameter `parameter` (0 for a single update). Nothing was
/// stored.
struct NonFiniteUpdate {
    std::size_t parameter;
    std::size_t index;
    double value;
};

/// A gradient is not finite. No parameter moved.
struct NonFiniteGradient {
    std::size_t parameter;
    std::size_t index;
    double value;
};

/// The optimiser steps `expected` parameters and was given `actual` gradients.
struct GradientCountMismatch {
    std::size_t expected;
    std::size_t actual;
};

struct GradientShapeMismatch {
    std::size_t parameter;
    Shape expected;
    Shape actual;
};

/// Two of the optimiser's parameters are one and the same node.
struct DuplicateParameter {
    std::size_t first;
    std::size_t second;
};

enum class Hyperparameter : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };

/// An optimiser option lies outside its domain (see AdamWOptions).
struct HyperparameterInvalid {
    Hyperparameter which;
    double value;
};

[[nodiscard]] std::string_view name(Hyperparameter which);

// ---- rotary position embedding

struct RopeWidthOdd {
    std::size_t width;
};
struct RopeBaseInvalid {
    double base;
};
struct RopeZeroPositions {};
struct RopeWidthExceedsHead {
    std::size_t rope_width;
    std::size_t head_width;
};

// ---- layers

struct ZeroHeads {};
struct ZeroKvHeads {};
struct ZeroModelWidth {};
struct ZeroHeadWidth {};

/// Grouped heads need kv_heads to divide heads.
struct KvHeadsDoNotDivideHeads {
    std::size_t heads;
    std::size_t kv_heads;
};

/// Parameter `parameter` (0 wq, 1 wk, 2 wv, 3 wo) is not a matrix.
struct WeightRank {
    std::size_t parameter;
    std::size_t rank;
};

/// wq has `rows` rows, which `heads` heads cannot share evenly.
struct HeadsDoNotDivideRows {
    std::size_t rows;
    std::size_t heads;
};

struct WeightShapeMismatch {
    std::size_t parameter;
    Shape expected;
    Shape actual;
};

/// The environment variable ATTEST_SIMD asks for kernels that do not exist or that this machine cannot run.
struct KernelsUnavailable {};

/// Narrow storage is for layers of float.
struct StorageUnsupported {
    KvStorage storage;
};

// ---- caches

struct ZeroBatchSize {};
struct ZeroCapacity {};

/// first_position + capacity reaches beyond the positions the layer's rotary table holds.
struct CapacityExceedsPositions {
    std::size_t first_position;
    std::size_t capacity;
    std::size_t max_positions;
};

// ---- calls

/// The input must have rank three: [batch, rows, model_width].
struct InputRank {
    std::size_t rank;
};
/// One row a call is what forward_incremental and prepare take; prefill takes more.
struct SingleTokenRequired {
    std::size_t tokens;
};
struct ZeroRows {};
struct InputBatchMismatch {
    std::size_t cache;
    std::size_t input;
};
struct InputWidthMismatch {
    std::size_t expected;
    std::size_t actual;
};
struct CacheModelWidthMismatch {
    std::size_t layer;
    std::size_t cache;
};
struct CacheHeadCountMismatch {
    std::size_t layer;
    std::size_t cache;
};
struct CacheKvHeadCountMismatch {
    std::size_t layer;
    std::size_t cache;
};
struct CacheHeadWidthMismatch {
    std::size_t layer;
    std::size_t cache;
};

/// The cache was made for other parameter nodes: make a new cache from this layer. Reset does not rebind.
struct CacheLayerMismatch {
    std::size_t parameter;
};

/// Parameter `parameter` was updated since the cache was made: make a new cache. Reset does not refresh.
struct CacheLayerRevisionMismatch {
    std::size_t parameter;
    std::uint64_t cache;
    std::uint64_t layer;
};

/// The cache was made under another rotary configuration.
struct CacheRopeMismatch {
    std::size_t cache_width;
    std::size_t layer_width;
    std::size_t cache_max_positions;
    std::size_t layer_max_positions;
    double cache_base;
    double layer_base;
    bool cache_interleaved;
    bool layer_interleaved;
};

/// The cache stores keys and values otherwise than the layer: make a new cache from this layer, or use the
/// layer it was made from.
struct CacheStorageMismatch {
    KvStorage cache;
    KvStorage layer;
};

/// `rows` more rows do not fit. Reset the cache, or make a larger one and replay.
struct CacheFull {
    std::size_t capacity;
    std::size_t length;
    std::size_t rows;
};

/// A full prefix from first_position on needs positions that the rotary table does not hold.
struct PositionsExceeded {
    std::size_t first_position;
    std::size_t rows;
    std::size_t max_positions;
};

/// Why a ticket can no longer be committed.
enum class StaleReason : std::uint8_t {
    another_cache,  ///< it was prepared for another cache
    moved_on,       ///< the cache was appended to or reset since
    superseded,     ///< its prepared row was discarded, or overwritten by later work in the same workspace
    updated,        ///< a parameter was updated since
};

[[nodiscard]] std::string_view name(StaleReason reason);

/// Nothing was committed. Prepare the row again.
struct StaleTicket {
    StaleReason reason;
    std::size_t ticket;  ///< its index in commit_all; 0 for commit
};

// ---- values that leave the finite numbers

/// `index` is flat in the stage's own tensor; `value` is what was met there.
struct NonFiniteInput {
    std::size_t index;
    double value;
};
/// Finite input and weights whose projection overflows; stage is query_, key_ or value_projection.
struct NonFiniteProjection {
    Stage stage;
    std::size_t index;
    double value;
};
/// stage is query_rotation or key_rotation.
struct NonFiniteRotation {
    Stage stage;
    std::size_t index;
    double value;
};
/// A turned key (stage key_storage) or a value (value_storage) rounds beyond the largest number of the
/// layer's narrow storage. index is flat in [batch, kv_heads, rows, head_width]; scale it down, or store it
/// wider.
struct StorageOverflow {
    Stage stage;
    std::size_t index;
    double value;
};
/// index is flat in [batch, heads, rows, keys].
struct NonFiniteScore {
    std::size_t index;
    double value;
};
/// The weighted sum of values overflows; index is flat in [batch, heads, rows, head_width].
struct NonFiniteHeadOutput {
    std::size_t index;
    double value;
};
struct NonFiniteOutput {
    std::size_t index;
    double value;
};

// ---- threads

/// A pool needs at least the calling thread.
struct ZeroWorkers {};

/// The system gave `started` of `workers` threads, the calling one among them. Ask for fewer.
struct ThreadsUnavailable {
    std::size_t workers;
    std::size_t started;
};

// ---- work accounting

struct HistoryEmpty {};

/// Record `step` contradicts itself: key rows, cache length and row counts must agree.
struct HistoryInconsistent {
    std::size_t step;
};

/// Refusal is any one of the list above.
using Refusal =
    std::variant<ElementCountOverflow, AllocationFailed, RankUnsupported, ViewOutOfStorage, ViewAxisInvalid,
                 ViewNotWritable, ShapeMismatch, NonFiniteParameter, NonFiniteUpdate, NonFiniteGradient,
                 GradientCountMismatch, GradientShapeMismatch, DuplicateParameter, HyperparameterInvalid,
                 RopeWidthOdd, RopeBaseInvalid, RopeZeroPositions, RopeWidthExceedsHead, ZeroHeads,
                 ZeroKvHeads, ZeroModelWidth, ZeroHeadWidth, KernelsUnavailable, KvHeadsDoNotDivideHeads,
                 WeightRank, HeadsDoNotDivideRows, WeightShapeMismatch, ZeroBatchSize, ZeroCapacity,
                 CapacityExceedsPositions, InputRank, SingleTokenRequired, ZeroRows, InputBatchMismatch,
                 InputWidthMismatch, CacheModelWidthMismatch, CacheHeadCountMismatch,
                 CacheKvHeadCountMismatch, CacheHeadWidthMismatch, CacheLayerMismatch,
                 CacheLayerRevisionMismatch, CacheRopeMismatch, CacheFull, PositionsExceeded, StaleTicket,
                 NonFiniteInput, NonFiniteProjection, NonFiniteRotation, NonFiniteScore, NonFiniteHeadOutput,
                 NonFiniteOutput, ZeroWorkers, ThreadsUnavailable, HistoryEmpty, HistoryInconsistent,
                 StorageUnsupported, CacheStorageMismatch, StorageOverflow>;

class Error;

/// Whether an Error can be made of an R: of one of the list above, and of nothing else.
template <class R>
concept OneRefusal = !std::is_same_v<std::remove_cvref_t<R>, Error> && std::is_constructible_v<Refusal, R>;

/// Error is one refusal of the list above: trivially copyable, with everything it says inline.
class Error {
  public:
    using Refusal = attest::Refusal;

    template <OneRefusal R>
    constexpr Error(R refusal) : refusal_(refusal) {}

    template <class R>
    [[nodiscard]] constexpr const R* get_if() const {
        return std::get_if<R>(&refusal_);
    }
    template <class R>
    [[nodiscard]] constexpr bool is() const {
        return std::holds_alternative<R>(refusal_);
    }
    [[nodiscard]] constexpr const Refusal& refusal() const { return refusal_; }

  private:
    Refusal refusal_;
};

static_assert(std::is_trivially_copyable_v<Error>);

template <class T>
using Result = std::expected<T, Error>;

/// name is the refusal's type as text: "CacheFull".
[[nodiscard]] std::string_view name(const Error& error);

/// Message is a refusal in words, held inline so that describing a failed allocation allocates nothing.
struct Message {
    static constexpr std::size_t kCapacity = 384;
    char text[kCapacity];
    std::size_t length;

    [[nodiscard]] const char* c_str() const { return text; }
    [[nodiscard]] std::string_view view() const { return {text, length}; }
};

/// describe says what differed and what the caller does next.
[[nodiscard]] Message describe(const Error& error);

}  // namespace attest
