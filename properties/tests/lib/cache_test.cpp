#include <gtest/gtest.h>

#include <array>
#include <attest/attest.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "counting_memory.hpp"
#include "fixture.hpp"

namespace attest {
namespace {

using test::refusal;

template <class T>
struct Run {
    std::vector<T> input;
    std::size_t batch;
    std::size_t rows;

    [[nodiscard]] TensorView<const T> all() const {
        return *TensorView<const T>::over(input, Shape{batch, rows, test::kGeometry.model_width});
    }
    [[nodiscard]] TensorView<const T> part(std::size_t first, std::size_t count) const {
        return *all().slice(1, first, count);
    }
};

template <class T>
Run<T> run(std::size_t batch, std::size_t rows, std::uint64_t seed = 5) {
    return {test::values<T>(batch * rows * test::kGeometry.model_width, seed), batch, rows};
}

template <class T>
class Cache : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Cache, Types);

TYPED_TEST(Cache, CachedRowsHaveTheBitsOfTheFullPrefix) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(2, 7);
    const auto full = *layer.forward(x.all());
    auto cache = *LayerKvCache<T>::make(layer, 2, 9);
    auto y = *Tensor<T>::zeros(Shape{2, 7, 10});
    ASSERT_TRUE(layer.prefill(x.part(0, 3), cache, *y.view().slice(1, 0, 3)));
    for (std::size_t row = 3; row < 7; ++row) {
        ASSERT_TRUE(layer.forward_incremental(x.part(row, 1), cache, *y.view().slice(1, row, 1)));
    }
    EXPECT_EQ(std::memcmp(full.span().data(), y.span().data(), y.size() * sizeof(T)), 0);
    EXPECT_EQ(cache.length(), 7U);
    EXPECT_FALSE(cache.is_full());
    cache = *LayerKvCache<T>::make(layer, 2, 7);
    ASSERT_TRUE(layer.prefill(x.all(), cache, y.view()));
    EXPECT_EQ(std::memcmp(full.span().data(), y.span().data(), y.size() * sizeof(T)), 0);
    EXPECT_TRUE(cache.is_full());
    EXPECT_EQ(cache.keys_view().shape(), (Shape{2, 3, 7, 5}));
}

// Keys and values of more than 8 MiB are walked in ways of their own.
TYPED_TEST(Cache, StepsOverManyMebibytesHaveTheBitsOfAChunk) {
    using T = TypeParam;
    constexpr std::size_t cached = 513;
    constexpr std::size_t batch = 3;
    const auto layer =
        *MultiHeadAttention<T>::from_seed(41, {10, 11, 11, 64}, test::rotary<T>({0, cached + 3}));
    const auto x = run<T>(batch, cached + 2);
    auto chunked = *LayerKvCache<T>::make(layer, batch, cached + 3);
    auto before = *Tensor<T>::zeros(Shape{batch, cached, 10});
    ASSERT_TRUE(layer.prefill(x.part(0, cached), chunked, before.view()));
    auto cache = *chunked.copy();
    auto chunk = *Tensor<T>::zeros(Shape{batch, 2, 10});
    auto y = *Tensor<T>::zeros(Shape{batch, 2, 10});
    ASSERT_TRUE(layer.prefill(x.part(cached, 2), chunked, chunk.view()));
    for (std::size_t row = 0; row < 2; ++row)
        ASSERT_TRUE(layer.forward_incremental(x.part(cached + row, 1), cache, *y.view().slice(1, row, 1)));
    EXPECT_EQ(std::memcmp(chunk.span().data(), y.span().data(), y.size() * sizeof(T)), 0);
}

TYPED_TEST(Cache, OutputMayBeTheInputItself) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    auto x = run<T>(1, 1);
    auto cache = *LayerKvCache<T>::make(layer, 1, 2);
    const auto full = *layer.forward(x.all());
    const auto inout = *TensorView<T>::over(std::span<T>(x.input), Shape{1, 1, 10});
    ASSERT_TRUE(layer.forward_incremental(inout, cache, inout));
    EXPECT_EQ(std::memcmp(full.span().data(), x.input.data(), 10 * sizeof(T)), 0);
}

