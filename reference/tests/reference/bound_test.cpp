// The bound holds for right kernels and refuses wrong ones.
#include "attack/attack.hpp"
#include "attack/random.hpp"

#include <attest/reference/bank.hpp>
#include <attest/reference/compare.hpp>
#include <attest/reference/judge.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attest::reference {
namespace {

using attack::Random;
using attack::Target;

// ---- Simulated kernels of every kind, on a machine that errs as far as it may ----

class Attack : public testing::TestWithParam<std::tuple<Target, Number, std::uint64_t>> {};

TEST_P(Attack, NoCorrectKernelLeavesTheBound) {
    const auto [target, number, trials] = GetParam();
    const attack::Campaign campaign = attack::attack_many(target, number, 1'000'000, trials);
    EXPECT_EQ(campaign.violations, 0U) << campaign.first_violation;
    EXPECT_EQ(campaign.trials, trials);
    EXPECT_GT(campaign.judged, trials * 9 / 10);
    EXPECT_GT(campaign.worst, 0.5) << "the attack is too weak to mean anything";
    RecordProperty("worst", std::to_string(campaign.worst));
}

// 10^5 trials together; 10^7 run as attack_at_length.
INSTANTIATE_TEST_SUITE_P(All, Attack,
                         testing::Values(std::tuple{Target::core, Number::f64, 15000U},
                                         std::tuple{Target::core, Number::f32, 20000U},
                                         std::tuple{Target::core, Number::tf32, 10000U},
                                         std::tuple{Target::core, Number::f16, 15000U},
                                         std::tuple{Target::core, Number::bf16, 15000U},
                                         std::tuple{Target::layer, Number::f64, 5000U},
                                         std::tuple{Target::layer, Number::f32, 8000U},
                                         std::tuple{Target::layer, Number::tf32, 2000U},
                                         std::tuple{Target::layer, Number::f16, 5000U},
                                         std::tuple{Target::layer, Number::bf16, 5000U}));

// Trials that have left the bound, of ten million each: weights divided before the mix, each by a reciprocal
// of its own, in a type coarser than sums are formed in; a tanh's absolute error, rounded with it; an exp2 of
// two products' difference that overflows, so that the weight is infinite or no number.
TEST(AttackAgain, TrialsThatLeftTheBound) {
    const std::tuple<Target, Number, std::uint64_t> left[] = {
        {Target::core, Number::tf32, 50'031'082U},  {Target::core, Number::tf32, 50'097'283U},
        {Target::core, Number::bf16, 50'033'309U},  {Target::layer, Number::f16, 50'171'276U},
        {Target::layer, Number::bf16, 50'175'351U},
    };
    for (const auto& [target, number, seed] : left) {
        const attack::Campaign campaign = attack::attack_many(target, number, seed, 1);
        EXPECT_EQ(campaign.judged, 1U);
        EXPECT_EQ(campaign.violations, 0U) << campaign.first_violation;
        EXPECT_GT(campaign.worst, 0.5) << "the trial is not the one that was";
    }
}

// ---- Native float and double, in plain loops ----

enum class Fault { none, stale_key, dropped_key, unscaled, wrong_group, future, position, uniform };

template <class T>
struct Native {
    std::vector<T> y, keys, values, weights;
};

// A layer as anybody would write it, in T: sums from the first term, fused or not, keys fused from the last.
template <class T>
Native<T> run_native(const Layer& layer, bool fused, bool backwards, Fault fault) {
    const std::size_t B = layer.batch, L = layer.length, D = layer.width, H = layer.heads, K = layer.kv_heads,
                      d = layer.head_width;
    const auto held = [](std::span<const double> values) {
        std::vector<T> result;
        for (const double value : values)
            result.push_back(static_cast<T>(value));
        return result;
    };
    const std::vector<T> x = held(layer.x), wq = held(layer.wq), wk = held(layer.wk), wv = held(layer.wv),
                         wo = held(layer.wo);
    const auto dot = [&](const T* a, const T* b, std::size_t n) {
        T sum = 0;
        for (std::size_t step = 0; step < n; ++step) {
            const std::size_t i = backwards ? n - 1 - step : step;
            sum = fused ? std::fma(a[i], b[i], sum) : static_cast<T>(sum + static_cast<T>(a[i] * b[i]));
        }
        return sum;
    };
    const auto project = [&](const std::vector<T>& w, std::size_t heads, bool turned, std::uint64_t shift) {
        std::vector<T> out(B * heads * L * d);
        for (std::size_t b = 0; b < B; ++b)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t t = 0; t < L; ++t) {
                    T* const row = out.data() + ((b * heads + h) * L + t) * d;
                    for (std::size_t f = 0; f < d; ++f)
                        row[f] = dot(w.data() + (h * d + f) * D, x.data() + (b * L + t) * D, D);
                    for (std::size_t i = 0; turned && i < layer.rope.width / 2; ++i) {
                        const bool half = layer.rope.pairs == RopePairs::half;
                        T& p = row[half ? i : 2 * i];
                        T& q = row[half ? i + layer.rope.width / 2 : 2 * i + 1];
                        const double angle =
                            static_cast<double>(layer.first_position + t + shift) /
                            std::pow(layer.rope.base,
                                     static_cast<double>(2 * i) / static_cast<double>(layer.rope.width));
                        const T c = static_cast<T>(std::cos(angle)), s = static_cast<T>(std::sin(angle));
                        const T turned_p = static_cast<T>(p * c) - static_cast<T>(q * s);
                        q = static_cast<T>(p * s) + static_cast<T>(q * c);
                        p = turned_p;
                    }
                }
        return out;
    };
    Native<T> out;
    const std::vector<T> q = project(wq, H, true, fault == Fault::position ? 1 : 0);
    out.keys = project(wk, K, true, 0);
    out.values = project(wv, K, false, 0);
    out.weights.assign(B * H * L * L, 0);
    const T scale = fault == Fault::unscaled ? T(1) : T(1) / std::sqrt(static_cast<T>(d));
    std::vector<T> cached = out.keys;
    if (fault ==
        Fault::stale_key)  // the newest row's key was never written: the one before still stands there
        for (std::size_t g = 0; g < B * K; ++g)
            std::copy_n(cached.begin() + static_cast<std::ptrdiff_t>((g * L + L - 2) * d), d,
                        cached.begin() + static_cast<std::ptrdiff_t>((g * L + L - 1) * d));
    for (std::size_t b = 0; b < B; ++b)
        for (std::size_t t = 0; t < L; ++t) {
            std::vector<T> merged(H * d);
            for (std::size_t h = 0; h < H; ++h) {
                const std::size_t g = b * K + (fault == Fault::wrong_group ? h % K : h / (H / K));
                std::size_t seen = t + 1;
                if (fault == Fault::dropped_key && seen > 1) --seen;
                if (fault == Fault::future && seen < L) ++seen;
                std::vector<T> w(seen);
                for (std::size_t j = 0; j < seen; ++j)
                    w[j] =
                        dot(q.data() + ((b * H + h) * L + t) * d, cached.data() + (g * L + j) * d, d) * scale;
                const T top = *std::max_element(w.begin(), w.end());
                T sum = 0;
                for (T& value : w) {
                    value = fault == Fault::uniform ? T(1) : std::exp(value - top);
                    sum += value;
                }
                for (std::size_t j = 0; j < seen; ++j) {
                    out.weights[((b * H + h) * L + t) * L + j] = w[j] / sum;
                    for (std::size_t f = 0; f < d; ++f)
                        merged[h * d + f] += w[j] * out.values[(g * L + j) * d + f];
                }
                for (std::size_t f = 0; f < d; ++f)
                    merged[h * d + f] /= sum;
            }
            for (std::size_t i = 0; i < D; ++i)
                out.y.push_back(dot(wo.data() + i * H * d, merged.data(), H * d));
        }
    if (fault == Fault::stale_key) out.keys = cached;
    return out;
}

