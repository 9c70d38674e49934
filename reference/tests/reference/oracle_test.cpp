// The oracle against closed forms, against itself at twice the digits and in its second formulation, and in
// parts.
#include "oracle/oracle.hpp"
#include "exact.hpp"

#include "attack/random.hpp"

#include <attest/reference/compare.hpp>
#include <attest/reference/judge.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace attest::reference {
namespace {

using attack::Random;

// A layer that owns its numbers.
struct OwnedLayer {
    Layer layer;
    std::vector<double> x, wq, wk, wv, wo;

    OwnedLayer(Random& random, std::size_t batch, std::size_t length, std::size_t width, std::size_t heads,
               std::size_t kv_heads, std::size_t head_width) {
        layer.batch = batch;
        layer.length = length;
        layer.width = width;
        layer.heads = heads;
        layer.kv_heads = kv_heads;
        layer.head_width = head_width;
        layer.rope = {RopePairs::interleaved, head_width / 2 * 2, 10000.0};
        fill(random, x, batch * length * width);
        fill(random, wq, heads * head_width * width);
        fill(random, wk, kv_heads * head_width * width);
        fill(random, wv, kv_heads * head_width * width);
        fill(random, wo, heads * head_width * width);
        lend();
    }
    void lend() {
        layer.x = x;
        layer.wq = wq;
        layer.wk = wk;
        layer.wv = wv;
        layer.wo = wo;
    }
    static void fill(Random& random, std::vector<double>& values, std::size_t count) {
        for (std::size_t n = 0; n < count; ++n)
            values.push_back(static_cast<double>(static_cast<float>(random.normal())));
    }
};

Core core_of(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
             std::size_t keys, std::size_t width, std::size_t value_width) {
    Core core;
    core.batch = core.heads = core.kv_heads = core.length = 1;
    core.keys = keys;
    core.width = width;
    core.value_width = value_width;
    core.q = q;
    core.k = k;
    core.v = v;
    return core;
}

TEST(OracleClosedForms, OneKeyGivesItsValue) {
    const std::vector<double> q{1, -2, 3}, k{0.3, 7, -1}, v{0.1, -5};
    const auto judged =
        judge(core_of(q, k, v, 1, 3, 2), Arithmetic::attest<double>(), {.rows = {}, .weights = true});
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->y.exact[0], Exact(0.1));
    EXPECT_EQ(judged->y.exact[1], Exact(-5));
    EXPECT_EQ(judged->weights.exact[0], Exact(1));
}

TEST(OracleClosedForms, EqualKeysGiveTheMean) {
    const std::vector<double> q{1, -2}, k{0.3, 7, 0.3, 7, 0.3, 7, 0.3, 7}, v{1, 2, 3, 6};
    const auto judged =
        judge(core_of(q, k, v, 4, 2, 1), Arithmetic::attest<double>(), {.rows = {}, .weights = true});
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->y.exact[0], Exact(3));
    for (const Exact& weight : judged->weights.exact)
        EXPECT_EQ(weight, Exact(0.25));
}

// The query is √2·ln 3 times the first of two orthogonal keys: the scores are ln 3 and 0, the weights 3/4 and
// 1/4. ln 3 is no double, so the weights are those of its nearest double.
TEST(OracleClosedForms, OrthogonalKeysGiveKnownOdds) {
    const double amount = std::log(3.0);
    const std::vector<double> q{amount, 0}, k{1, 0, 0, 1}, v{1, 0, 0, 1};
    Core core = core_of(q, k, v, 2, 2, 2);
    core.scale = 1;
    const auto judged = judge(core, Arithmetic::attest<double>(), {.rows = {}, .weights = true});
    ASSERT_TRUE(judged);
    const Real odds = exp(Real(amount));
    EXPECT_LT(abs(real_of<Real>(judged->weights.exact[0]) - odds / (1 + odds)), Real(0x1p-106));
    EXPECT_LT(abs(real_of<Real>(judged->y.exact[1]) - 1 / (1 + odds)), Real(0x1p-106));
    EXPECT_NEAR(static_cast<double>(judged->y.exact[0]), 0.75, 1e-15);
}