TYPED_TEST(Cache, ADecodeStepAllocatesNothing) {
    using T = TypeParam;
    test::CountingMemory memory;
    const auto layer = test::layer<T>();
    const auto x = run<T>(2, 1);
    auto cache = *LayerKvCache<T>::make(layer, 2, 30, 0, memory);
    auto y = *Tensor<T>::zeros(Shape{2, 1, 10});
    const std::size_t before = memory.calls;
    for (int step = 0; step < 30; ++step)
        ASSERT_TRUE(layer.forward_incremental(x.all(), cache, y.view()));
    EXPECT_EQ(memory.calls, before);
}

TYPED_TEST(Cache, EveryAllocationMayFailAndNothingChanges) {
    using T = TypeParam;
    test::CountingMemory memory;
    {
        const auto layer = test::layer<T>();
        const auto x = run<T>(2, 4);
        memory.fail_at(0);
        auto cache = *LayerKvCache<T>::make(layer, 2, 6, 0, memory);
        const std::size_t to_make = memory.calls;
        for (std::size_t failing = 1; failing <= to_make; ++failing) {
            memory.fail_at(failing);
            EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 2, 6, 0, memory)), "AllocationFailed");
            memory.fail_at(failing);
            EXPECT_EQ(refusal(cache.copy(memory)), "AllocationFailed");
        }
        const auto before = *cache.copy();
        auto y = *Tensor<T>::zeros(Shape{2, 4, 10});
        std::size_t refused = 0;
        for (std::size_t failing = 1;; ++failing) {
            memory.fail_at(failing);
            const auto done = layer.prefill(x.all(), cache, y.view(), memory);
            if (done) break;
            ++refused;
            EXPECT_EQ(name(done.error()), "AllocationFailed");
            EXPECT_TRUE(cache.same_bytes(before));
            for (const T value : y.span())
                EXPECT_EQ(value, T(0));
        }
        EXPECT_GE(refused, 8U);
        memory.fail_at(1);
        EXPECT_EQ(refusal(cache.keys(memory)), "AllocationFailed");
        memory.fail_at(1);
        EXPECT_EQ(refusal(cache.values(memory)), "AllocationFailed");
        const auto filled = *cache.copy();
        for (std::size_t failing = 1; failing <= 9; ++failing) {
            memory.fail_at(failing);
            EXPECT_EQ(refusal(layer.forward_incremental_with_evidence(x.part(0, 1), cache, memory)),
                      "AllocationFailed");
            EXPECT_TRUE(cache.same_bytes(filled));
        }
        memory.fail_at(10);
        EXPECT_TRUE(layer.forward_incremental_with_evidence(x.part(0, 1), cache, memory));
        EXPECT_EQ(cache.length(), 5U);
    }
    EXPECT_EQ(memory.live, 0U);
}

TYPED_TEST(Cache, CreationIsCheckedInOrder) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 0, 0)), "ZeroBatchSize");
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 1, 0, 99)), "ZeroCapacity");
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 1, 41)), "CapacityExceedsPositions");
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 1, 40, 1)), "CapacityExceedsPositions");
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, 1, 1, SIZE_MAX)), "CapacityExceedsPositions");
    EXPECT_EQ(refusal(LayerKvCache<T>::make(layer, SIZE_MAX / 2, 40)), "ElementCountOverflow");
    EXPECT_TRUE(LayerKvCache<T>::make(layer, 1, 1, 39));
}