struct Drawn {
    Layer layer;
    std::vector<double> x, wq, wk, wv, wo;
};

void draw(Random& random, Drawn& drawn) {
    Layer& layer = drawn.layer;
    layer.batch = 1 + random.below(2);
    layer.length = 2 + random.below(8);
    layer.width = 1 + random.below(16);
    layer.kv_heads = 1 + random.below(3);
    layer.heads = layer.kv_heads * (1 + random.below(3));
    layer.head_width = 2 * (1 + random.below(4));
    layer.rope = {random.chance(2) ? RopePairs::half : RopePairs::interleaved,
                  2 * random.below(layer.head_width / 2 + 1), random.one_of({10000.0, 500000.0})};
    layer.first_position = random.one_of<std::uint64_t>({0, 5, 4096, 131072});
    const double size = random.one_of({0.02, 0.3, 1.0, 3.0});
    const auto fill = [&](std::vector<double>& values, std::size_t count, double scale) {
        values.clear();
        for (std::size_t n = 0; n < count; ++n)
            values.push_back(static_cast<double>(static_cast<float>(random.normal() * scale)));
    };
    const std::size_t features = layer.heads * layer.head_width, kv = layer.kv_heads * layer.head_width;
    fill(drawn.x, layer.batch * layer.length * layer.width, size);
    fill(drawn.wq, features * layer.width, 1);
    fill(drawn.wk, kv * layer.width, 1);
    fill(drawn.wv, kv * layer.width, 1);
    fill(drawn.wo, features * layer.width, 1);
    layer.x = drawn.x;
    layer.wq = drawn.wq;
    layer.wk = drawn.wk;
    layer.wv = drawn.wv;
    layer.wo = drawn.wo;
}

