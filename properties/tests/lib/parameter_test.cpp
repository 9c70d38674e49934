#include <gtest/gtest.h>

#include <attest/adamw.hpp>
#include <attest/parameter.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "counting_memory.hpp"
#include "fixture.hpp"

namespace attest {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Parameter<double> parameter(std::vector<double> values, Memory& memory = default_memory()) {
    return *Parameter<double>::make(*TensorView<const double>::over(values, Shape{values.size()}), memory);
}

std::vector<double> stored(const Parameter<double>& parameter) {
    const auto view = parameter.value();
    return {view.data(), view.data() + view.size()};
}

TensorView<const double> row(const std::vector<double>& values) {
    return *TensorView<const double>::over(values, Shape{values.size()});
}

TEST(Parameter, CopiesShareOneNodeAndRebuiltOnesDoNot) {
    auto first = parameter({1, 2});
    const auto copy = first;
    const auto rebuilt = parameter({1, 2});
    EXPECT_TRUE(copy.same_node(first));
    EXPECT_FALSE(rebuilt.same_node(first));
    EXPECT_NE(rebuilt.identity(), first.identity());
    ASSERT_TRUE(first.update(row({3, 4})));
    EXPECT_EQ(copy.revision(), 1U);
    EXPECT_EQ(stored(copy), (std::vector<double>{3, 4}));
    EXPECT_EQ(rebuilt.revision(), 0U);
}

TEST(Parameter, AnIdentityIsNeverUsedAgain) {
    std::uint64_t last = 0;
    for (int time = 0; time < 100; ++time) {
        const std::uint64_t identity = parameter({1}).identity();
        EXPECT_GT(identity, last);
        last = identity;
    }
}

TEST(Parameter, ARefusedUpdateChangesNothing) {
    auto weight = parameter({1, 2});
    EXPECT_EQ(test::refusal(weight.update(row({1, 2, 3}))), "ShapeMismatch");
    const auto refused = weight.update(row({5, kNan}));
    ASSERT_EQ(test::refusal(refused), "NonFiniteUpdate");
    EXPECT_EQ(refused.error().get_if<NonFiniteUpdate>()->index, 1U);
    const auto first = weight.update(row({kInfinity, kNan}));
    ASSERT_EQ(test::refusal(first), "NonFiniteUpdate");
    EXPECT_EQ(first.error().get_if<NonFiniteUpdate>()->index, 0U);
    EXPECT_EQ(stored(weight), (std::vector<double>{1, 2}));
    EXPECT_EQ(weight.revision(), 0U);
    const std::vector<double> infinite{0, -kInfinity};
    EXPECT_EQ(test::refusal(Parameter<double>::make(row(infinite))), "NonFiniteParameter");
}

TEST(Parameter, UpdatesFromAViewOfItself) {
    std::vector<double> square{1, 2, 3, 4};
    auto weight = *Parameter<double>::make(*TensorView<const double>::over(square, Shape{2, 2}));
    ASSERT_TRUE(weight.update(*weight.value().transpose(0, 1)));
    EXPECT_EQ(stored(weight), (std::vector<double>{1, 3, 2, 4}));
}

// Hands out one array, part after part.
class Arena final : public Memory {
  public:
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        used_ = (used_ + alignment - 1) / alignment * alignment;
        if (failing || bytes > sizeof(bytes_) - used_) return nullptr;
        return bytes_ + std::exchange(used_, used_ + bytes);
    }
    void deallocate(void*, std::size_t, std::size_t) noexcept override {}
    bool failing = false;

  private:
    alignas(64) unsigned char bytes_[2048] = {};
    std::size_t used_ = 0;
};

