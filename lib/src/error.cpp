#include <attest/error.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace attest {
namespace {

// Writer appends words to a Message and stops at its end; a message never allocates.
class Writer {
  public:
    explicit Writer(Message& message) : message_(message) {
        message_.length = 0;
        message_.text[0] = '\0';
    }

    void put(const char* text) { print("%s", text); }
    void put(std::string_view text) { print("%.*s", static_cast<int>(text.size()), text.data()); }
    void put(std::size_t number) { print("%zu", number); }
    void put(double number) { print("%.17g", number); }
    void put(Stage stage) { put(name(stage)); }
    void put(KvStorage storage) { put(name(storage)); }
    void put(const Shape& shape) {
        put("[");
        for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
            put(axis == 0 ? "" : ", ");
            put(shape[axis]);
        }
        put("]");
    }

  private:
    template <class... Values>
    void print(const char* format, Values... values) {
        const std::size_t room = Message::kCapacity - message_.length;
        const int written = std::snprintf(message_.text + message_.length, room, format, values...);
        if (written > 0) {
            message_.length += std::min(static_cast<std::size_t>(written), room - 1);
        }
    }

    Message& message_;
};

template <class... Parts>
void say(Writer& writer, const Parts&... parts) {
    (writer.put(parts), ...);
}

constexpr const char* kParameterNames[] = {"wq", "wk", "wv", "wo"};

const char* weight(std::size_t parameter) {
    return parameter < 4 ? kParameterNames[parameter] : "?";
}

const char* pairs(bool interleaved) {
    return interleaved ? "interleaved" : "half";
}

// One overload a refusal, each beside its name: a refusal without words does not compile.
#define ATTEST_REFUSAL(Refusal, ...)                           \
    std::string_view name_of(const Refusal&) {                 \
        return #Refusal;                                       \
    }                                                          \
    void words([[maybe_unused]] const Refusal& e, Writer& w) { \
        say(w, __VA_ARGS__);                                   \
    }

ATTEST_REFUSAL(ElementCountOverflow, "the ", e.stage, " of shape ", e.shape,
               " has more elements or bytes than a size can count; make it smaller")
ATTEST_REFUSAL(AllocationFailed, "cannot allocate ", e.elements, " elements (", e.bytes, " bytes) for the ",
               e.stage, "; nothing changed, free memory or ask for less")
ATTEST_REFUSAL(RankUnsupported, "rank ", e.rank, " exceeds the four axes a tensor can have")
ATTEST_REFUSAL(ViewOutOfStorage, "a view of shape ", e.shape, " reaches outside its storage of ", e.storage,
               " elements; pass the whole storage, or other strides")
ATTEST_REFUSAL(ViewAxisInvalid, "axis ", e.axis, ", first ", e.first, ", length ", e.length,
               " is not in shape ", e.shape)
ATTEST_REFUSAL(ViewNotWritable, "an output of shape ", e.shape,
               " names one element by two indices; pass a view without repeated or interlaced elements")
ATTEST_REFUSAL(ShapeMismatch, "the ", e.stage, " must have shape ", e.expected, ", got ", e.actual)
ATTEST_REFUSAL(NonFiniteParameter, "weight at flat index ", e.index, " must be finite, got ", e.value)
ATTEST_REFUSAL(NonFiniteUpdate, "update of parameter ", e.parameter, " would store ", e.value,
               " at flat index ", e.index, "; no parameter changed")
ATTEST_REFUSAL(NonFiniteGradient, "gradient of parameter ", e.parameter, " at flat index ", e.index,
               " must be finite, got ", e.value, "; no parameter changed")
ATTEST_REFUSAL(GradientCountMismatch, "the optimiser steps ", e.expected, " parameters, got ", e.actual,
               " gradients")
ATTEST_REFUSAL(GradientShapeMismatch, "gradient of parameter ", e.parameter, " must have shape ", e.expected,
               ", got ", e.actual)
