// The published rules at their edges, the pair (atol, rtol), and the wrong kernels they are shown.
#include "attack/random.hpp"

#include <attest/reference/rules.hpp>
#include <attest/reference/tolerance.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace attest::reference {
namespace {

Ruling ruling(std::string_view name, const Exhibit& exhibit) {
    for (const Rule& rule : published_rules())
        if (rule.name == name) return rule.judge(exhibit);
    ADD_FAILURE() << "no rule " << name;
    return Ruling::not_applicable;
}

// Whether a rule accepts one element `got` where `want` is right.
Ruling one(std::string_view name, double got, double want, const AttentionFacts* facts = nullptr,
           Number type = Number::f32) {
    const std::vector<double> g{got}, w{want};
    return ruling(name, {.got = g, .want = w, .type = type, .is_attention = true, .facts = facts});
}

TEST(Rules, AcceptUpToTheirToleranceAndNoFurther) {
    const struct {
        const char* name;
        double atol, rtol;
    } pairs[] = {{"vLLM", 1.5e-2, 1e-2},
                 {"flashinfer", 1e-3, 1e-3},
                 {"ORT fp16", 5e-3, 5e-3},
                 {"ORT bf16", 1e-2, 5e-2},
                 {"ONNX", 1e-7, 1e-3}};
    for (const auto& [name, atol, rtol] : pairs)
        for (const double want : {0.0, 0.5, -3.0}) {
            const double most = atol + rtol * std::fabs(want);
            EXPECT_EQ(one(name, want + most * 0.999, want), Ruling::accepts) << name << want;
            EXPECT_EQ(one(name, want - most * 1.001, want), Ruling::refuses) << name << want;
            EXPECT_EQ(one(name, std::nan(""), want), Ruling::refuses) << name;
            EXPECT_EQ(one(name, std::numeric_limits<double>::infinity(), want), Ruling::refuses) << name;
        }
}

TEST(Rules, GgmlLooksAtTheWholeTensor) {
    const std::vector<double> want{3, 4};  // Σw² = 25
    const auto by = [&](double off, bool weights, bool attention) {
        const std::vector<double> got{3 + off, 4};
        return ruling("ggml", {.got = got, .want = want, .is_weights = weights, .is_attention = attention});
    };
    EXPECT_EQ(by(std::sqrt(5e-4 * 25) * 0.999, false, true), Ruling::accepts);
    EXPECT_EQ(by(std::sqrt(5e-4 * 25) * 1.001, false, true), Ruling::refuses);
    EXPECT_EQ(by(std::sqrt(1e-6 * 25) * 0.999, true, false), Ruling::accepts);
    EXPECT_EQ(by(std::sqrt(1e-6 * 25) * 1.001, true, false), Ruling::refuses);
    EXPECT_EQ(by(std::sqrt(1e-7 * 25) * 0.999, false, false), Ruling::accepts);
    EXPECT_EQ(by(std::sqrt(1e-7 * 25) * 1.001, false, false), Ruling::refuses);
    EXPECT_EQ(one("ggml", std::nan(""), 1), Ruling::refuses);
    EXPECT_EQ(one("ggml", 1, 0), Ruling::refuses);
    EXPECT_EQ(one("ggml", 0, 0), Ruling::accepts);
}

TEST(Rules, ThatAskForAttentionSayWhereTheyDoNotApply) {
    AttentionFacts facts;
    facts.magnitude = {2};
    facts.plain = {1.25};
    facts.largest_q = facts.largest_k = 1;
    facts.largest_v = 1;
    facts.scale = 0.5;
    facts.keys = 9;
    facts.width = 4;
    const double eps = 0x1p-23;
    for (const char* name : {"benchdnn", "hipDNN", "flash", "flash cache"})
        EXPECT_EQ(one(name, 1, 1), Ruling::not_applicable) << name;
    EXPECT_EQ(one("benchdnn", 1 + 80 * eps, 1, &facts), Ruling::accepts);
    EXPECT_EQ(one("benchdnn", 1 + 81 * eps, 1, &facts), Ruling::refuses);
    // Near zero the difference itself is compared; zeros pass where the threshold reaches one.
    EXPECT_EQ(one("benchdnn", 2e-5, 1e-5, &facts), Ruling::refuses);
    EXPECT_EQ(one("benchdnn", 0, 1, &facts, Number::bf16), Ruling::refuses);
    facts.keys = 16;
    EXPECT_EQ(one("benchdnn", 0, 1, &facts, Number::bf16), Ruling::accepts);
    facts.keys = 9;
    // γ(4) = 8 eps/(1 − 8 eps), γ(9) = 18 eps/…: 2·γ(4) + 2·eps + 2·γ(9) + 10 eps.
    const double most = 2 * 8 * eps / (1 - 8 * eps) + 2 * eps + 2 * 18 * eps / (1 - 18 * eps) + 10 * eps;
    EXPECT_EQ(one("hipDNN", 1 + most * 0.99, 1, &facts), Ruling::accepts);
    EXPECT_EQ(one("hipDNN", 1 - most * 1.01, 1, &facts), Ruling::refuses);
    EXPECT_EQ(one("flash", 1.5, 1, &facts), Ruling::accepts);
    EXPECT_EQ(one("flash", 0.49, 1, &facts), Ruling::refuses);
    EXPECT_EQ(one("flash cache", 1.75, 1, &facts), Ruling::accepts);
    EXPECT_EQ(one("flash cache", 1.7501, 1, &facts), Ruling::refuses);
}

// Plain attention in f32 is near the exact one, in bf16 a thousandfold further, and never equal to it.
TEST(Rules, PlainAttentionIsPlainAttention) {
    attack::Random random(3);
    std::vector<double> q, k, v;
    for (int n = 0; n < 2 * 8; ++n)
        q.push_back(random.normal());
    for (int n = 0; n < 5 * 8; ++n)
        k.push_back(random.normal()), v.push_back(random.normal());
    for (std::vector<double>* const values : {&q, &k, &v})
        for (double& value : *values)
            value = std::round(value * 16) / 16;  // held by bf16
    Core core{.batch = 1, .heads = 1, .kv_heads = 1, .length = 2, .keys = 5, .width = 8, .value_width = 8};
    core.q = q;
    core.k = k;
    core.v = v;
    core.causal = true;
    const auto judged = judge(core, Arithmetic::foreign(Number::f32));
    ASSERT_TRUE(judged);
    double last = 0;
    for (const auto& [type, least, most] :
         {std::tuple{Number::f64, 0.0, 1e-14}, std::tuple{Number::f32, 1e-9, 1e-6},
          std::tuple{Number::bf16, 1e-4, 5e-2}}) {
        const AttentionFacts facts = facts_of(core, judged->bias_lowest, type);
        ASSERT_EQ(facts.plain.size(), judged->y.exact.size());
        double worst = 0;
        for (std::size_t n = 0; n < facts.plain.size(); ++n) {
            worst = std::max(worst, error_of(judged->y.exact[n], facts.plain[n]));
            EXPECT_GE(facts.magnitude[n], std::fabs(static_cast<double>(judged->y.exact[n])) * (1 - 1e-12));
        }
        EXPECT_GE(worst, least) << name_of(type);
        EXPECT_LE(worst, most) << name_of(type);
        EXPECT_GE(worst, last);
        last = worst;
    }
}

TEST(Tolerance, CoversEachBoundAndIsTheSmallestToDoSo) {
    attack::Random random(5);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> want, allowed;
        double mean = 0;
        const std::size_t count = 1 + random.below(40);
        for (std::size_t n = 0; n < count; ++n) {
            want.push_back(random.chance(8) ? 0 : random.normal());
            allowed.push_back(1e-6 * (random.uniform() + std::fabs(want.back()) * random.uniform()));
            mean += std::fabs(want.back()) / static_cast<double>(count);
        }
        const auto pair = smallest_tolerance(want, allowed);
        ASSERT_TRUE(pair);
        for (std::size_t n = 0; n < count; ++n)
            EXPECT_GE(pair->at(want[n]), allowed[n]);
        // No pair of a fine grid that covers them allows less on average, but for the three digits.
        for (int step = 0; step <= 400; ++step) {
            const double rtol = 4e-6 * step / 400;
            double atol = 0;
            for (std::size_t n = 0; n < count; ++n)
                atol = std::max(atol, allowed[n] - rtol * std::fabs(want[n]));
            EXPECT_GE((atol + rtol * mean) * 1.0101, pair->at(mean)) << step;
        }
    }
}