template <class T>
Arithmetic plain_arithmetic() {
    Arithmetic told = Arithmetic::foreign(sizeof(T) == 4 ? Number::f32 : Number::f64);
    told.passes.kind = Passes::Kind::two_pass;
    told.exponent = Exponent::e;
    told.scaled = Scaled::score;
    told.exp_ulps = 1;
    told.rope_angles = RopeAngles::f64;
    return told;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
    return {values.begin(), values.end()};
}

template <class T>
void natives_stay_inside() {
    Random random(sizeof(T));
    Drawn drawn;
    const LayerOptions all{.rows = {}, .y = true, .keys = true, .values = true, .weights = true};
    for (int trial = 0; trial < 150; ++trial) {
        draw(random, drawn);
        const auto judged = judge(drawn.layer, plain_arithmetic<T>(), all);
        ASSERT_TRUE(judged);
        for (const bool fused : {false, true})
            for (const bool backwards : {false, true}) {
                const Native<T> got = run_native<T>(drawn.layer, fused, backwards, Fault::none);
                EXPECT_TRUE(compare(judged->y, widened(got.y)).holds());
                EXPECT_TRUE(compare(judged->keys, widened(got.keys)).holds());
                EXPECT_TRUE(compare(judged->values, widened(got.values)).holds());
                EXPECT_TRUE(compare(judged->weights, widened(got.weights)).holds());
            }
    }
}

TEST(Bound, NativeFloatStaysInside) {
    natives_stay_inside<float>();
}
TEST(Bound, NativeDoubleStaysInside) {
    natives_stay_inside<double>();
}

// Float arithmetic is refused where double was told: a bound that a thousandfold error passes would refuse
// nothing.
TEST(Bound, FloatIsNotDouble) {
    Random random(11);
    Drawn drawn;
    draw(random, drawn);
    drawn.layer.length = drawn.x.size() / drawn.layer.batch / drawn.layer.width;
    const auto judged = judge(drawn.layer, plain_arithmetic<double>());
    ASSERT_TRUE(judged);
    const Native<float> got = run_native<float>(drawn.layer, false, false, Fault::none);
    EXPECT_FALSE(compare(judged->y, widened(got.y)).holds());
}

class Planted : public testing::TestWithParam<Fault> {};

TEST_P(Planted, WrongKernelsAreRefused) {
    Random random(12);
    Drawn drawn;
    int tried = 0, refused = 0;
    for (int trial = 0; trial < 60; ++trial) {
        draw(random, drawn);
        if (GetParam() == Fault::wrong_group &&
            (drawn.layer.kv_heads == 1 || drawn.layer.heads == drawn.layer.kv_heads))
            continue;
        if (GetParam() == Fault::position && drawn.layer.rope.width == 0) continue;
        const auto judged = judge(drawn.layer, plain_arithmetic<float>());
        ASSERT_TRUE(judged);
        const Native<float> got = run_native<float>(drawn.layer, true, false, GetParam());
        ++tried;
        if (!compare(judged->y, widened(got.y)).holds()) ++refused;
    }
    EXPECT_GT(tried, 10);
    // One or two of these draws put all the weight on one key, where the fault shows in nothing.
    EXPECT_GE(refused, tried * 9 / 10) << refused << " of " << tried;
}

INSTANTIATE_TEST_SUITE_P(All, Planted,
                         testing::Values(Fault::stale_key, Fault::dropped_key, Fault::unscaled,
                                         Fault::wrong_group, Fault::future, Fault::position, Fault::uniform));