ATTEST_REFUSAL(DuplicateParameter, "parameters ", e.first, " and ", e.second, " are one node; pass each once")
ATTEST_REFUSAL(HyperparameterInvalid, name(e.which), " ", e.value, " lies outside its domain")
ATTEST_REFUSAL(RopeWidthOdd, "RoPE turns pairs of features; width ", e.width, " is odd")
ATTEST_REFUSAL(RopeBaseInvalid, "the RoPE base must be finite and above 0, got ", e.base)
ATTEST_REFUSAL(RopeZeroPositions, "a RoPE table needs at least one position")
ATTEST_REFUSAL(RopeWidthExceedsHead, "RoPE width ", e.rope_width, " exceeds the head width ", e.head_width)
ATTEST_REFUSAL(ZeroHeads, "attention needs at least one query head")
ATTEST_REFUSAL(ZeroKvHeads, "attention needs at least one key/value head")
ATTEST_REFUSAL(ZeroModelWidth, "the model width must be at least one")
ATTEST_REFUSAL(ZeroHeadWidth, "the head width must be at least one")
ATTEST_REFUSAL(KvHeadsDoNotDivideHeads, e.kv_heads, " key/value heads do not divide ", e.heads,
               " query heads evenly")
ATTEST_REFUSAL(WeightRank, "weight ", weight(e.parameter), " must be a matrix, got rank ", e.rank)
ATTEST_REFUSAL(HeadsDoNotDivideRows, e.heads, " query heads cannot share the ", e.rows, " rows of wq evenly")
ATTEST_REFUSAL(WeightShapeMismatch, "weight ", weight(e.parameter), " must have shape ", e.expected, ", got ",
               e.actual)
ATTEST_REFUSAL(KernelsUnavailable, "ATTEST_SIMD asks for kernels that do not exist here; unset it")
ATTEST_REFUSAL(ZeroWorkers, "a pool needs at least one worker, the calling thread")
ATTEST_REFUSAL(ThreadsUnavailable, "the system gave ", e.started, " of ", e.workers,
               " threads; ask for fewer")
ATTEST_REFUSAL(ZeroBatchSize, "the batch size must be at least one")
ATTEST_REFUSAL(ZeroCapacity, "the capacity must be at least one")
ATTEST_REFUSAL(CapacityExceedsPositions, "first position ", e.first_position, " and capacity ", e.capacity,
               " reach beyond the ", e.max_positions, " positions of the rotary table")
ATTEST_REFUSAL(InputRank, "the input must have rank three [batch, rows, model width], got rank ", e.rank)
ATTEST_REFUSAL(SingleTokenRequired, "incremental attention takes exactly one new row, got ", e.tokens,
               "; prefill takes more")
ATTEST_REFUSAL(ZeroRows, "the input has no rows")
ATTEST_REFUSAL(InputBatchMismatch, "the input's batch ", e.input, " must match the cache's batch ", e.cache)
ATTEST_REFUSAL(InputWidthMismatch, "the input's width must be the model width ", e.expected, ", got ",
               e.actual)
ATTEST_REFUSAL(CacheModelWidthMismatch, "the cache's model width ", e.cache, " must match the layer's ",
               e.layer)
ATTEST_REFUSAL(CacheHeadCountMismatch, "the cache's ", e.cache, " query heads must match the layer's ",
               e.layer)
ATTEST_REFUSAL(CacheKvHeadCountMismatch, "the cache's ", e.cache, " key/value heads must match the layer's ",
               e.layer)
ATTEST_REFUSAL(CacheHeadWidthMismatch, "the cache's head width ", e.cache, " must match the layer's ",
               e.layer)
ATTEST_REFUSAL(CacheLayerMismatch, "the cache was made for another ", weight(e.parameter),
               "; make a new cache from this layer (reset does not rebind)")
ATTEST_REFUSAL(CacheLayerRevisionMismatch, weight(e.parameter), " was updated: the cache holds revision ",
               std::size_t{e.cache}, ", the layer ", std::size_t{e.layer},
               "; make a new cache from this layer (reset does not refresh)")
ATTEST_REFUSAL(CacheRopeMismatch, "the cache's RoPE (width ", e.cache_width, ", ", e.cache_max_positions,
               " positions, base ", e.cache_base, ", ", pairs(e.cache_interleaved),
               ") does not match the layer's (width ", e.layer_width, ", ", e.layer_max_positions,
               " positions, base ", e.layer_base, ", ", pairs(e.layer_interleaved), ")")