TEST(Tolerance, IsNoneWithoutABound) {
    const std::vector<double> want{1, 2}, bounded{1e-6, 0},
        unbounded{1e-6, std::numeric_limits<double>::infinity()};
    EXPECT_TRUE(smallest_tolerance(want, bounded));
    EXPECT_FALSE(smallest_tolerance(want, unbounded));
    EXPECT_FALSE(smallest_tolerance({}, {}));
}

// Whether a pair of thousandths, flashinfer's, passes a kernel that the bound refuses.
bool slips_through_thousandths(const Judged& judged, const WrongKernels& kernels, Wrong wrong) {
    const RuleTable table = rule_table(judged, Number::f32, {}, kernels, nullptr, std::array{wrong});
    const std::vector<Ruling>& cells = table.rows.back().cells;
    for (std::size_t n = 0; n < published_rules().size(); ++n)
        if (published_rules()[n].name == "flashinfer")
            return cells[n] == Ruling::accepts && cells.back() == Ruling::refuses;
    ADD_FAILURE() << "no rule flashinfer";
    return false;
}

// The answers of the small faults, against their closed forms: two equal keys, so that both weigh half.
TEST(WrongKernels, AnswerWhatTheySay) {
    const std::vector<double> q{1, 0}, k{1, 0, 1, 0}, v{1, 3};
    Core core{.batch = 1, .heads = 1, .kv_heads = 1, .length = 1, .keys = 2, .width = 2, .value_width = 1};
    core.q = q;
    core.k = k;
    core.v = v;
    const auto judged = judge(core, Arithmetic::foreign(Number::f32));
    ASSERT_TRUE(judged);
    const WrongKernels kernels(core, judged->bias_lowest);
    const auto answer = [&](Wrong wrong) {
        const auto got = kernels.answer(wrong, judged->y);
        return got ? static_cast<double>((*got)[0]) : std::nan("");
    };
    EXPECT_EQ(answer(Wrong::zeros), 0);
    EXPECT_EQ(answer(Wrong::negated), -2);
    EXPECT_EQ(answer(Wrong::doubled), 4);
    EXPECT_EQ(answer(Wrong::last_key_dropped), 1);
    EXPECT_EQ(answer(Wrong::last_value_stale), 1);
    EXPECT_DOUBLE_EQ(answer(Wrong::weights_sum_to_1_01), 2.02);
    EXPECT_TRUE(std::isnan(answer(Wrong::uniform_weights)));  // they are uniform: it is right
    EXPECT_TRUE(std::isnan(answer(Wrong::scale_of_width_less_one)));
    EXPECT_TRUE(std::isnan(answer(Wrong::one_stale_key)));
    EXPECT_TRUE(std::isnan(answer(Wrong::wrong_head_group)));
    EXPECT_TRUE(std::isnan(answer(Wrong::position_off_by_one)));
    EXPECT_TRUE(std::isnan(answer(Wrong::exponential_in_half)));  // of 0
    EXPECT_TRUE(std::isnan(answer(Wrong::cache_in_half)));        // of small integers
    EXPECT_TRUE(std::isnan(answer(Wrong::angle_in_float)));
    const std::vector<double> apart{1, 0, 0, 0};
    core.k = apart;
    const auto scored = judge(core, Arithmetic::foreign(Number::f32));
    ASSERT_TRUE(scored);
    const WrongKernels apart_kernels(core, scored->bias_lowest);
    const auto apart_answer = [&](Wrong wrong) {
        const auto got = apart_kernels.answer(wrong, scored->y);
        return got ? static_cast<double>((*got)[0]) : std::nan("");
    };
    // Scores 1 and 0 instead of 1/√2 and 0.
    EXPECT_NEAR(apart_answer(Wrong::scale_of_width_less_one), (std::exp(1) + 3) / (std::exp(1) + 1), 1e-12);
    // The difference of the scores is 1448/2048 in half, and its exponential 2020/4096.
    const double second = 2020.0 / 4096;
    EXPECT_NEAR(apart_answer(Wrong::exponential_in_half), (1 + 3 * second) / (1 + second), 1e-15);
    EXPECT_TRUE(slips_through_thousandths(scored->y, apart_kernels, Wrong::exponential_in_half));
    EXPECT_FALSE(slips_through_thousandths(scored->y, apart_kernels, Wrong::scale_of_width_less_one));
    // A difference of 8/√2 is 1448/256 in half, whose exponential is 1833/2¹⁹; its own would be 1832/2¹⁹.
    const std::vector<double> further{8, 0, 0, 0};
    core.k = further;
    const auto steep = judge(core, Arithmetic::foreign(Number::f32));
    ASSERT_TRUE(steep);
    const auto got = WrongKernels(core, steep->bias_lowest).answer(Wrong::exponential_in_half, steep->y);
    ASSERT_TRUE(got);
    EXPECT_NEAR(static_cast<double>((*got)[0]), (1 + 3 * 1833 * 0x1p-19) / (1 + 1833 * 0x1p-19), 1e-15);
}