TEST(Bound, OneStaleKeyRowIsRefusedAtItsPlace) {
    Random random(13);
    Drawn drawn;
    draw(random, drawn);
    const auto judged = judge(drawn.layer, plain_arithmetic<double>());
    ASSERT_TRUE(judged);
    const Native<double> got = run_native<double>(drawn.layer, false, false, Fault::stale_key);
    const Comparison keys = compare(judged->keys, got.keys);
    EXPECT_EQ(keys.wrong, drawn.layer.batch * drawn.layer.kv_heads * drawn.layer.head_width);
    EXPECT_EQ(keys.first_wrong.place, (std::vector<std::size_t>{0, 0, drawn.layer.length - 1, 0}));
    EXPECT_TRUE(compare(judged->values, got.values).holds());
}

// ---- No bound is typed, and never a pass ----

Core two_keys(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v) {
    Core core;
    core.batch = core.heads = core.kv_heads = core.length = core.width = core.value_width = 1;
    core.keys = 2;
    core.q = q;
    core.k = k;
    core.v = v;
    return core;
}

TEST(NoBound, IsTyped) {
    const std::vector<double> one{1}, pair{1, 2};
    const auto reason = [](const Core& core, const Arithmetic& told) {
        const auto judged = judge(core, told, {.rows = {}, .weights = true});
        EXPECT_TRUE(judged) << judged.error().message;
        if (judged->y.no_bound != NoBound::none) {
            EXPECT_EQ(judged->y.allowed[0], std::numeric_limits<double>::infinity());
            EXPECT_FALSE(
                compare(judged->y, std::vector<double>{static_cast<double>(judged->y.exact[0])}).holds());
        }
        return judged->y.no_bound;
    };
    const Arithmetic f32 = Arithmetic::foreign(Number::f32);
    EXPECT_EQ(reason(two_keys(one, pair, pair), f32), NoBound::none);
    const std::vector<double> huge{1e25}, huge_pair{1e25, 1}, beyond{1e39, 1};
    EXPECT_EQ(reason(two_keys(huge, huge_pair, pair), f32), NoBound::score_overflow);
    EXPECT_EQ(reason(two_keys(one, beyond, pair), f32), NoBound::input_overflow);
    const std::vector<double> large{3e38, 3e38};
    EXPECT_EQ(reason(two_keys(one, pair, large), f32), NoBound::mix_overflow);
    Arithmetic coarse = Arithmetic::foreign(Number::bf16);
    coarse.accumulate = coarse.softmax_precision = coarse.weights_type = Number::bf16;
    std::vector<double> many(400, 1.0);
    Core core = two_keys(one, many, many);
    core.keys = 400;
    EXPECT_EQ(reason(core, coarse), NoBound::gamma_undefined);  // 400·2^−8 > 1
    Core biased = two_keys(one, pair, pair);
    const std::vector<double> lowest{-3.4028234663852886e38, -3.4028234663852886e38};
    biased.bias = Broadcast{.shape = {2}, .values = lowest};
    EXPECT_EQ(reason(biased, f32), NoBound::hidden_by_finite_bias);
}

TEST(NoBound, SpoilsOnlyTheRowsItReaches) {
    Random random(14);
    Drawn drawn;
    draw(random, drawn);
    Layer& layer = drawn.layer;
    const std::size_t bad = layer.length - 1;
    drawn.x[bad * layer.width] = 1e38;
    layer.x = drawn.x;
    const auto judged = judge(layer, plain_arithmetic<float>());
    ASSERT_TRUE(judged);
    ASSERT_NE(judged->y.no_bound, NoBound::none);
    for (std::size_t n = 0; n < judged->y.allowed.size(); ++n) {
        const bool reached = n / layer.width == bad;
        EXPECT_EQ(std::isfinite(judged->y.allowed[n]), !reached) << n;
    }
}

// A key that a huge negative bias puts out of reach must not blind the row.
TEST(Bound, OneFarKeyDoesNotBlindTheRow) {
    const std::vector<double> one{1}, pair{1, 2};
    const std::vector<double> bias{0, -1e30};
    Core core = two_keys(one, pair, pair);
    core.bias = Broadcast{.shape = {2}, .values = bias};
    Arithmetic told = Arithmetic::foreign(Number::f32);
    told.passes.kind = Passes::Kind::two_pass;
    told.exponent = Exponent::e;
    const auto judged = judge(core, told);
    ASSERT_TRUE(judged);
    EXPECT_LT(judged->y.allowed[0], 1e-5);
}

// ---- The bank ----