// Values that lie before the parameter's own, behind them, and across them.
TEST(Parameter, UpdatesFromItsNeighbourhood) {
    Arena memory;
    const std::vector<double> square{1, 2, 3, 4};
    const auto given = *TensorView<const double>::over(square, Shape{2, 2});
    auto before = *Tensor<double>::copy_of(given, memory);
    auto weight = *Parameter<double>::make(given, memory);
    auto behind = *Tensor<double>::copy_of(given, memory);
    ASSERT_LT(before.span().data(), weight.value().data());
    ASSERT_LT(weight.value().data(), behind.span().data());
    memory.failing = true;
    before.span()[0] = 5;
    ASSERT_TRUE(weight.update(before.view()));
    EXPECT_EQ(stored(weight), (std::vector<double>{5, 2, 3, 4}));
    behind.span()[3] = 6;
    ASSERT_TRUE(weight.update(behind.view()));
    EXPECT_EQ(stored(weight), (std::vector<double>{1, 2, 3, 6}));
    // Only what overlaps takes memory.
    EXPECT_EQ(test::refusal(weight.update(*weight.value().transpose(0, 1))), "AllocationFailed");
    EXPECT_EQ(stored(weight), (std::vector<double>{1, 2, 3, 6}));
    EXPECT_EQ(weight.revision(), 2U);
}

TEST(Parameter, ReturnsEveryByte) {
    test::CountingMemory memory;
    {
        auto first = parameter({1, 2}, memory);
        auto second = first;
        second = parameter({3, 4}, memory);
        first = std::move(second);
        EXPECT_EQ(stored(first), (std::vector<double>{3, 4}));
        // A handle on nothing may be copied, and takes what it is given.
        auto nothing = second;
        nothing = first;
        EXPECT_TRUE(nothing.same_node(first));
        const std::vector<double> two{1, 2};
        for (std::size_t failing = 1; failing <= 2; ++failing) {
            memory.fail_at(failing);
            EXPECT_EQ(test::refusal(Parameter<double>::make(row(two), memory)), "AllocationFailed");
        }
    }
    EXPECT_EQ(memory.live, 0U);
}

// The published recurrence, written out for one element in long double.
TEST(AdamW, FollowsTheRecurrence) {
    const std::vector<Parameter<double>> weights{parameter({0.5, -2.0})};
    auto optimiser = *AdamW<double>::make(weights, {0.1, 0.9, 0.99, 1e-8, 0.01});
    long double expected[] = {0.5L, -2.0L};
    long double first[] = {0, 0};
    long double second[] = {0, 0};
    for (int step = 1; step <= 5; ++step) {
        const std::vector<double> gradient{0.3 * step, -1.0 / step};
        const std::vector<TensorView<const double>> gradients{row(gradient)};
        ASSERT_TRUE(optimiser.step(gradients));
        for (std::size_t i = 0; i < 2; ++i) {
            const auto g = static_cast<long double>(gradient[i]);
            first[i] = 0.9L * first[i] + 0.1L * g;
            second[i] = 0.99L * second[i] + 0.01L * g * g;
            const long double m = first[i] / (1 - std::pow(0.9L, step));
            const long double v = second[i] / (1 - std::pow(0.99L, step));
            expected[i] -= 0.1L * 0.01L * expected[i] + 0.1L * m / (std::sqrt(v) + 1e-8L);
            // Five steps of a dozen roundings each, every one at most an ulp of a number near 2.
            EXPECT_NEAR(stored(weights[0])[i], static_cast<double>(expected[i]), 5 * 12 * 0x1p-51);
        }
    }
    EXPECT_EQ(weights[0].revision(), 5U);
    EXPECT_EQ(optimiser.steps(), 5U);
}

TEST(AdamW, ARefusedStepMovesNoParameterAndNoMoment) {
    const auto run = [](bool with_refusals) {
        const std::vector<Parameter<double>> weights{parameter({1}), parameter({2, 3})};
        auto optimiser = *AdamW<double>::make(weights, {0.1, 0.9, 0.99, 1e-8, 0.01});
        const std::vector<double> one{0.5};
        const std::vector<double> two{-0.25, 4};
        const std::vector<double> bad{1, kNan};
        const std::vector<double> worse{kNan, kNan};
        const std::vector<double> huge{1e300, 1};
        for (int step = 0; step < 3; ++step) {
            if (with_refusals) {
                using Gradients = std::vector<TensorView<const double>>;
                EXPECT_EQ(test::refusal(optimiser.step(Gradients{row(one)})), "GradientCountMismatch");
                EXPECT_EQ(test::refusal(optimiser.step(Gradients{row(one), row(one)})),
                          "GradientShapeMismatch");
                EXPECT_EQ(test::refusal(optimiser.step(Gradients{row(one), row(bad)})), "NonFiniteGradient");
                const auto first = optimiser.step(Gradients{row(one), row(worse)});
                EXPECT_EQ(test::refusal(first), "NonFiniteGradient");
                EXPECT_EQ(first.error().get_if<NonFiniteGradient>()->index, 0U);
                // Squared, a finite gradient leaves the finite numbers; the weight itself would look
                // harmless.
                EXPECT_EQ(test::refusal(optimiser.step(Gradients{row(one), row(huge)})), "NonFiniteUpdate");
            }
            const std::vector<TensorView<const double>> gradients{row(one), row(two)};
            EXPECT_TRUE(optimiser.step(gradients));
        }
        EXPECT_EQ(weights[0].revision(), 3U);
        std::vector<double> result = stored(weights[0]);
        const std::vector<double> rest = stored(weights[1]);
        result.insert(result.end(), rest.begin(), rest.end());
        return result;
    };
    EXPECT_EQ(run(false), run(true));
}