TYPED_TEST(Cache, StageByStageNonFiniteValuesAreRefused) {
    using T = TypeParam;
    constexpr T huge = std::numeric_limits<T>::max();
    const auto layer = test::layer<T>();
    auto cache = *LayerKvCache<T>::make(layer, 1, 4);
    auto y = *Tensor<T>::zeros(Shape{1, 1, 10});
    auto x = run<T>(1, 1);
    ASSERT_TRUE(layer.forward_incremental(x.all(), cache, y.view()));
    const auto before = *cache.copy();
    x.input[3] = std::numeric_limits<T>::quiet_NaN();
    const auto bad_input = layer.forward_incremental(x.all(), cache, y.view());
    ASSERT_EQ(refusal(bad_input), "NonFiniteInput");
    EXPECT_EQ(bad_input.error().template get_if<NonFiniteInput>()->index, 3U);
    x.input.assign(10, huge);
    EXPECT_EQ(refusal(layer.forward_incremental(x.all(), cache, y.view())), "NonFiniteProjection");
    // Large enough for q·k to overflow, not for q and k.
    x.input.assign(10, std::sqrt(huge));
    EXPECT_EQ(refusal(layer.forward_incremental(x.all(), cache, y.view())), "NonFiniteScore");
    EXPECT_TRUE(cache == before);
    EXPECT_TRUE(cache.same_bytes(before));
}

TYPED_TEST(Cache, TicketsGoStaleForEveryReason) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(1, 1);
    auto cache = *LayerKvCache<T>::make(layer, 1, 8);
    auto other = *LayerKvCache<T>::make(layer, 1, 8);
    auto y = *Tensor<T>::zeros(Shape{1, 1, 10});
    const auto reason = [](const Result<void>& done) {
        return done.error().template get_if<StaleTicket>()->reason;
    };

    const Ticket first = *layer.prepare(x.all(), cache, y.view());
    EXPECT_EQ(cache.length(), 0U);
    EXPECT_EQ(reason(other.commit(first)), StaleReason::another_cache);
    EXPECT_EQ(reason(cache.commit(Ticket())), StaleReason::another_cache);
    const Ticket second = *layer.prepare(x.all(), cache, y.view());
    EXPECT_EQ(reason(cache.commit(first)), StaleReason::superseded);
    ASSERT_TRUE(cache.commit(second));
    EXPECT_EQ(reason(cache.commit(second)), StaleReason::moved_on);

    const Ticket before_reset = *layer.prepare(x.all(), cache, y.view());
    cache.reset();
    ASSERT_TRUE(layer.forward_incremental(x.all(), cache, y.view()));
    EXPECT_EQ(cache.length(), before_reset.slot());
    EXPECT_EQ(reason(cache.commit(before_reset)), StaleReason::moved_on);

    const Ticket discarded = *layer.prepare(x.all(), cache, y.view());
    cache.discard();
    EXPECT_EQ(reason(cache.commit(discarded)), StaleReason::superseded);

    const Ticket overtaken = *layer.prepare(x.all(), cache, y.view());
    auto wo = layer.parameters()[3];
    ASSERT_TRUE(wo.update(wo.value()));
    EXPECT_EQ(reason(cache.commit(overtaken)), StaleReason::updated);
    EXPECT_EQ(cache.length(), 1U);
}

TYPED_TEST(Cache, CommitAllTakesAllOrNothing) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(1, 1);
    auto a = *LayerKvCache<T>::make(layer, 1, 2);
    auto b = *LayerKvCache<T>::make(layer, 1, 2);
    auto y = *Tensor<T>::zeros(Shape{1, 1, 10});
    const Ticket for_a = *layer.prepare(x.all(), a, y.view());
    const Ticket for_b = *layer.prepare(x.all(), b, y.view());
    const auto all = [](std::initializer_list<PendingCommit<T>> pending) {
        return LayerKvCache<T>::commit_all({pending.begin(), pending.size()});
    };
    const auto mixed_up = all({{&a, for_a}, {&b, for_a}});
    ASSERT_EQ(refusal(mixed_up), "StaleTicket");
    EXPECT_EQ(mixed_up.error().template get_if<StaleTicket>()->ticket, 1U);
    const auto first = all({{&a, for_b}, {&b, for_b}});
    ASSERT_EQ(refusal(first), "StaleTicket");
    EXPECT_EQ(first.error().template get_if<StaleTicket>()->ticket, 0U);
    EXPECT_EQ(refusal(all({{&a, for_a}, {&a, for_a}})), "StaleTicket");
    EXPECT_EQ(refusal(all({{&a, for_a}, {nullptr, for_b}})), "StaleTicket");
    EXPECT_EQ(a.length() + b.length(), 0U);
    ASSERT_TRUE(all({{&a, for_a}, {&b, for_b}}));
    EXPECT_EQ(a.length() + b.length(), 2U);
    EXPECT_TRUE(a == b);
    EXPECT_TRUE(all({}));
}

