// The bound of attention alone at every length: uniform inputs on [−1, 1], 8 heads, width 128, float, the
// library's own order.
//
// Judging every length to 32,768 would take the square of it. So the bound of PROOF §2.4 is evaluated a
// second time, by running sums, from above: the distance of a value from the mix is at most its distance from
// where the mix stood at an anchor a little earlier, and how far the mix has gone since. This evaluation is
// held against the library's own at lengths in between; it must never be below it, nor much above.
#include "attack/random.hpp"

#include <attest/reference/judge.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace attest::reference {
namespace {

constexpr std::size_t kWidth = 128, kHeads = 8, kLongest = 32768;
constexpr double kUnit = 0x1p-24, kOmega = 0x1p-150, kTheta = 0x1p-149, kExp = 2 * kUnit;
// What double's roundings over sums this long may take, and what the library's own outward steps add.
constexpr double kSlack = 1 + 1e-8;

double gamma(double n) {
    return n * kUnit / (1 - n * kUnit);
}
double compose(double a, double b) {
    return a + b + a * b;
}

// One head: its query, keys and values, as doubles that floats hold.
struct Head {
    std::vector<double> q, k, v;

    Head(std::uint64_t seed, std::size_t longest) {
        attack::Random random(seed);
        const auto fill = [&](std::vector<double>& values, std::size_t count) {
            values.resize(count);
            for (double& value : values)
                value = static_cast<double>(static_cast<float>(2 * random.uniform() - 1));
        };
        fill(q, kWidth);
        fill(k, longest * kWidth);
        fill(v, longest * kWidth);
    }

    Core core(std::size_t length) const {
        Core core{.batch = 1,
                  .heads = 1,
                  .kv_heads = 1,
                  .length = 1,
                  .keys = length,
                  .width = kWidth,
                  .value_width = kWidth};
        core.q = q;
        core.k = std::span(k).first(length * kWidth);
        core.v = std::span(v).first(length * kWidth);
        return core;
    }
};

// h over positions: 64 in order, blocks folded pairwise (PROOF §1.2).
double height(std::size_t length) {
    return static_cast<double>(std::min<std::size_t>(length, 64) - 1 +
                               static_cast<std::size_t>(std::bit_width((length + 63) / 64 - 1)));
}

// Running evaluates the bound of one head from above, length after length.
class Running {
  public:
    explicit Running(const Head& head) : head_(head) {
        // h(128) = 128/16 − 1 + log2 16 = 11, and the product's own rounding (PROOF §1.2, §2.3).
        const double per_term = gamma(12), scale = 1 / std::sqrt(static_cast<double>(kWidth));
        const std::size_t longest = head.k.size() / kWidth;
        for (std::size_t j = 0; j < longest; ++j) {
            double dot = 0, products = 0;
            for (std::size_t f = 0; f < kWidth; ++f) {
                const double product = head.q[f] * head.k[j * kWidth + f];
                dot += product;
                products += std::fabs(product);
            }
            const double score = dot * scale;
            double delta = per_term * scale * products + 2 * kOmega * 1000;
            delta += gamma(3) * (std::fabs(score) + delta);
            scores_.push_back(score);
            deltas_.push_back(delta);
        }
    }

    // worst gives the largest bound over the features at each length from 1 on.
    std::vector<double> worst() {
        std::vector<double> found;
        std::size_t block_end = 0;
        for (std::size_t length = 1; length <= scores_.size(); ++length) {
            if (length > block_end) {
                // A short row's mix goes far with each key: there the anchor goes with it.
                block_end = length < 64 ? length : std::min(scores_.size(), length + length / 20);
                anchor(length, block_end);
            } else {
                take(length - 1);
            }
            found.push_back(bound(length));
        }
        return found;
    }

  private:
    // Everything that hangs on the maximum or on the anchor is set anew, for lengths to `end`.
    void anchor(std::size_t length, std::size_t end) {
        const double top = *std::max_element(scores_.begin(), scores_.begin() + static_cast<long>(end));
        const double shift = *std::max_element(deltas_.begin(), deltas_.begin() + static_cast<long>(end));
        strays_.assign(end, 0);
        argument_ = 0;
        for (std::size_t j = 0; j < end; ++j) {
            const double x = deltas_[j] + gamma(1) * (top - scores_[j] + deltas_[j] + shift);
            argument_ = std::max(argument_, x);
            strays_[j] = compose(x + x * x / 2 * (1 + x), kExp);
        }
        clear();
        for (std::size_t j = 0; j < length; ++j)
            take(j);
        for (std::size_t f = 0; f < kWidth; ++f)
            anchor_[f] = mixed_[f] / total_;
        clear();
        for (std::size_t j = 0; j < length; ++j)
            take(j);
    }

