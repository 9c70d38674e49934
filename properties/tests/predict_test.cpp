#include "attest/properties/predict.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

cases::Case small() {
    cases::Case one;
    one.type = cases::ElementType::float64;
    one.batch = 1;
    one.width = 2;
    one.heads = one.kv_heads = 1;
    one.head_width = 2;
    one.rope = {.pairs = cases::Pairs::interleaved, .width = 2, .base = 10000, .positions = 8, .first = 0};
    one.capacity = 4;
    return one;
}

std::array<Array, 4> identity() {
    const Array i = {1, 0, 0, 1};
    return {i, i, i, i};
}

TEST(Prediction, OfLayersFollowsTheDocumentedOrder) {
    cases::Case one = small();
    EXPECT_TRUE(predict_layer(one, nullptr).success());
    one.rope.width = 4;
    EXPECT_EQ(predict_layer(one, nullptr).text(), "RopeWidthExceedsHead");
    one.head_width = 0;
    EXPECT_EQ(predict_layer(one, nullptr).text(), "ZeroHeadWidth");
    one.kv_heads = 0;
    EXPECT_EQ(predict_layer(one, nullptr).text(), "ZeroKvHeads");
    one.rope.base = -0.0;
    EXPECT_EQ(predict_layer(one, nullptr).text(), "RopeBaseInvalid");
    one.rope.width = 3;
    EXPECT_EQ(predict_layer(one, nullptr).text(), "RopeWidthOdd");
}

TEST(Prediction, OfSizesTellsOverflowFromMemory) {
    cases::Case one = small();
    EXPECT_EQ(predict_cache(one, std::uint64_t{1} << 62, 4, 0).text(), "ElementCountOverflow");
    EXPECT_EQ(predict_cache(one, std::uint64_t{1} << 30, 4, 0).text(), "AllocationFailed");
    EXPECT_EQ(predict_cache(one, 1, 9, 0).text(), "CapacityExceedsPositions");
    EXPECT_EQ(predict_cache(one, 1, 1, UINT64_MAX).text(), "CapacityExceedsPositions");
    EXPECT_TRUE(predict_cache(one, 1, 8, 0).success());
    one.width = std::uint64_t{1} << 61;
    EXPECT_TRUE(predict_layer(one, nullptr).allows("ElementCountOverflow"));
    EXPECT_FALSE(predict_layer(one, nullptr).allows(""));
}

TEST(Prediction, OfNumbersNamesTheFirstStage) {
    const cases::Case one = small();
    std::array<Array, 4> weights = identity();
    const Array fine = {1, 2, 3, 4};
    EXPECT_TRUE(predict_numbers(one, weights, fine, 1, 2, 0, 2).success());
    const Array nan = {1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
    EXPECT_EQ(predict_numbers(one, weights, nan, 1, 2, 1, 1).text(), "NonFiniteInput");
    EXPECT_EQ(predict_numbers(one, weights, Array{1e200, 1e200, 1e200, 1e200}, 1, 2, 0, 2).code(),
              "NonFiniteScore");
    weights[2] = {1, 1, 1, 1};
    EXPECT_EQ(predict_numbers(one, weights, Array{1.5e308, 1.5e308}, 1, 1, 0, 1).text(),
              "NonFiniteProjection");
}

TEST(Prediction, StaysOpenWhereASumMayOverflowOnItsWay) {
    const cases::Case one = small();
    std::array<Array, 4> weights = identity();
    // 1.5e308 − 1.5e308 + …: the sum is small, a partial sum need not be.
    weights[0] = {1, -1, 1, 1};
    const Prediction prediction = predict_numbers(one, weights, Array{1.5e308, 1.5e308}, 1, 1, 0, 1);
    EXPECT_TRUE(prediction.allows("NonFiniteProjection"));
}

TEST(Prediction, OfAnOptimiserStep) {
    const cases::Case one = small();
    std::array<Array, 4> gradients = identity();
    EXPECT_TRUE(predict_adamw(one, identity(), gradients).success());
    gradients[3][3] = 1e200;
    EXPECT_TRUE(predict_adamw(one, identity(), gradients).allows("NonFiniteUpdate"));
    gradients[3][3] = -std::numeric_limits<double>::infinity();
    EXPECT_EQ(predict_adamw(one, identity(), gradients).text(), "NonFiniteGradient");
}

TEST(Product, IsEmptyWhereItOverflows) {
    EXPECT_EQ(product({3, 4, 5}), 60u);
    EXPECT_EQ(product({std::uint64_t{1} << 63, 2}), std::nullopt);
    EXPECT_EQ(product({std::uint64_t{1} << 63, 4, 0}), 0u);
}

}  // namespace
}  // namespace attest::properties