// A cache in half rounds keys as well as values, and what is too large for it becomes its largest.
TEST(WrongKernels, KeepCachesInHalf) {
    const double above = 1 + 0x1p-11 + 0x1p-20;  // 1 + 2⁻¹⁰ in half
    const std::vector<double> q{1, 0}, ones{1, 0, 0, 0}, fine{above, 0, 0, 0};
    Core core{.batch = 1, .heads = 1, .kv_heads = 1, .length = 1, .keys = 2, .width = 2, .value_width = 1};
    core.q = q;
    const auto answer = [&](const std::vector<double>& k, const std::vector<double>& v) {
        core.k = k;
        core.v = v;
        const auto judged = judge(core, Arithmetic::foreign(Number::f32));
        EXPECT_TRUE(judged);
        const WrongKernels kernels(core, judged->bias_lowest);
        const bool slips = slips_through_thousandths(judged->y, kernels, Wrong::cache_in_half);
        const auto got = kernels.answer(Wrong::cache_in_half, judged->y);
        return std::pair(got ? static_cast<double>((*got)[0]) : std::nan(""), slips);
    };
    const auto weight = [](double key) { return 1 / (1 + std::exp(key / std::sqrt(2.0))); };
    const auto values = answer(ones, {1, above});
    EXPECT_NEAR(values.first, 1 + weight(1) * 0x1p-10, 1e-15);
    EXPECT_TRUE(values.second);
    const auto keys = answer(fine, {1, 2});
    EXPECT_NEAR(keys.first, 1 + weight(1 + 0x1p-10), 1e-15);
    EXPECT_TRUE(keys.second);
    EXPECT_NEAR(answer(ones, {1, 1e6}).first, 1 + weight(1) * 65503, 1e-10);
}