TYPED_TEST(Cache, EvidenceAgreesWithThePlainPath) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(2, 3);
    auto plain = *LayerKvCache<T>::make(layer, 2, 4, 5);
    auto shown = *LayerKvCache<T>::make(layer, 2, 4, 5);
    auto y = *Tensor<T>::zeros(Shape{2, 1, 10});
    for (std::size_t row = 0; row < 3; ++row) {
        ASSERT_TRUE(layer.forward_incremental(x.part(row, 1), plain, y.view()));
        const auto evidence = *layer.forward_incremental_with_evidence(x.part(row, 1), shown);
        EXPECT_EQ(std::memcmp(evidence.output.span().data(), y.span().data(), y.size() * sizeof(T)), 0);
        EXPECT_EQ(evidence.weights.shape(), (Shape{2, 6, 1, row + 1}));
        EXPECT_EQ(evidence.work, (Work{5 + row, row + 1, 1, row}));
        EXPECT_EQ(evidence.cache_length, row + 1);
        const auto newest = *Tensor<T>::copy_of(*shown.keys_view().slice(2, row, 1));
        EXPECT_EQ((*shown.values_view().slice(2, row, 1))(1, 2, 0, 4),
                  evidence.projected_values.view()(1, 2, 0, 4));
        EXPECT_EQ(
            std::memcmp(newest.span().data(), evidence.rotated_keys.span().data(), newest.size() * sizeof(T)),
            0);
    }
    EXPECT_TRUE(plain == shown);
}

TYPED_TEST(Cache, OutputMustBeWritableAndOfTheRightShape) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(1, 1);
    auto cache = *LayerKvCache<T>::make(layer, 1, 2);
    auto y = *Tensor<T>::zeros(Shape{1, 1, 11});
    EXPECT_EQ(refusal(layer.forward_incremental(x.all(), cache, y.view())), "ShapeMismatch");
    const auto one = *y.view().slice(2, 0, 1);
    EXPECT_EQ(refusal(layer.forward_incremental(x.all(), cache, *one.broadcast(2, 10))), "ViewNotWritable");
    EXPECT_TRUE(cache.is_empty());
}

// A layer's four matrices, zero where asked for.
template <class T>
std::array<Parameter<T>, 4> weights(std::size_t zeroed = 4) {
    const auto make = [&](std::size_t parameter, std::size_t rows, std::size_t columns) {
        auto drawn = test::values<T>(rows * columns, parameter);
        if (parameter == zeroed) drawn.assign(drawn.size(), T(0));
        return *Parameter<T>::make(*TensorView<const T>::over(drawn, Shape{rows, columns}));
    };
    return {make(0, 30, 10), make(1, 15, 10), make(2, 15, 10), make(3, 10, 30)};
}

template <class T>
MultiHeadAttention<T> from(const std::array<Parameter<T>, 4>& of, const RotaryConfig& config,
                           std::size_t heads = 6, std::size_t kv_heads = 3) {
    return *MultiHeadAttention<T>::from_parameters(of[0], of[1], of[2], of[3], heads, kv_heads,
                                                   test::rotary<T>(config));
}

