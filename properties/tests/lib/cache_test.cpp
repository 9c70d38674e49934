#include <gtest/gtest.h>

#include <attest/attest.hpp>
#include <cmath>
#include <cstring>
#include <limits>
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
    EXPECT_EQ(cache.keys_view().shape(), (Shape{2, 3, 7, 5}));
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
        memory.fail_at(3);
        EXPECT_EQ(refusal(layer.forward_incremental_with_evidence(x.part(0, 1), cache, memory)),
                  "AllocationFailed");
        EXPECT_EQ(cache.length(), 4U);
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

}  // namespace
}  // namespace attest