TEST(AdamW, RefusesOptionsOutsideTheirDomain) {
    const std::vector<Parameter<double>> weights{parameter({1})};
    const std::vector<Parameter<double>> twice{weights[0], weights[0]};
    const auto refused = [&](const AdamWOptions& options) {
        return test::refusal(AdamW<double>::make(weights, options));
    };
    EXPECT_EQ(refused({-1, 0.9, 0.99, 1e-8, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({kNan, 0.9, 0.99, 1e-8, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({0.1, 1.0, 0.99, 1e-8, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({0.1, 0.9, kNan, 1e-8, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({0.1, 0.9, 0.99, 0, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({0.1, 0.9, 0.99, -1, 0}), "HyperparameterInvalid");
    EXPECT_EQ(refused({0.1, 0.9, 0.99, 1e-8, kInfinity}), "HyperparameterInvalid");
    EXPECT_EQ(refused({}), "");
    EXPECT_EQ(test::refusal(AdamW<double>::make(twice)), "DuplicateParameter");
    // What rounds out of its domain in the weights' own type is refused there.
    const std::vector<float> one{1};
    const std::vector<Parameter<float>> narrow{
        *Parameter<float>::make(*TensorView<const float>::over(one, Shape{1}))};
    EXPECT_EQ(test::refusal(AdamW<float>::make(narrow, {0.1, 1.0 - 1e-12, 0.99, 1e-8, 0})),
              "HyperparameterInvalid");
    EXPECT_EQ(test::refusal(AdamW<float>::make(narrow, {0.1, 0.9, 0.99, 1e-60, 0})), "HyperparameterInvalid");
}

TEST(AdamW, AllocatesOnlyWhenMadeAndSurvivesEveryFailure) {
    test::CountingMemory memory;
    {
        const std::vector<Parameter<double>> weights{parameter({1}), parameter({2, 3})};
        memory.fail_at(0);
        auto optimiser = *AdamW<double>::make(weights, {}, memory);
        const std::size_t needed = memory.calls;
        const std::vector<double> one{0.5};
        const std::vector<double> two{-0.25, 4};
        const std::vector<TensorView<const double>> gradients{row(one), row(two)};
        ASSERT_TRUE(optimiser.step(gradients));
        EXPECT_EQ(memory.calls, needed);
        for (std::size_t failing = 1; failing <= needed; ++failing) {
            memory.fail_at(failing);
            EXPECT_EQ(test::refusal(AdamW<double>::make(weights, {}, memory)), "AllocationFailed");
        }
        AdamW<double> moved = std::move(optimiser);
        optimiser = std::move(moved);
        EXPECT_EQ(optimiser.steps(), 1U);
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(AdamW, WithoutParametersCountsItsSteps) {
    test::CountingMemory memory;
    auto optimiser = *AdamW<double>::make({}, {}, memory);
    EXPECT_EQ(memory.calls, 0U);
    const std::vector<double> one{0.5};
    const std::vector<TensorView<const double>> gradients{row(one)};
    EXPECT_EQ(test::refusal(optimiser.step(gradients)), "GradientCountMismatch");
    EXPECT_TRUE(optimiser.step({}));
    EXPECT_EQ(optimiser.steps(), 1U);
}

}  // namespace
}  // namespace attest
