// Wrong kernels written a second time, and what the diagnosis says of them.
#include "reference/naive.hpp"

#include "diagnosis/suspect.hpp"

#include <attest/reference/diagnosis.hpp>
#include <attest/reference/judge.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

namespace attest::reference {
namespace {

using testing::NaiveLayer;

// What is said of a layer's answers: those of `change`d naive kernel, with keys and values.
Diagnosis diagnosis_of(
    const std::function<void(NaiveLayer&)>& change,
    const std::function<void(NaiveLayer&)>& shape = [](NaiveLayer&) {}) {
    NaiveLayer right;
    shape(right);
    NaiveLayer wrong;
    shape(wrong);
    wrong.group = [&wrong](std::size_t h) { return h / (wrong.heads / wrong.kv_heads); };
    change(wrong);
    const auto judged = judge(right.problem(), Arithmetic::foreign(Number::f64));
    EXPECT_TRUE(judged);
    const std::vector<double> got[] = {wrong.y(), wrong.keys(), wrong.values()};
    std::vector<Evidence> evidence;
    for (const Judged* one : {&judged->y, &judged->keys, &judged->values}) {
        Evidence shown{
            .name = one->name, .shape = one->shape, .got = got[evidence.size()], .allowed = one->allowed};
        for (const Exact& exact : one->exact)
            shown.want.push_back(static_cast<double>(exact));
        evidence.push_back(shown);
    }
    return diagnose(right.problem(), 0, evidence);
}

std::string cause_of(const Diagnosis& diagnosis) {
    if (diagnosis.explanations.empty()) return "nothing";
    return (diagnosis.complete ? "" : "in part: ") + diagnosis.explanations.front().cause;
}

TEST(Diagnosis, OfARightAnswerSaysNothing) {
    const Diagnosis diagnosis = diagnosis_of([](NaiveLayer&) {});
    EXPECT_TRUE(diagnosis.explanations.empty());
    EXPECT_TRUE(diagnosis.patterns.empty());
}

TEST(Diagnosis, NamesTheFaultOfALayer) {
    const std::pair<std::string, std::function<void(NaiveLayer&)>> faults[] = {
        {"query heads mapped by h mod Hkv",
         [](NaiveLayer& n) { n.group = [&n](std::size_t h) { return h % n.kv_heads; }; }},
        {"causal mask ignored",
         [](NaiveLayer& n) { n.sees = [](std::size_t, std::size_t) { return true; }; }},
        {"frontier off by one: a row sees one key too many",
         [](NaiveLayer& n) { n.sees = [](std::size_t i, std::size_t j) { return j <= i + 1; }; }},
        {"scale missing", [](NaiveLayer& n) { n.scale = 1; }},
        {"scale applied twice", [](NaiveLayer& n) { n.scale = 0.25; }},
        {"the other pair convention", [](NaiveLayer& n) { n.other_pairs = true; }},
        {"values rotated", [](NaiveLayer& n) { n.values_turned = true; }},
        {"positions one too far", [](NaiveLayer& n) { n.q_shift = n.k_shift = 1; }},
        {"queries rotated one position too far", [](NaiveLayer& n) { n.q_shift = 1; }},
        {"keys rotated one position too few", [](NaiveLayer& n) { n.k_shift = -1; }},
        {"positions counted from 0", [](NaiveLayer& n) { n.first_position = 0; }},
        {"rope_base ignored: 10000 used", [](NaiveLayer& n) { n.rope.base = 10000; }},
        {"nothing rotated", [](NaiveLayer& n) { n.rope.width = 0; }},
        {"q, k and v reshaped where they had to be transposed", [](NaiveLayer& n) { n.reshaped = true; }},
    };
    for (const auto& [cause, change] : faults)
        EXPECT_EQ(cause_of(diagnosis_of(change)), cause);
}

TEST(Diagnosis, NamesTwoFaultsAtOnce) {
    const Diagnosis diagnosis = diagnosis_of([](NaiveLayer& n) {
        n.group = [&n](std::size_t h) { return h % n.kv_heads; };
        n.sees = [](std::size_t, std::size_t) { return true; };
    });
    EXPECT_EQ(cause_of(diagnosis), "query heads mapped by h mod Hkv + causal mask ignored");
}

TEST(Diagnosis, OfASquareLayerKnowsATransposedWeight) {
    const auto square = [](NaiveLayer& n) {
        n.width = 16;
        n.wq.assign(256, 0);
        for (std::size_t i = 0; i < 256; ++i)
            n.wq[i] = std::sin(static_cast<double>(i * i));
        for (auto* w : {&n.wk, &n.wv, &n.wo, &n.x})
            while (w->size() < 16 * 16)
                w->push_back(std::cos(static_cast<double>(w->size())));
        n.wk.resize(8 * 16);
        n.wv.resize(8 * 16);
        n.x.resize(n.batch * n.length * 16);
    };
    EXPECT_EQ(cause_of(diagnosis_of([](NaiveLayer& n) { n.transposed_wq = true; }, square)), "wq transposed");
}

// A fault nobody has listed: the diagnosis says where, and does not make a cause up.
TEST(Diagnosis, OfAnUnknownFaultGivesThePlaceAlone) {
    const Diagnosis diagnosis = diagnosis_of([](NaiveLayer& n) { n.bias = 0.1; });
    EXPECT_EQ(cause_of(diagnosis), "nothing");
    ASSERT_EQ(diagnosis.patterns.size(), 1U);
    EXPECT_EQ(diagnosis.patterns[0].substr(0, 3), "y: ");
    EXPECT_NE(diagnosis.patterns[0].find("row 1 on"), std::string::npos) << diagnosis.patterns[0];
}

TEST(Diagnosis, FindsAStaleRow) {
    // Row 2 of head 1 of batch 0.
    const Diagnosis diagnosis = diagnosis_of([](NaiveLayer& n) { n.stale_row = 1 * 5 + 2; });
    ASSERT_EQ(diagnosis.patterns.size(), 2U);  // y saw it too
    EXPECT_EQ(diagnosis.patterns[1],
              "keys: 4 of 80 elements wrong, batch 0 alone, head 1 alone, row 2 alone");
    EXPECT_EQ(cause_of(diagnosis), "nothing");
}

// What is right inside and wrong in the dump: y does not know of it.
TEST(Diagnosis, OfAStageAloneSaysWhichFits) {
    const auto keys_alone = [](const std::function<std::vector<double>(const NaiveLayer&)>& keys) {
        const NaiveLayer right;
        const auto judged = judge(right.problem(), Arithmetic::foreign(Number::f64));
        EXPECT_TRUE(judged);
        const std::vector<double> y = right.y(), got = keys(right);
        std::vector<Evidence> evidence;
        for (const Judged* one : {&judged->y, &judged->keys}) {
            Evidence shown{.name = one->name,
                           .shape = one->shape,
                           .got = one == &judged->y ? y : got,
                           .allowed = one->allowed};
            for (const Exact& exact : one->exact)
                shown.want.push_back(static_cast<double>(exact));
            evidence.push_back(shown);
        }
        return cause_of(diagnose(right.problem(), 0, evidence));
    };
    EXPECT_EQ(keys_alone([](const NaiveLayer& n) {
                  std::vector<double> laid;
                  const std::vector<double> k = n.keys();
                  for (std::size_t b = 0; b < 2; ++b)
                      for (std::size_t t = 0; t < 5; ++t)
                          for (std::size_t h = 0; h < 2; ++h)
                              for (std::size_t f = 0; f < 4; ++f)
                                  laid.push_back(k[((b * 2 + h) * 5 + t) * 4 + f]);
                  return laid;
              }),
              "keys handed over as [batch, row, head, feature]");
    EXPECT_EQ(keys_alone([](const NaiveLayer& n) {
                  NaiveLayer other = n;
                  other.other_pairs = true;
                  return other.keys();
              }),
              "in part: the other pair convention");
    EXPECT_EQ(keys_alone([](const NaiveLayer& n) {
                  NaiveLayer other = n;
                  other.stale_row = 7;
                  return other.keys();
              }),
              "rows out of place: row [0, 1, 2] holds what belongs to [0, 1, 1]");
}

// No two suspects of the list carry one name, and there are as many as the documentation says.
TEST(Diagnosis, SuspectsAreTold) {
    std::set<std::string> names;
    for (const diagnosis::Fault& fault : diagnosis::faults())
        EXPECT_TRUE(names.insert(fault.text).second) << fault.text;
    EXPECT_GE(names.size(), 80U);
}

// Attention alone: one wrong kernel a key of the dump format.
struct Alone {
    std::vector<double> q, k, v, past_k, past_v, mask, bias;
    Core core;