TEST(OracleClosedForms, ARotationByAKnownAngle) {
    // base 1: every pair turns by p.
    std::vector<double> x{1, 0, 0, 1};
    Rotary rotary;
    rotary.batch = rotary.heads = rotary.length = 1;
    rotary.width = 4;
    rotary.rope = {RopePairs::half, 4, 1.0};
    rotary.positions = {2};
    rotary.x = x;
    const auto judged = judge(rotary, Arithmetic::attest<double>());
    ASSERT_TRUE(judged);
    const Real c = cos(Real(2)), s = sin(Real(2));
    const Real want[] = {c, -s, s, c};  // pairs (0, 2) = (1, 0) and (1, 3) = (0, 1)
    for (std::size_t n = 0; n < 4; ++n)
        EXPECT_LT(abs(real_of<Real>(judged->y.exact[n]) - want[n]), Real(0x1p-106)) << n;
}

TEST(OracleClosedForms, ARowThatSeesNothingIsExactlyZero) {
    const std::vector<double> q{1}, k{1}, v{7}, nothing{0};
    Core core = core_of(q, k, v, 1, 1, 1);
    core.mask = Broadcast{.shape = {1, 1}, .values = nothing};
    const auto judged = judge(core, Arithmetic::foreign(Number::f32), {.rows = {}, .weights = true});
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->y.exact[0], Exact(0));
    EXPECT_EQ(judged->y.allowed[0], 0.0);
    EXPECT_EQ(judged->weights.allowed[0], 0.0);
    EXPECT_TRUE(compare(judged->y, std::vector<double>{-0.0}).holds());
    EXPECT_FALSE(compare(judged->y, std::vector<double>{0x1p-149}).holds());
}

// Everything again at twice the digits and in the other formulation: far below any bound.
TEST(OracleAgainstItself, TwiceTheDigitsAndTheSecondFormulationAgree) {
    Random random(5);
    for (int trial = 0; trial < 60; ++trial) {
        const std::size_t kv = 1 + random.below(2);
        OwnedLayer owned(random, 1 + random.below(2), 1 + random.below(7), 1 + random.below(9),
                         kv * (1 + random.below(3)), kv, 1 + random.below(6));
        owned.layer.first_position = random.below(100000);
        const auto judged = judge(owned.layer, Arithmetic::attest<double>(),
                                  {.rows = {}, .y = true, .keys = true, .values = true, .weights = true});
        ASSERT_TRUE(judged);
        EXPECT_LT(judged->disagreement, 0x1p-80);
    }
}

template <class N>
Attended<N> attended_by(const Core& core, Formulation formulation) {
    Heads<N> q(1, 1, 1, core.width), k(1, 1, core.keys, core.width), v(1, 1, core.keys, core.value_width);
    q.data = to_reals<N>(core.q);
    k.data = to_reals<N>(core.k);
    v.data = to_reals<N>(core.v);
    const Visibility visibility = Visibility::of(core, -1e300);
    Attention<N> attention{Vectors<N>(q), Vectors<N>(k), Vectors<N>(v), N(1) / sqrt(N(core.width)),
                           std::nullopt,  &visibility,   nullptr};
    if (core.softcap) attention.softcap = N(*core.softcap);
    Attended<N> row;
    Windows<N> windows(attention);
    attend(attention, windows, 0, 0, 0, formulation, row);
    return row;
}

// The four evaluations two by two, so that a fault common to one formulation or one precision shows.
TEST(OracleAgainstItself, AllFourEvaluationsAgree) {
    Random random(6);
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t keys = 1 + random.below(20), width = 1 + random.below(6);
        std::vector<double> q, k, v;
        const double size = random.one_of({0.1, 1.0, 30.0});
        for (std::size_t n = 0; n < width; ++n)
            q.push_back(random.normal() * size);
        for (std::size_t n = 0; n < keys * width; ++n)
            k.push_back(random.normal());
        for (std::size_t n = 0; n < keys * 2; ++n)
            v.push_back(random.normal());
        Core core = core_of(q, k, v, keys, width, 2);
        if (random.chance(3)) core.softcap = 2;
        const auto a = attended_by<Real>(core, Formulation::definition),
                   b = attended_by<Real>(core, Formulation::second);
        const auto c = attended_by<Real100>(core, Formulation::definition),
                   d = attended_by<Real100>(core, Formulation::second);
        for (std::size_t f = 0; f < 2; ++f) {
            EXPECT_LT(abs(a.mixed[f] - b.mixed[f]), Real(1e-43));
            EXPECT_LT(abs(Real100(a.mixed[f]) - c.mixed[f]), Real100(1e-43));
            EXPECT_LT(abs(c.mixed[f] - d.mixed[f]), Real100(1e-92));
        }
        for (std::size_t n = 0; n < keys; ++n)
            EXPECT_LT(abs(c.weights[n] - d.weights[n]), Real100(1e-92));
    }
}

