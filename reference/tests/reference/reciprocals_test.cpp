// Reciprocals below the normals, and denominators beyond the range: what the attack does not reach, its rows
// being short and its softcaps small.
#include "attack/attack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attest::reference {
namespace {

// A kernel that multiplies with a reciprocal, in an arithmetic whose sums are f32 and whose softmax is f16.
attack::Setup setup_with_reciprocals(std::size_t keys, Subnormals subnormals) {
    attack::Setup setup;
    setup.told = Arithmetic::foreign(Number::f16);
    setup.told.softmax_precision = setup.told.weights_type = Number::f16;
    setup.told.accumulate = Number::f32;
    setup.told.summation.kind = Summation::Kind::pairwise;
    setup.told.passes.kind = Passes::Kind::two_pass;
    setup.told.exponent = Exponent::e;
    setup.told.subnormals = subnormals;
    setup.choices.positions = attack::Choices::Order::pairwise;
    setup.choices.reciprocal = true;
    setup.core = {
        .batch = 1, .heads = 1, .kv_heads = 1, .length = 1, .keys = keys, .width = 1, .value_width = 1};
    setup.core.scale = 1;
    setup.tensors = {
        {1}, std::vector<double>(keys, 0), std::vector<double>(keys, 0x1p-1), std::vector<double>()};
    return setup;
}

TEST(Reciprocals, OfVastDenominatorsMayBeFlushed) {
    // 1/17000 lies below the smallest normal of f16, 2^−14: on the grid it is flushed, and the answer is 0.
    // The model errs upwards, by 2^−14 in the reciprocal and again in each product.
    for (const attack::Nature nature : {attack::Nature::grid, attack::Nature::model})
        for (const Subnormals subnormals : {Subnormals::flushed, Subnormals::kept})
            for (const bool before : {false, true}) {
                attack::Setup setup = setup_with_reciprocals(17000, subnormals);
                setup.choices.divided_before = before;
                setup.conduct.nature = nature;
                for (auto& stage : setup.conduct.pushes.direction)
                    stage.fill(1);
                const attack::Answers answers = attack::answers_of(setup);
                if (subnormals == Subnormals::kept) {
                    EXPECT_NEAR(answers.at(0).second.at(0), 0.5, 0.05);
                } else if (nature == attack::Nature::grid) {
                    EXPECT_EQ(answers.at(0).second.at(0), 0);
                } else {
                    EXPECT_GT(answers.at(0).second.at(0), 1);
                }
                const attack::Trial trial = attack::compare_all(attack::judgement_of(setup), answers);
                EXPECT_TRUE(trial.judged);
                EXPECT_FALSE(trial.violated) << trial.violation;
            }
}

TEST(Reciprocals, OfVastSoftcapsMayBeFlushed) {
    attack::Setup setup = setup_with_reciprocals(2, Subnormals::flushed);
    setup.core.softcap = 16400;  // 1/c just below the smallest normal
    setup.told.softmax_precision = setup.told.weights_type =
        Number::f32;  // so that the tanh's error is small
    setup.tensors = {{4}, {5, 0}, {1, -1}, {}};
    const attack::Answers answers = attack::answers_of(setup);
    EXPECT_EQ(answers.at(0).second.at(0), 0);  // every score 0; in truth the first is far the greatest
    const attack::Trial trial = attack::compare_all(attack::judgement_of(setup), answers);
    EXPECT_TRUE(trial.judged);
    EXPECT_FALSE(trial.violated) << trial.violation;
}

TEST(Reciprocals, ADenominatorBeyondTheRangeHasNoBound) {
    // The sum is held in f32, yet divided by in f16, where it is infinite.
    attack::Setup setup = setup_with_reciprocals(70000, Subnormals::kept);
    setup.told.arithmetic = Number::f32;
    const std::vector<Judged> judged = attack::judgement_of(setup);
    EXPECT_FALSE(std::isfinite(judged.at(0).allowed.at(0)));
}

}  // namespace
}  // namespace attest::reference