TYPED_TEST(Cache, EqualityAsksForEveryPartOfTheBinding) {
    using T = TypeParam;
    const RotaryConfig config{4, 40, 100.0, RotaryPairs::half};
    auto shared = weights<T>();
    const auto layer = from<T>(shared, config);
    const auto cache = [](const MultiHeadAttention<T>& of, std::size_t batch = 2, std::size_t capacity = 4,
                          std::size_t first = 1) {
        return *LayerKvCache<T>::make(of, batch, capacity, first);
    };
    const auto mine = cache(layer);
    EXPECT_TRUE(mine == cache(layer));
    EXPECT_TRUE(mine == cache(from<T>(shared, config)));
    EXPECT_FALSE(mine == cache(layer, 1));
    EXPECT_FALSE(mine == cache(layer, 2, 5));
    EXPECT_FALSE(mine == cache(layer, 2, 4, 0));
    EXPECT_FALSE(mine == cache(from<T>(shared, config, 2, 1)));
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        auto other = shared;
        other[parameter] = weights<T>()[parameter];
        EXPECT_FALSE(mine == cache(from<T>(other, config)));
    }
    for (const RotaryConfig& other :
         {RotaryConfig{2, 40, 100.0, RotaryPairs::half}, RotaryConfig{4, 41, 100.0, RotaryPairs::half},
          RotaryConfig{4, 40, 101.0, RotaryPairs::half},
          RotaryConfig{4, 40, 100.0, RotaryPairs::interleaved}}) {
        EXPECT_FALSE(mine == cache(from<T>(shared, other)));
    }
    ASSERT_TRUE(shared[3].update(shared[3].value()));
    EXPECT_FALSE(mine == cache(layer));
}

// Keys alone, values alone and the length alone make two caches differ.
TYPED_TEST(Cache, EqualityAsksForEveryRow) {
    using T = TypeParam;
    const RotaryConfig config{4, 40, 100.0, RotaryPairs::half};
    auto y = *Tensor<T>::zeros(Shape{1, 1, 10});
    for (const auto& [zeroed, storage] : {std::pair{std::size_t{1}, KvStorage::computing},
                                          {std::size_t{2}, KvStorage::computing},
                                          {std::size_t{1}, KvStorage::bf16},
                                          {std::size_t{2}, KvStorage::f16}}) {
        const auto stored = from<T>(weights<T>(zeroed), config).stored_as(storage);
        if (!stored) continue;  // of double
        const auto& layer = *stored;
        auto one = *LayerKvCache<T>::make(layer, 1, 4);
        auto other = *LayerKvCache<T>::make(layer, 1, 4);
        ASSERT_TRUE(layer.forward_incremental(run<T>(1, 1, 1).all(), one, y.view()));
        EXPECT_FALSE(one == other);
        EXPECT_FALSE(one.same_bytes(other));
        ASSERT_TRUE(layer.forward_incremental(run<T>(1, 1, 2).all(), other, y.view()));
        EXPECT_FALSE(one == other);
        EXPECT_FALSE(one.same_bytes(other));
        // The row is dead then: equal but for audits.
        one.reset();
        other.reset();
        EXPECT_TRUE(one == other);
        EXPECT_FALSE(one.same_bytes(other));
        EXPECT_FALSE(one.same_bytes(*LayerKvCache<T>::make(layer, 1, 5)));
    }
}

// Updates a parameter once the work of a call is done.
template <class T>
class Updating final : public Executor {
  public:
    explicit Updating(Parameter<T> updated) : updated_(std::move(updated)) {}
    [[nodiscard]] std::size_t workers() const noexcept override { return 1; }
    void run(std::size_t pieces, Task task, void* context) noexcept override {
        serial_executor().run(pieces, task, context);
        EXPECT_TRUE(updated_.update(updated_.value()));
    }

  private:
    Parameter<T> updated_;
};

TYPED_TEST(Cache, ARowWhoseLayerIsUpdatedMeanwhileIsNotCommitted) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = run<T>(1, 1);
    auto cache = *LayerKvCache<T>::make(layer, 1, 4);
    Updating<T> executor(layer.parameters()[2]);
    const auto shown = layer.forward_incremental_with_evidence(x.all(), cache, default_memory(), executor);
    ASSERT_EQ(refusal(shown), "StaleTicket");
    EXPECT_EQ(shown.error().template get_if<StaleTicket>()->reason, StaleReason::updated);
    EXPECT_TRUE(cache.is_empty());
}