    Alone() {
        core = {.batch = 1,
                .heads = 2,
                .kv_heads = 2,
                .length = 3,
                .keys = 3,
                .past = 2,
                .width = 4,
                .value_width = 4};
        const auto fill = [](std::vector<double>& values, std::size_t count, double step) {
            for (std::size_t n = 0; n < count; ++n)
                values.push_back(std::sin(step * static_cast<double>(n + 1)));
        };
        fill(q, 24, 1.3), fill(k, 24, 0.7), fill(v, 24, 2.1), fill(past_k, 16, 3.3), fill(past_v, 16, 0.9);
        fill(bias, 15, 1.9);
        mask = {1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1};
        core.q = q, core.k = k, core.v = v, core.past_k = past_k, core.past_v = past_v;
        core.causal = true;
    }
};

struct Ways {
    bool masked = false, biased = false;
    double bias_factor = 1, scale = 0.5, softcap = 0;
    bool inverted = false, cap_last = false, top_left = false, causal = true, past_behind = false;
    bool first_dropped = false, last_twice = false;
    double factor = 1;
};

// y [1, 2, 3, 4] of `alone`, by `ways`.
std::vector<double> answer(const Alone& alone, const Ways& ways) {
    std::vector<double> y(24);
    for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t i = 0; i < 3; ++i) {
            double sum = 0;
            std::vector<double> mixed(4);
            for (std::size_t j = 0; j < 5; ++j) {
                if (ways.causal && j > i + (ways.top_left ? 0 : 2)) continue;
                if (ways.masked && (alone.mask[i * 5 + j] != 0) == ways.inverted) continue;
                const std::size_t from = ways.past_behind ? (j + 2) % 5 : j;
                const double* const k =
                    from < 2 ? &alone.past_k[(h * 2 + from) * 4] : &alone.k[(h * 3 + from - 2) * 4];
                const double* const v =
                    from < 2 ? &alone.past_v[(h * 2 + from) * 4] : &alone.v[(h * 3 + from - 2) * 4];
                double s = 0;
                for (std::size_t f = 0; f < 4; ++f)
                    s += alone.q[(h * 3 + i) * 4 + f] * k[f];
                s *= ways.scale;
                const double added = ways.biased ? ways.bias_factor * alone.bias[i * 5 + j] : 0;
                if (ways.cap_last) s += added;
                if (ways.softcap != 0) s = ways.softcap * std::tanh(s / ways.softcap);
                if (!ways.cap_last) s += added;
                double w = std::exp(s);
                if (ways.first_dropped && j == 0) w = 0;
                if (ways.last_twice && j == i + 2) w *= 2;
                sum += w;
                for (std::size_t f = 0; f < 4; ++f)
                    mixed[f] += w * v[f];
            }
            for (std::size_t f = 0; f < 4; ++f)
                y[(h * 3 + i) * 4 + f] = sum > 0 ? ways.factor * mixed[f] / sum : 0;
        }
    return y;
}

std::string cause_of(const Ways& told, const Ways& done) {
    Alone alone;
    alone.core.causal = told.causal;
    if (told.masked) alone.core.mask = Broadcast{.shape = {3, 5}, .values = alone.mask};
    if (told.biased) alone.core.bias = Broadcast{.shape = {3, 5}, .values = alone.bias};
    if (told.softcap != 0) alone.core.softcap = told.softcap;
    const auto judged = judge(alone.core, Arithmetic::foreign(Number::f64));
    EXPECT_TRUE(judged);
    const std::vector<double> got = answer(alone, done);
    Evidence evidence{.name = "y", .shape = judged->y.shape, .got = got, .allowed = judged->y.allowed};
    for (const Exact& exact : judged->y.exact)
        evidence.want.push_back(static_cast<double>(exact));
    return cause_of(diagnose(alone.core, judged->bias_lowest, {evidence}));
}

TEST(Diagnosis, NamesTheFaultOfAttentionAlone) {
    const Ways masked{.masked = true, .causal = false}, biased{.biased = true};
    const Ways capped{.biased = true, .softcap = 0.5};
    EXPECT_EQ(cause_of(masked, masked), "nothing");
    EXPECT_EQ(cause_of(masked, {.masked = true, .inverted = true, .causal = false}),
              "mask of the other polarity: true taken for hidden");
    EXPECT_EQ(cause_of(masked, {.causal = false}), "mask ignored");
    EXPECT_EQ(cause_of(biased, {.biased = true, .bias_factor = 2}), "bias added twice");
    EXPECT_EQ(cause_of(biased, {.biased = true, .bias_factor = 0.5}), "bias added before the scale");
    EXPECT_EQ(cause_of(biased, {}), "bias ignored");
    EXPECT_EQ(cause_of({}, {.top_left = true}), "causal mask ignores the past (aligned top left)");
    EXPECT_EQ(cause_of({}, {.causal = false}), "causal mask ignored");
    EXPECT_EQ(cause_of({.causal = false}, {}), "causal though told not to be");
    EXPECT_EQ(cause_of({}, {.past_behind = true}), "past keys and values put behind the new ones");
    EXPECT_EQ(cause_of(capped, {.biased = true, .softcap = 0.5, .cap_last = true}),
              "softcap after mask and bias");
    EXPECT_EQ(cause_of(capped, {.biased = true}), "softcap ignored");
    EXPECT_EQ(cause_of({.softcap = 0.5}, {.scale = 1, .softcap = 0.5}), "scale missing");
    EXPECT_EQ(cause_of({}, {.first_dropped = true}), "first key dropped");
    EXPECT_EQ(cause_of({}, {.last_twice = true}), "last key counted twice");
    EXPECT_EQ(cause_of({}, {.factor = 1.01}), "the answer times 1.01 (weights that do not sum to 1?)");
    // Half of it: too far to be called that fault.
    EXPECT_EQ(cause_of({}, {.scale = 0.51}), "nothing");
}

// Among coarse numbers several faults come near; the one that is it comes nearest.
TEST(Diagnosis, NamesTheNearestOfSeveral) {
    constexpr std::size_t keys = 200, width = 16;
    std::vector<double> q(width), k(keys * width), v(keys), y{0};
    for (std::size_t n = 0; n < q.size(); ++n)
        q[n] = std::sin(1.3 * static_cast<double>(n + 1));
    for (std::size_t n = 0; n < k.size(); ++n)
        k[n] = std::sin(0.7 * static_cast<double>(n * n % 9973));
    for (std::size_t n = 0; n < v.size(); ++n)
        v[n] = std::sin(2.1 * static_cast<double>(n * n % 1009)) + (n + 1 == keys ? 9 : 0);
    Core core{.batch = 1,
              .heads = 1,
              .kv_heads = 1,
              .length = 1,
              .keys = keys,
              .width = width,
              .value_width = 1,
              .q = q,
              .k = k,
              .v = v};
    double sum = 0;
    for (std::size_t j = 0; j + 1 < keys; ++j) {  // the last key dropped
        double s = 0;
        for (std::size_t f = 0; f < width; ++f)
            s += q[f] * k[j * width + f];
        const double w = std::exp(s / 4);
        sum += w;
        y[0] += w * v[j];
    }
    y[0] /= sum;
    const auto judged = judge(core, Arithmetic::foreign(Number::f16));
    ASSERT_TRUE(judged);
    const Evidence evidence{.name = "y",
                            .shape = judged->y.shape,
                            .got = y,
                            .want = {static_cast<double>(judged->y.exact[0])},
                            .allowed = judged->y.allowed};
    ASSERT_GT(std::fabs(y[0] - evidence.want[0]), judged->y.allowed[0]);
    const Diagnosis diagnosis = diagnose(core, judged->bias_lowest, {evidence});
    EXPECT_EQ(cause_of(diagnosis), "last key dropped");
    for (const Explanation& one : diagnosis.explanations)
        EXPECT_LT(one.worst_ratio, 0.1) << one.cause;
}

}  // namespace
}  // namespace attest::reference