    void clear() {
        total_ = stray_sum_ = 0;
        mixed_ = magnitudes_ = distances_ = {};
    }

    void take(std::size_t j) {
        const double weight = std::exp(scores_[j]);  // of a size of e: no maximum is needed in double
        const double stray = weight * strays_[j];
        total_ += weight;
        stray_sum_ += stray;
        const double* const v = head_.v.data() + j * kWidth;
        for (std::size_t f = 0; f < kWidth; ++f) {
            mixed_[f] += weight * v[f];
            magnitudes_[f] += weight * std::fabs(v[f]);
            distances_[f] += stray * std::fabs(v[f] - anchor_[f]);
        }
    }

    // PROOF §2.4 with R = 0, w = 0, o = 1, z = 0, no store: Σβ|v − o| ≤ Σβ|v − c| + |c − o|Σβ, p̃ ≤ p⁺/P⁻.
    double bound(std::size_t length) const {
        const auto keys = static_cast<double>(length);
        const double tau = 4 * kTheta;  // Z ≥ 1, exp(Δ) < 2
        const double lowest = (1 - kExp) * (1 - argument_) - keys * tau;
        const double highest = (1 + compose(argument_ * (1 + argument_), kExp)) / lowest;
        const double g = gamma(height(length) + 1);
        const double whole = compose(gamma(height(length)), gamma(1));
        double worst = 0;
        for (std::size_t f = 0; f < kWidth; ++f) {
            const double mixed = mixed_[f] / total_;
            const double strayed =
                (distances_[f] + std::fabs(anchor_[f] - mixed) * stray_sum_) / total_ + keys * tau * 2;
            const double kept = magnitudes_[f] / total_ * highest + keys * tau * 2;
            const double before = strayed / lowest + g * kept + (1 + g) * (kOmega * 3 * keys + kOmega * keys);
            worst = std::max(worst, before + whole * (std::fabs(mixed) + before) + 2 * kOmega);
        }
        return worst * kSlack;
    }

    const Head& head_;
    std::vector<double> scores_, deltas_, strays_;
    std::array<double, kWidth> anchor_{}, mixed_{}, magnitudes_{}, distances_{};
    double total_ = 0, stray_sum_ = 0, argument_ = 0;
};

double judged_worst(const Head& head, std::size_t length) {
    const auto judged = judge(head.core(length), Arithmetic::attest<float>(),
                              {.rows = {}, .weights = false, .doubt = Doubt::none});
    EXPECT_TRUE(judged);
    return *std::max_element(judged->y.allowed.begin(), judged->y.allowed.end());
}

void look_at_head(std::uint64_t seed, const std::vector<std::size_t>& judged_lengths) {
    const Head head(seed, kLongest);
    const std::vector<double> worst = Running(head).worst();
    ASSERT_EQ(worst.size(), kLongest);
    const auto most = std::max_element(worst.begin(), worst.end());
    EXPECT_LT(*most, 1e-5) << "at length " << most - worst.begin() + 1;
    ::testing::Test::RecordProperty("worst_of_head_" + std::to_string(seed),
                                    std::to_string(*most * 1e6) + "e-6");
    for (const std::size_t length : judged_lengths) {
        const double own = judged_worst(head, length);
        EXPECT_GE(worst[length - 1], own) << length;
        EXPECT_LE(worst[length - 1], own * 1.05) << length;
    }
}

TEST(Lengths, TheBoundOfUniformInputsStaysBelowTenToTheMinusFive) {
    look_at_head(1, {1, 2, 3, 5, 20, 21, 63, 64, 65, 100, 127, 128, 129, 192, 193, 400, 1024, 1025, 2000});
}

// Every head, and the library's own bound up to the longest.
TEST(Lengths, DISABLED_OfEveryHead) {
    std::vector<std::size_t> lengths;
    for (std::size_t length = 1; length <= 300; ++length)
        lengths.push_back(length);
    for (std::size_t length = 320; length <= kLongest; length += length / 10)
        lengths.push_back(length);
    lengths.push_back(kLongest);
    for (std::uint64_t head = 1; head <= kHeads; ++head)
        look_at_head(head, lengths);
}

}  // namespace
}  // namespace attest::reference
