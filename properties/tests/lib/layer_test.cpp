#include <gtest/gtest.h>

#include <attest/attest.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "counting_memory.hpp"
#include "fixture.hpp"

namespace attest {
namespace {

using test::refusal;

Parameter<double> matrix(std::size_t rows, std::size_t columns) {
    const auto drawn = test::values<double>(rows * columns, rows);
    return *Parameter<double>::make(*TensorView<const double>::over(drawn, Shape{rows, columns}));
}

TEST(Layer, IsCheckedInOrder) {
    const auto make = [](Parameter<double> wq, Parameter<double> wk, Parameter<double> wv,
                         Parameter<double> wo, std::size_t heads, std::size_t kv_heads,
                         std::size_t rope_width = 2) {
        return refusal(MultiHeadAttention<double>::from_parameters(
            wq, wk, wv, wo, heads, kv_heads, test::rotary<double>({rope_width, 8, 100.0})));
    };
    const auto wq = matrix(6, 5);
    const auto wk = matrix(3, 5);
    const auto wo = matrix(5, 6);
    const auto none = *Parameter<double>::make(TensorView<const double>());
    EXPECT_EQ(make(none, none, none, none, 0, 0), "ZeroHeads");
    EXPECT_EQ(make(none, none, none, none, 2, 0), "ZeroKvHeads");
    EXPECT_EQ(make(none, none, none, none, 2, 3), "KvHeadsDoNotDivideHeads");
    EXPECT_EQ(make(wq, none, wk, wo, 2, 1), "WeightRank");
    EXPECT_EQ(make(matrix(6, 0), wk, wk, wo, 4, 1), "ZeroModelWidth");
    EXPECT_EQ(make(wq, wk, wk, wo, 4, 1), "HeadsDoNotDivideRows");
    EXPECT_EQ(make(matrix(0, 5), wk, wk, wo, 2, 1), "ZeroHeadWidth");
    EXPECT_EQ(make(wq, wq, wk, wq, 2, 1), "WeightShapeMismatch");
    EXPECT_EQ(make(wq, wk, wk, wq, 2, 1, 4), "WeightShapeMismatch");
    EXPECT_EQ(make(wq, wk, wk, wo, 2, 1, 4), "RopeWidthExceedsHead");
    EXPECT_EQ(make(wq, wk, wk, wo, 2, 1), "");
}

TEST(Layer, FromSeedIsCheckedInOrder) {
    const auto make = [](const AttentionGeometry& geometry) {
        return refusal(MultiHeadAttention<double>::from_seed(1, geometry, test::rotary<double>()));
    };
    EXPECT_EQ(make({0, 0, 0, 0}), "ZeroHeads");
    EXPECT_EQ(make({0, 1, 0, 0}), "ZeroKvHeads");
    EXPECT_EQ(make({0, 3, 2, 0}), "KvHeadsDoNotDivideHeads");
    EXPECT_EQ(make({0, 2, 2, 0}), "ZeroModelWidth");
    EXPECT_EQ(make({4, 2, 2, 0}), "ZeroHeadWidth");
    EXPECT_EQ(make({4, SIZE_MAX / 2, 1, 5}), "ElementCountOverflow");
    EXPECT_EQ(make({4, 2, 2, 2}), "RopeWidthExceedsHead");
    EXPECT_EQ(make({SIZE_MAX / 16, 2, 2, 4}), "ElementCountOverflow");
    EXPECT_EQ(make({4, 2, 2, 4}), "");
}

TEST(Layer, XavierWeightsFillTheirRange) {
    const auto layer = test::layer<double>();
    const double bound = std::sqrt(6.0 / (10.0 + 30.0));
    double largest = 0;
    const auto wq = layer.parameters()[0].value();
    for (std::size_t i = 0; i < wq.size(); ++i)
        largest = std::max(largest, std::fabs(wq.data()[i]));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.95 * bound);
}

TEST(Layer, ForwardIsCheckedInOrder) {
    const auto layer = test::layer<double>();
    const std::vector<double> x(41 * 10, 0.0);
    const auto forward = [&](const Shape& shape, std::size_t first = 0) {
        return refusal(layer.forward(*TensorView<const double>::over(x, shape), first));
    };
    EXPECT_EQ(forward({1, 10}), "InputRank");
    EXPECT_EQ(forward({0, 0, 3}), "ZeroBatchSize");
    EXPECT_EQ(forward({1, 0, 3}), "ZeroRows");
    EXPECT_EQ(forward({1, 41, 3}), "InputWidthMismatch");
    EXPECT_EQ(forward({1, 41, 10}), "PositionsExceeded");
    EXPECT_EQ(forward({1, 1, 10}, SIZE_MAX), "PositionsExceeded");
    EXPECT_EQ(forward({1, 40, 10}), "");
}

TEST(Rotary, IsCheckedInOrder) {
    const auto make = [](const RotaryConfig& config) { return refusal(Rotary<float>::make(config)); };
    EXPECT_EQ(make({3, 0, -1.0}), "RopeWidthOdd");
    EXPECT_EQ(make({2, 0, -1.0}), "RopeBaseInvalid");
    EXPECT_EQ(make({2, 4, std::numeric_limits<double>::quiet_NaN()}), "RopeBaseInvalid");
    EXPECT_EQ(make({2, 4, std::numeric_limits<double>::infinity()}), "RopeBaseInvalid");
    EXPECT_EQ(make({2, 0, 100.0}), "RopeZeroPositions");
    EXPECT_EQ(make({2, SIZE_MAX, 100.0}), "ElementCountOverflow");
    EXPECT_EQ(make({0, 4, 100.0}), "");
}

TEST(Layer, KernelsThatAreNotThereAreRefused) {
    const char* const before = std::getenv("ATTEST_SIMD");
    const std::string saved = before == nullptr ? "" : before;
    ASSERT_EQ(setenv("ATTEST_SIMD", "none such", 1), 0);
    const auto refused = MultiHeadAttention<double>::from_seed(1, test::kGeometry, test::rotary<double>());
    EXPECT_EQ(before == nullptr ? unsetenv("ATTEST_SIMD") : setenv("ATTEST_SIMD", saved.c_str(), 1), 0);
    EXPECT_EQ(refusal(refused), "KernelsUnavailable");
    EXPECT_TRUE(MultiHeadAttention<double>::from_seed(1, test::kGeometry, test::rotary<double>()));
}

TEST(Layer, EveryAllocationMayFail) {
    test::CountingMemory memory;
    {
        const auto each = [&](std::size_t least, auto make) {
            std::size_t failing = 1;
            for (;; ++failing) {
                const std::size_t live = memory.live;
                memory.fail_at(failing);
                const auto made = make();
                if (made) break;
                EXPECT_EQ(refusal(made), "AllocationFailed");
                EXPECT_EQ(memory.live, live);
            }
            EXPECT_GE(failing, least);
        };
        // Two columns and the node; four weights, drawn, copied and a node each; nine buffers and the answer.
        each(4, [&] { return Rotary<double>::make({4, 8, 100.0}, memory); });
        const auto rotary = test::rotary<double>();
        each(13, [&] { return MultiHeadAttention<double>::from_seed(1, test::kGeometry, rotary, memory); });
        const auto layer = test::layer<double>();
        const auto x = test::values<double>(30, 3);
        const auto view = *TensorView<const double>::over(x, Shape{1, 3, 10});
        each(11, [&] { return layer.forward(view, 0, memory); });
    }
    EXPECT_EQ(memory.live, 0U);
}

// More key/value heads than there are numbers, in a batch that repeats one row.
TEST(Layer, ABatchTooLargeToCountIsRefused) {
    const auto layer = *MultiHeadAttention<float>::from_seed(1, {1, 64, 64, 1}, test::rotary<float>({0, 8}));
    const float one = 1;
    const auto row = *TensorView<const float>::over({&one, 1}, Shape{1, 1, 1});
    const auto refused = layer.forward(*row.broadcast(0, std::size_t{1} << 61));
    ASSERT_EQ(refusal(refused), "AllocationFailed");
    EXPECT_EQ(refused.error().get_if<AllocationFailed>()->stage, Stage::input);
}

TEST(Layer, EveryLengthTellsAGeometryFromAnother) {
    using Geometry = AttentionGeometry;
    for (const auto member :
         {&Geometry::model_width, &Geometry::heads, &Geometry::kv_heads, &Geometry::head_width}) {
        Geometry other = test::kGeometry;
        EXPECT_TRUE(other == test::kGeometry);
        other.*member += 1;
        EXPECT_FALSE(other == test::kGeometry);
    }
    const auto layer = test::layer<double>();
    EXPECT_EQ(layer.geometry(), test::kGeometry);
    const auto copy = layer;
    EXPECT_TRUE(copy.rotary().same_table(layer.rotary()));
    auto other = test::rotary<double>();
    EXPECT_FALSE(copy.rotary().same_table(other));
    other = layer.rotary();
    EXPECT_TRUE(copy.rotary().same_table(other));
}

// Every refusal of a call against a cache, each with all that come after it wrong as well.
TEST(Layer, CallsAgainstACacheAreCheckedInOrder) {
    const RotaryConfig config{2, 8, 100.0, RotaryPairs::half};
    const auto from = [&](const AttentionGeometry& geometry) {
        return *MultiHeadAttention<float>::from_seed(1, geometry, test::rotary<float>(config));
    };
    const auto layer = from({6, 4, 2, 4});
    auto cache = *LayerKvCache<float>::make(layer, 2, 3);
    auto ones = *Tensor<float>::zeros(Shape{3, 5, 7});
    const auto view = [&](const Shape& shape) { return *TensorView<float>::over(ones.span(), shape); };
    const auto incremental = [&](const MultiHeadAttention<float>& of, const Shape& x, const Shape& y) {
        const std::string_view code = refusal(of.forward_incremental(view(x), cache, view(y)));
        EXPECT_EQ(refusal(of.prepare(view(x), cache, view(y))), code);
        return code;
    };
    const auto prefill = [&](const MultiHeadAttention<float>& of, const Shape& x, const Shape& y) {
        return refusal(of.prefill(view(x), cache, view(y)));
    };
    const auto other = from({5, 4, 2, 4});
    EXPECT_EQ(incremental(other, {3, 7}, {1}), "InputRank");
    EXPECT_EQ(incremental(other, {3, 2, 7}, {1}), "SingleTokenRequired");
    EXPECT_EQ(refusal(other.forward_incremental_with_evidence(view({3, 2, 7}), cache)),
              "SingleTokenRequired");
    EXPECT_EQ(prefill(other, {3, 0, 7}, {1}), "ZeroRows");
    EXPECT_EQ(prefill(other, {3, 4, 7}, {1}), "InputBatchMismatch");
    EXPECT_EQ(prefill(other, {2, 4, 7}, {1}), "InputWidthMismatch");
    EXPECT_EQ(prefill(other, {2, 4, 5}, {1}), "CacheModelWidthMismatch");
    EXPECT_EQ(prefill(from({6, 2, 1, 8}), {2, 4, 6}, {1}), "CacheHeadCountMismatch");
    EXPECT_EQ(prefill(from({6, 4, 1, 8}), {2, 4, 6}, {1}), "CacheKvHeadCountMismatch");
    EXPECT_EQ(prefill(from({6, 4, 2, 8}), {2, 4, 6}, {1}), "CacheHeadWidthMismatch");
    const auto with = [&](std::size_t replaced, const RotaryConfig& turned) {
        const auto mine = layer.parameters();
        const auto theirs = from({6, 4, 2, 4});
        const auto pick = [&](std::size_t parameter) {
            return parameter == replaced ? theirs.parameters()[parameter] : mine[parameter];
        };
        return *MultiHeadAttention<float>::from_parameters(pick(0), pick(1), pick(2), pick(3), 4, 2,
                                                           test::rotary<float>(turned));
    };
    const RotaryConfig wider{4, 8, 100.0, RotaryPairs::half};
    for (std::size_t replaced = 0; replaced < 4; ++replaced) {
        const auto refused = with(replaced, wider).check_binding(cache);
        ASSERT_EQ(refusal(refused), "CacheLayerMismatch");
        EXPECT_EQ(refused.error().get_if<CacheLayerMismatch>()->parameter, replaced);
    }
    EXPECT_EQ(prefill(with(4, wider), {2, 4, 6}, {1}), "CacheRopeMismatch");
    EXPECT_EQ(refusal(layer.stored_as(KvStorage::bf16)->check_binding(cache)), "CacheStorageMismatch");
    EXPECT_EQ(prefill(layer, {2, 4, 6}, {1}), "CacheFull");
    EXPECT_EQ(prefill(layer, {2, 3, 6}, {1}), "ShapeMismatch");
    EXPECT_EQ(incremental(layer, {2, 1, 6}, {2, 1, 7}), "ShapeMismatch");
    const auto repeated = *(*view({2, 1, 6}).slice(2, 0, 1)).broadcast(2, 6);
    EXPECT_EQ(refusal(layer.prefill(view({2, 1, 6}), cache, repeated)), "ViewNotWritable");
    ones.span()[3] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(incremental(layer, {2, 1, 6}, {2, 1, 6}), "NonFiniteInput");
    EXPECT_EQ(refusal(layer.forward_incremental_with_evidence(view({2, 1, 6}), cache)), "NonFiniteInput");
    EXPECT_EQ(prefill(layer, {2, 2, 6}, {2, 2, 6}), "NonFiniteInput");
    EXPECT_TRUE(cache.is_empty());
    auto updated = layer.parameters()[1];
    ASSERT_TRUE(updated.update(updated.value()));
    const auto refused = with(4, wider).check_binding(cache);
    ASSERT_EQ(refusal(refused), "CacheLayerRevisionMismatch");
    EXPECT_EQ(refused.error().get_if<CacheLayerRevisionMismatch>()->parameter, 1U);
    EXPECT_EQ(cache.revisions()[1] + 1, updated.revision());
    EXPECT_EQ(cache.geometry(), layer.geometry());
    EXPECT_TRUE(cache.rotary_config() == config);
}

}  // namespace
}  // namespace attest
