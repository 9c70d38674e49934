#include <gtest/gtest.h>

#include <attest/attest.hpp>
#include <cmath>
#include <limits>
#include <vector>

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

}  // namespace
}  // namespace attest