TEST(Bank, RefusesWhatAppliesAndLeavesOutWhatDoesNot) {
    Random random(15);
    Drawn drawn;
    for (int trial = 0; trial < 20; ++trial) {
        draw(random, drawn);
        const LayerOptions all{.rows = {}, .y = true, .keys = true, .values = true, .weights = true};
        const auto judged = judge(drawn.layer, Arithmetic::attest<double>(), all);
        ASSERT_TRUE(judged) << judged.error().message;
        const Bank bank = try_bank(drawn.layer, *judged, all);
        const auto has = [](const std::vector<Trial>& trials, Wrong wrong) {
            return std::any_of(trials.begin(), trials.end(),
                               [&](const Trial& one) { return one.wrong == wrong; });
        };
        const bool grouped = drawn.layer.kv_heads > 1 && drawn.layer.heads != drawn.layer.kv_heads;
        EXPECT_EQ(has(bank.y, Wrong::wrong_head_group), grouped);
        EXPECT_EQ(has(bank.keys, Wrong::wrong_head_group), drawn.layer.kv_heads > 1);
        EXPECT_EQ(has(bank.keys, Wrong::position_off_by_one), drawn.layer.rope.width != 0);
        EXPECT_FALSE(has(bank.values, Wrong::position_off_by_one));
        for (const Wrong wrong : {Wrong::zeros, Wrong::negated, Wrong::doubled, Wrong::uniform_weights,
                                  Wrong::last_key_dropped, Wrong::one_stale_key, Wrong::frontier_off_by_one})
            EXPECT_TRUE(has(bank.y, wrong)) << name_of(wrong);
        for (const Wrong wrong : {Wrong::uniform_weights, Wrong::unscaled_scores})
            EXPECT_TRUE(has(bank.weights, wrong)) << name_of(wrong);
        for (const auto* trials : {&bank.y, &bank.keys, &bank.values, &bank.weights})
            for (const Trial& one : *trials)
                EXPECT_TRUE(one.refused) << name_of(one.wrong);
    }
}

// Values that are all equal leave the mix blind to every weight: the bank must say so.
TEST(Bank, NamesWhatACaseIsBlindTo) {
    const std::vector<double> q{1}, k{1, 2}, v{1, 1 + 0x1p-20};
    const Core core = two_keys(q, k, v);
    const auto judged = judge(core, Arithmetic::foreign(Number::bf16));
    ASSERT_TRUE(judged);
    const Bank bank = try_bank(core, *judged);
    int blind = 0;
    for (const Trial& one : bank.y) {
        if (one.wrong == Wrong::zeros || one.wrong == Wrong::negated || one.wrong == Wrong::doubled) {
            EXPECT_TRUE(one.refused) << name_of(one.wrong);
        }
        if (one.wrong == Wrong::uniform_weights || one.wrong == Wrong::last_key_dropped) {
            EXPECT_FALSE(one.refused) << name_of(one.wrong);
            ++blind;
        }
        EXPECT_NE(one.wrong, Wrong::position_off_by_one);
    }
    EXPECT_EQ(blind, 2);
}

// ---- Refusals ----

TEST(Refusals, NameWhatIsWrong) {
    Random random(16);
    Drawn drawn;
    draw(random, drawn);
    const auto code = [](const Layer& layer) {
        const auto judged = judge(layer, Arithmetic::attest<float>());
        return judged ? std::string("none")
                      : std::string(name_of(judged.error().code)) + " " + judged.error().subject;
    };
    Layer layer = drawn.layer;
    EXPECT_EQ(code(layer), "none");
    layer.wk = layer.wk.first(layer.wk.size() - 1);
    EXPECT_EQ(code(layer), "ShapeMismatch wk");
    layer = drawn.layer;
    layer.kv_heads = layer.heads + 1;
    EXPECT_EQ(code(layer), "ShapeMismatch kv_heads");
    layer = drawn.layer;
    layer.batch = SIZE_MAX / 2;
    EXPECT_EQ(code(layer), "ShapeMismatch x");
    layer = drawn.layer;
    layer.rope.width = 1;
    EXPECT_EQ(code(layer), "OutOfRange rope_width");
    layer.rope.width = layer.head_width + 2;
    EXPECT_EQ(code(layer), "OutOfRange rope_width");
    layer = drawn.layer;
    layer.rope.width = 2;
    layer.rope.base = 0;
    EXPECT_EQ(code(layer), "OutOfRange rope_base");
    layer = drawn.layer;
    layer.first_position = UINT64_MAX;
    EXPECT_EQ(code(layer), "OutOfRange first_position");
    std::vector<double> poisoned = drawn.wo;
    poisoned[0] = std::nan("");
    layer = drawn.layer;
    layer.wo = poisoned;
    EXPECT_EQ(code(layer), "NonFinite wo");
}

}  // namespace
}  // namespace attest::reference