// A pair that turns by a hundredth a position: in float that is a little less.
TEST(WrongKernels, FormAnglesInFloat) {
    const std::vector<double> x{0, 0, 1, 0};
    Rotary rotary{
        .batch = 1, .heads = 1, .length = 1, .width = 4, .rope = {RopePairs::interleaved, 4, 10000.0}};
    rotary.x = x;
    const auto at = [&](std::int64_t position) {
        rotary.positions = {position};
        const auto judged = judge(rotary, Arithmetic::foreign(Number::f32));
        EXPECT_TRUE(judged);
        return WrongKernels(rotary).answer(Wrong::angle_in_float, judged->y);
    };
    EXPECT_FALSE(at(0));
    const auto far = at(123'457);
    ASSERT_TRUE(far);
    const auto angle = static_cast<double>(123'457.0F * 0.01F);
    EXPECT_GT(std::fabs(angle - 1234.57), 1e-5);
    EXPECT_NEAR(static_cast<double>((*far)[2]), std::cos(angle), 1e-14);
    EXPECT_NEAR(static_cast<double>((*far)[3]), std::sin(angle), 1e-14);
    // Of a kernel of which nothing is told the bound supposes just that; of one with better angles it does
    // not.
    Arithmetic told = Arithmetic::foreign(Number::f32);
    const auto untold = judge(rotary, told);
    told.rope_angles = RopeAngles::f64;
    const auto judged = judge(rotary, told);
    ASSERT_TRUE(untold && judged);
    EXPECT_FALSE(slips_through_thousandths(untold->y, WrongKernels(rotary), Wrong::angle_in_float));
    EXPECT_TRUE(slips_through_thousandths(judged->y, WrongKernels(rotary), Wrong::angle_in_float));
}

// In a layer it is the judged keys that turn so, and the query where anything else is judged; the judged keys
// and values are what a cache in half holds.
TEST(WrongKernels, OfLayersHoldNarrowNumbers) {
    const std::vector<double> x{0, 0, 1, 0, 0, 0, 1, 0},
        identity{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    Layer layer{.batch = 1,
                .length = 2,
                .width = 4,
                .heads = 1,
                .kv_heads = 1,
                .head_width = 4,
                .rope = {RopePairs::interleaved, 4, 10000.0},
                .first_position = 123'456};
    layer.x = x;
    layer.wq = layer.wk = layer.wo = identity;
    std::vector<double> above = identity;
    above[10] += 0x1p-11 + 0x1p-20;
    layer.wv = above;
    const LayerOptions last{
        .rows = {1, 1}, .y = true, .keys = true, .values = true, .weights = true, .doubt = Doubt::none};
    const auto judged = judge(layer, Arithmetic::foreign(Number::f32), last);
    ASSERT_TRUE(judged);
    const WrongKernels kernels(layer, last);
    const auto angle = static_cast<double>(123'457.0F * 0.01F);
    const auto keys = kernels.answer(Wrong::angle_in_float, judged->keys);
    ASSERT_TRUE(keys);
    EXPECT_NEAR(static_cast<double>((*keys)[2]), std::cos(angle), 1e-14);
    EXPECT_NEAR(static_cast<double>((*keys)[3]), std::sin(angle), 1e-14);
    const auto weights = kernels.answer(Wrong::angle_in_float, judged->weights);
    ASSERT_TRUE(weights);
    const double before = std::cos(angle - 1234.56) / 2, newest = std::cos(angle - 1234.57) / 2;
    EXPECT_NEAR(static_cast<double>((*weights)[0]), 1 / (1 + std::exp(newest - before)), 1e-13);
    EXPECT_GT(std::fabs(static_cast<double>((*weights)[0]) - static_cast<double>(judged->weights.exact[0])),
              1e-9);
    EXPECT_FALSE(kernels.answer(Wrong::angle_in_float, judged->values));
    const auto values = kernels.answer(Wrong::cache_in_half, judged->values);
    ASSERT_TRUE(values);
    EXPECT_EQ(static_cast<double>((*values)[2]), 1 + 0x1p-10);
}

}  // namespace
}  // namespace attest::reference