ATTEST_REFUSAL(CacheFull, "the cache holds ", e.length, " of ", e.capacity, " rows; ", e.rows,
               " more do not fit, reset it or make a larger one and replay")
ATTEST_REFUSAL(PositionsExceeded, e.rows, " rows from position ", e.first_position, " on reach beyond the ",
               e.max_positions, " positions of the rotary table")
ATTEST_REFUSAL(StaleTicket, "ticket ", e.ticket, " is stale (", name(e.reason),
               "); nothing was committed, prepare the row again")
ATTEST_REFUSAL(NonFiniteInput, "the input at flat index ", e.index, " must be finite, got ", e.value)
ATTEST_REFUSAL(NonFiniteProjection, "the ", e.stage, " at flat index ", e.index, " is not finite: ", e.value)
ATTEST_REFUSAL(NonFiniteRotation, "the ", e.stage, " at flat index ", e.index, " is not finite: ", e.value)
ATTEST_REFUSAL(NonFiniteScore, "the attention score at flat index ", e.index, " is not finite: ", e.value)
ATTEST_REFUSAL(NonFiniteHeadOutput, "the head output at flat index ", e.index, " is not finite: ", e.value)
ATTEST_REFUSAL(NonFiniteOutput, "the output at flat index ", e.index, " is not finite: ", e.value)
ATTEST_REFUSAL(StorageUnsupported, "a layer that computes in double has no ", e.storage,
               " storage; use float, or store what is computed")
ATTEST_REFUSAL(CacheStorageMismatch, "the cache stores ", e.cache, ", the layer ", e.layer,
               "; make a new cache from this layer, or use the layer it was made from")
ATTEST_REFUSAL(StorageOverflow, "the ", e.stage, " at flat index ", e.index, " cannot hold ", e.value,
               "; scale it down, or store it wider")
ATTEST_REFUSAL(HistoryEmpty, "a history needs at least one step")
ATTEST_REFUSAL(HistoryInconsistent, "step ", e.step, " of the history contradicts itself")

#undef ATTEST_REFUSAL

}  // namespace

namespace {

// In the order of their enumerations.
constexpr std::string_view kStages[] = {"input",
                                        "query projection",
                                        "key projection",
                                        "value projection",
                                        "query rotation",
                                        "key rotation",
                                        "attention scores",
                                        "head outputs",
                                        "output projection",
                                        "output",
                                        "parameter",
                                        "update",
                                        "gradient",
                                        "optimiser moments",
                                        "rotary table",
                                        "key storage",
                                        "value storage",
                                        "key snapshot",
                                        "value snapshot",
                                        "workspace",
                                        "evidence",
                                        "tensor"};
constexpr std::string_view kHyperparameters[] = {"learning rate", "beta1", "beta2", "epsilon",
                                                 "weight decay"};
constexpr std::string_view kStaleReasons[] = {"it belongs to another cache", "the cache moved on",
                                              "its row was discarded or overwritten",
                                              "a parameter was updated"};
static_assert(std::size(kStages) == static_cast<std::size_t>(Stage::tensor) + 1);
static_assert(std::size(kHyperparameters) == static_cast<std::size_t>(Hyperparameter::weight_decay) + 1);
static_assert(std::size(kStaleReasons) == static_cast<std::size_t>(StaleReason::updated) + 1);

}  // namespace

std::string_view name(Stage stage) {
    return kStages[static_cast<std::size_t>(stage)];
}

std::string_view name(Hyperparameter which) {
    return kHyperparameters[static_cast<std::size_t>(which)];
}

std::string_view name(StaleReason reason) {
    return kStaleReasons[static_cast<std::size_t>(reason)];
}

std::string_view name(const Error& error) {
    return std::visit([](const auto& refusal) { return name_of(refusal); }, error.refusal());
}

Message describe(const Error& error) {
    Message message;
    Writer writer(message);
    std::visit([&](const auto& refusal) { words(refusal, writer); }, error.refusal());
    return message;
}

}  // namespace attest