// Scores near 10^290: fifty digits leave their exponentials undetermined, four hundred do not.
TEST(OracleAgainstItself, EscalatesWhereFiftyDigitsAreTooFew) {
    const std::vector<double> q{1e150, 1e150}, k{1e140, -1e140, 1e140, std::nextafter(-1e140, 0)}, v{1, -1};
    Core core = core_of(q, k, v, 2, 2, 1);
    const auto judged = judge(core, Arithmetic::attest<double>());
    ASSERT_TRUE(judged);
    EXPECT_LT(judged->disagreement, 0x1p-30);
    EXPECT_EQ(judged->y.exact[0], Exact(-1));  // the second key wins by far more than exp can show
}

// Only the last rows: the same numbers and the same bounds as in the whole, since a row does not depend on
// later ones.
TEST(OracleRows, AreThoseOfTheWhole) {
    Random random(7);
    OwnedLayer owned(random, 2, 9, 6, 4, 2, 4);
    owned.layer.first_position = 11;
    for (const Arithmetic& told : {Arithmetic::attest<float>(), Arithmetic::foreign(Number::bf16)}) {
        const auto whole =
            judge(owned.layer, told, {.rows = {}, .y = true, .keys = true, .values = true, .weights = true});
        ASSERT_TRUE(whole);
        for (std::size_t first = 0; first < 9; ++first) {
            const std::size_t count = 1 + first % 3;
            const auto part =
                judge(owned.layer, told,
                      {.rows = {first, count}, .y = true, .keys = true, .values = true, .weights = true});
            ASSERT_TRUE(part);
            const std::size_t rows = std::min<std::size_t>(count, 9 - first);
            ASSERT_EQ(part->y.shape, (std::vector<std::size_t>{2, rows, 6}));
            for (std::size_t b = 0; b < 2; ++b)
                for (std::size_t t = 0; t < rows; ++t)
                    for (std::size_t i = 0; i < 6; ++i) {
                        const std::size_t here = (b * rows + t) * 6 + i, there = (b * 9 + first + t) * 6 + i;
                        EXPECT_EQ(part->y.exact[here], whole->y.exact[there]);
                        EXPECT_EQ(part->y.allowed[here], whole->y.allowed[there]);
                    }
            for (std::size_t bh = 0; bh < 4; ++bh)
                for (std::size_t t = 0; t < rows; ++t)
                    for (std::size_t f = 0; f < 4; ++f) {
                        const std::size_t here = (bh * rows + t) * 4 + f,
                                          there = (bh * 9 + first + t) * 4 + f;
                        EXPECT_EQ(part->keys.exact[here], whole->keys.exact[there]);
                        EXPECT_EQ(part->values.allowed[here], whole->values.allowed[there]);
                    }
            const auto alone =
                judge(owned.layer, told, {.rows = {first, count}, .y = false, .keys = true, .values = true});
            ASSERT_TRUE(alone);
            EXPECT_EQ(alone->keys.exact, part->keys.exact);
            EXPECT_EQ(alone->keys.allowed, part->keys.allowed);
            EXPECT_TRUE(alone->y.exact.empty());
        }
    }
}

// A prefix cut short is the prefix: the last row of six is the last row of the first six of nine.
TEST(OracleRows, DoNotDependOnLaterRows) {
    Random random(8);
    OwnedLayer owned(random, 1, 9, 5, 2, 1, 4);
    Layer shorter = owned.layer;
    shorter.length = 6;
    shorter.x = std::span(owned.x).first(6 * 5);
    const auto nine = judge(owned.layer, Arithmetic::attest<double>(), {.rows = {5, 1}});
    const auto six = judge(shorter, Arithmetic::attest<double>(), {.rows = {5, 1}});
    ASSERT_TRUE(nine && six);
    EXPECT_EQ(nine->y.exact, six->y.exact);
    EXPECT_EQ(nine->y.allowed, six->y.allowed);
    owned.x[7 * 5] = std::nan("");  // a later row takes no part
    owned.lend();
    EXPECT_TRUE(judge(owned.layer, Arithmetic::attest<double>(), {.rows = {5, 1}}));
    EXPECT_FALSE(judge(owned.layer, Arithmetic::attest<double>()));
}

}  // namespace
}  // namespace attest::reference