// One head of width 2 at its second position: what is finite before a stage is not behind it, and each says
// so.
TYPED_TEST(Cache, EveryStageRefusesWhatItMakesInfinite) {
    using T = TypeParam;
    constexpr T most = std::numeric_limits<T>::max();
    const T root = std::sqrt(most) / 2;
    struct Case {
        std::string_view code;
        Stage stage;
        std::array<T, 4> diagonals;  // of wq, wk, wv, wo
        T x;
    };
    // Turned by one radian, (a, a) has a second component of 1.38 a.
    const Case cases[] = {
        {"NonFiniteProjection", Stage::query_projection, {2, 1, 1, 1}, most},
        {"NonFiniteProjection", Stage::key_projection, {1, 2, 1, 1}, most},
        {"NonFiniteProjection", Stage::value_projection, {1, 1, 2, 1}, most},
        {"NonFiniteRotation", Stage::query_rotation, {1, 0, 0, 0}, most},
        {"NonFiniteRotation", Stage::key_rotation, {0, 1, 0, 0}, most},
        {"NonFiniteScore", Stage::scores, {4, 4, 0, 0}, root},
        {"NonFiniteHeadOutput", Stage::head_outputs, {0, 0, 1, 0}, most},
        {"NonFiniteOutput", Stage::output, {0, 0, 1, 8}, most / 2},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(name(each.stage));
        const auto diagonal = [](T value) {
            const std::array<T, 4> matrix{value, 0, 0, value};
            return *Parameter<T>::make(*TensorView<const T>::over(std::span<const T>(matrix), Shape{2, 2}));
        };
        const auto layer = *MultiHeadAttention<T>::from_parameters(
            diagonal(each.diagonals[0]), diagonal(each.diagonals[1]), diagonal(each.diagonals[2]),
            diagonal(each.diagonals[3]), 1, 1, test::rotary<T>({2, 8, 1.0}));
        auto cache = *LayerKvCache<T>::make(layer, 1, 4);
        const std::array<T, 2> row{each.x, each.x};
        const std::array<T, 2> zero{};
        const auto view = [](const std::array<T, 2>& of) {
            return *TensorView<const T>::over(std::span<const T>(of), Shape{1, 1, 2});
        };
        auto y = *Tensor<T>::zeros(Shape{1, 1, 2});
        // Both rows have weight one before they are divided: twice the most is too much.
        const bool twice = each.stage == Stage::head_outputs;
        ASSERT_TRUE(layer.forward_incremental(view(twice ? row : zero), cache, y.view()));
        const auto before = *cache.copy();
        const auto refused = layer.forward_incremental(view(row), cache, y.view());
        ASSERT_EQ(refusal(refused), each.code);
        if (const auto* const found = refused.error().template get_if<NonFiniteProjection>()) {
            EXPECT_EQ(found->stage, each.stage);
        }
        if (const auto* const found = refused.error().template get_if<NonFiniteRotation>()) {
            EXPECT_EQ(found->stage, each.stage);
        }
        EXPECT_TRUE(cache.same_bytes(before));
        EXPECT_EQ(y.span()[0], T(0));
    }
}

TEST(NarrowCache, EveryAllocationMayFailAndNothingChanges) {
    test::CountingMemory memory;
    {
        const auto layer = *test::layer<float>().stored_as(KvStorage::f16);
        auto cache = *LayerKvCache<float>::make(layer, 2, 6, 0, memory);
        const std::size_t to_make = memory.calls;
        const auto x = run<float>(2, 4);
        auto y = *Tensor<float>::zeros(Shape{2, 4, 10});
        ASSERT_TRUE(layer.prefill(x.all(), cache, y.view()));
        const auto before = *cache.copy();
        for (std::size_t failing = 1; failing <= to_make; ++failing) {
            memory.fail_at(failing);
            EXPECT_EQ(refusal(LayerKvCache<float>::make(layer, 2, 6, 0, memory)), "AllocationFailed");
            memory.fail_at(failing);
            EXPECT_EQ(refusal(cache.copy(memory)), "AllocationFailed");
        }
        memory.fail_at(1);
        EXPECT_EQ(refusal(cache.keys(memory)), "AllocationFailed");
        memory.fail_at(1);
        EXPECT_EQ(refusal(cache.values(memory)), "AllocationFailed");
        EXPECT_TRUE(cache.same_bytes(before));
    }
    EXPECT_EQ(memory.live, 0U);
}

}  // namespace
}  // namespace attest
