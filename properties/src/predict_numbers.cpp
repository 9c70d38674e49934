// Where a computation leaves the finite numbers. Every sum is formed in long double, whose exponents reach
// far beyond double's, beside the sum of its terms' magnitudes: below half the largest finite number no order
// of summation can overflow, and a sum that is beyond it by more than any rounding must. In between both are
// right, and the prediction allows both.

#include "attest/properties/predict.hpp"
#include "attest/properties/scene.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::properties {

namespace {

using Wide = long double;

enum class Fate { fine, open, lost };

// A number, what its terms' magnitudes add up to, and what is uncertain in it.
struct Sum {
    Wide value = 0;
    Wide magnitude = 0;
    Wide slack = 0;
};

// From here on a key or a value rounds to infinity.
Wide largest_stored_of(const cases::Case& geometry) {
    switch (geometry.storage) {
        case cases::KvStorage::bf16:
            return 0x1.ffp+127L;
        case cases::KvStorage::f16:
            return 65520.0L;
        case cases::KvStorage::computing:
            break;
    }
    return static_cast<Wide>(largest_of(geometry.type));
}

class Walk {
  public:
    Walk(const cases::Case& geometry, const std::array<Array, 4>& weights, std::span<const double> x,
         std::uint64_t batch, std::uint64_t rows, std::uint64_t first, std::uint64_t count)
        : g_(geometry),
          weights_(weights),
          x_(x),
          batch_(batch),
          rows_(rows),
          first_(first),
          count_(count),
          largest_(static_cast<Wide>(largest_of(geometry.type))),
          unit_(geometry.type == cases::ElementType::float32 ? 0x1p-24L : 0x1p-53L),
          largest_stored_(largest_stored_of(geometry)) {}

    Prediction predict();
    bool crude_bound_is_enough() const;

  private:
    Fate fate(const Sum& sum) const {
        if (!(sum.magnitude >= largest_ / 2)) return Fate::fine;
        return std::abs(sum.value) - sum.slack > largest_ * (1 + 4 * unit_) ? Fate::lost : Fate::open;
    }
    // Notes a stage's worst fate; true when nothing later can be reached.
    bool note(Fate worst, std::string_view code) {
        if (worst != Fate::fine) prediction_.add(code);
        return worst == Fate::lost;
    }

    bool finite_input() const;
    std::vector<Sum> project(const Array& weight, std::uint64_t features, std::uint64_t from) const;
    void rotate(std::vector<Sum>& heads, std::uint64_t count, std::uint64_t from) const;
    Fate worst_of(const std::vector<Sum>& sums, std::uint64_t features, std::uint64_t from) const;
    Fate worst_stored(const std::vector<Sum>& sums) const;
    void store(std::vector<Sum>& sums) const;
    Fate attend(const std::vector<Sum>& q, const std::vector<Sum>& k, const std::vector<Sum>& v, Fate& mix,
                std::vector<Wide>& merged) const;

    const cases::Case& g_;
    const std::array<Array, 4>& weights_;
    std::span<const double> x_;
    std::uint64_t batch_, rows_, first_, count_;
    Wide largest_, unit_;
    Wide largest_stored_;
    Prediction prediction_;
};

Wide row_magnitude(const Array& weight, std::uint64_t width) {
    Wide most = 0;
    for (std::size_t start = 0; width != 0 && start + width <= weight.size(); start += width) {
        Wide sum = 0;
        for (std::size_t i = 0; i < width; ++i) {
            sum += std::abs(static_cast<Wide>(weight[start + i]));
        }
        most = std::max(most, sum);
    }
    return most;
}

// Most cases stay so far from overflow that one product of norms shows it.
bool Walk::crude_bound_is_enough() const {
    const std::optional<double> largest = largest_finite(x_);
    return largest && far_from_overflow(g_, reach_of(g_, weights_), *largest, rows_);
}

bool Walk::finite_input() const {
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t i = (b * rows_ + first_) * g_.width; i < (b * rows_ + first_ + count_) * g_.width;
             ++i) {
            if (!std::isfinite(x_[i])) return false;
        }
    }
    return true;
}

// [batch, rows, features]; rows before `from` are left zero.
std::vector<Sum> Walk::project(const Array& weight, std::uint64_t features, std::uint64_t from) const {
    std::vector<Sum> sums(batch_ * rows_ * features);
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t t = from; t < rows_; ++t) {
            for (std::uint64_t f = 0; f < features; ++f) {
                Sum& sum = sums[(b * rows_ + t) * features + f];
                for (std::uint64_t i = 0; i < g_.width; ++i) {
                    const Wide term = static_cast<Wide>(weight[f * g_.width + i]) *
                                      static_cast<Wide>(x_[(b * rows_ + t) * g_.width + i]);
                    sum.value += term;
                    sum.magnitude += std::abs(term);
                }
                sum.slack = sum.magnitude * 4 * unit_ * static_cast<Wide>(g_.width + 4);
            }
        }
    }
    return sums;
}

void Walk::rotate(std::vector<Sum>& heads, std::uint64_t count, std::uint64_t from) const {
    const std::uint64_t pairs = g_.rope.width / 2;
    const bool half = g_.rope.pairs == cases::Pairs::half;
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t t = from; t < rows_; ++t) {
            for (std::uint64_t h = 0; h < count; ++h) {
                Sum* const head = &heads[((b * rows_ + t) * count + h) * g_.head_width];
                for (std::uint64_t i = 0; i < pairs; ++i) {
                    Sum& left = head[half ? i : 2 * i];
                    Sum& right = head[half ? i + pairs : 2 * i + 1];
                    const Wide angle = static_cast<Wide>(g_.rope.first + t) *
                                       std::pow(static_cast<Wide>(g_.rope.base),
                                                -2 * static_cast<Wide>(i) / static_cast<Wide>(g_.rope.width));
                    const Wide c = std::cos(angle);
                    const Wide s = std::sin(angle);
                    const Sum a = left;
                    const Sum z = right;
                    const Wide magnitude = std::abs(a.value) + std::abs(z.value);
                    const Wide slack = a.slack + z.slack + magnitude * 64 * unit_;
                    left = {a.value * c - z.value * s, std::abs(a.value * c) + std::abs(z.value * s) + slack,
                            slack};
                    right = {a.value * s + z.value * c, std::abs(a.value * s) + std::abs(z.value * c) + slack,
                             slack};
                }
            }
        }
    }
}

Fate Walk::worst_of(const std::vector<Sum>& sums, std::uint64_t features, std::uint64_t from) const {
    Fate worst = Fate::fine;
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t i = (b * rows_ + from) * features; i < (b * rows_ + from + count_) * features;
             ++i) {
            worst = std::max(worst, fate(sums[i]));
        }
    }
    return worst;
}

Fate Walk::worst_stored(const std::vector<Sum>& sums) const {
    Fate worst = Fate::fine;
    const std::uint64_t features = g_.kv_heads * g_.head_width;
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t i = (b * rows_ + first_) * features; i < (b * rows_ + first_ + count_) * features;
             ++i) {
            const Wide value = std::abs(sums[i].value);
            const Wide slack = sums[i].slack + value * 4 * unit_;
            if (value + slack < largest_stored_) continue;
            worst = std::max(worst, value - slack >= largest_stored_ ? Fate::lost : Fate::open);
        }
    }
    return worst;
}

// What rounding to a narrow storage adds.
void Walk::store(std::vector<Sum>& sums) const {
    for (Sum& sum : sums) {
        const Wide rounding = std::abs(sum.value) * 0x1p-7L + 0x1p-24L;
        sum.slack += rounding;
        sum.magnitude += rounding;
    }
}

// The worst fate of a score, of a mix, and the mixed heads [batch, rows, H·d] as far as they are finite.
Fate Walk::attend(const std::vector<Sum>& q, const std::vector<Sum>& k, const std::vector<Sum>& v, Fate& mix,
                  std::vector<Wide>& merged) const {
    Fate worst = Fate::fine;
    mix = Fate::fine;
    const std::uint64_t d = g_.head_width;
    const std::uint64_t group = g_.heads / g_.kv_heads;
    const Wide scale = 1 / std::sqrt(static_cast<Wide>(d));
    merged.assign(batch_ * rows_ * g_.heads * d, 0);
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t t = first_; t < first_ + count_; ++t) {
            for (std::uint64_t h = 0; h < g_.heads; ++h) {
                const Sum* const query = &q[((b * rows_ + t) * g_.heads + h) * d];
                std::vector<Wide> scores;
                Wide most = -std::numeric_limits<Wide>::infinity();
                for (std::uint64_t j = 0; j <= t; ++j) {
                    const Sum* const key = &k[((b * rows_ + j) * g_.kv_heads + h / group) * d];
                    Sum dot;
                    for (std::uint64_t f = 0; f < d; ++f) {
                        const Wide term = query[f].value * key[f].value;
                        dot.value += term;
                        dot.magnitude += std::abs(term);
                        dot.slack += query[f].slack * (std::abs(key[f].value) + key[f].slack) +
                                     std::abs(query[f].value) * key[f].slack;
                    }
                    dot.slack += dot.magnitude * 4 * unit_ * static_cast<Wide>(d + 4);
                    dot.magnitude += dot.slack;
                    worst = std::max(worst, fate(dot));
                    scores.push_back(dot.value * scale);
                    most = std::max(most, scores.back());
                }
                Wide total = 0;
                for (Wide& score : scores) {
                    score = std::exp(score - most);
                    total += score;
                }
                for (std::uint64_t f = 0; f < d; ++f) {
                    Wide sum = 0;
                    Wide magnitude = 0;
                    for (std::uint64_t j = 0; j <= t; ++j) {
                        const Sum& value = v[((b * rows_ + j) * g_.kv_heads + h / group) * d + f];
                        sum += scores[j] * value.value;
                        magnitude += std::abs(value.value) + value.slack;
                    }
                    // Scores this large are too uncertain for weights, so a mix is never surely lost.
                    if (!(magnitude < largest_ / 4)) mix = Fate::open;
                    merged[(b * rows_ + t) * g_.heads * d + h * d + f] = sum / total;
                }
            }
        }
    }
    return worst;
}

Prediction Walk::predict() {
    if (!finite_input()) return {"NonFiniteInput"};
    if (crude_bound_is_enough()) return {""};
    std::vector<Sum> q = project(weights_[0], g_.heads * g_.head_width, first_);
    std::vector<Sum> k = project(weights_[1], g_.kv_heads * g_.head_width, 0);
    std::vector<Sum> v = project(weights_[2], g_.kv_heads * g_.head_width, 0);
    Fate projection = worst_of(q, g_.heads * g_.head_width, first_);
    projection = std::max(projection, worst_of(k, g_.kv_heads * g_.head_width, first_));
    projection = std::max(projection, worst_of(v, g_.kv_heads * g_.head_width, first_));
    if (note(projection, "NonFiniteProjection")) return prediction_;

    rotate(q, g_.heads, first_);
    rotate(k, g_.kv_heads, 0);
    Fate rotation = worst_of(q, g_.heads * g_.head_width, first_);
    rotation = std::max(rotation, worst_of(k, g_.kv_heads * g_.head_width, first_));
    if (note(rotation, "NonFiniteRotation")) return prediction_;

    if (g_.storage != cases::KvStorage::computing) {
        if (note(std::max(worst_stored(k), worst_stored(v)), "StorageOverflow")) return prediction_;
        store(k);
        store(v);
    }

    Fate mix = Fate::fine;
    std::vector<Wide> merged;
    const Fate score = attend(q, k, v, mix, merged);
    note(mix, "NonFiniteHeadOutput");
    if (note(score, "NonFiniteScore")) return prediction_;

    const std::uint64_t features = g_.heads * g_.head_width;
    Fate output = Fate::fine;
    for (std::uint64_t b = 0; b < batch_; ++b) {
        for (std::uint64_t t = first_; t < first_ + count_; ++t) {
            for (std::uint64_t i = 0; i < g_.width; ++i) {
                Wide magnitude = 0;
                for (std::uint64_t f = 0; f < features; ++f) {
                    magnitude += std::abs(static_cast<Wide>(weights_[3][i * features + f]) *
                                          merged[(b * rows_ + t) * features + f]);
                }
                if (!(magnitude < largest_ / 4)) output = Fate::open;
            }
        }
    }
    note(output, "NonFiniteOutput");
    prediction_.add("");
    return prediction_;
}

}  // namespace

std::optional<double> largest_finite(std::span<const double> values) {
    double largest = 0;
    for (const double value : values) {
        if (!std::isfinite(value)) return std::nullopt;
        largest = std::max(largest, std::abs(value));
    }
    return largest;
}

Reach reach_of(const cases::Case& geometry, const std::array<Array, 4>& weights) {
    return {.q = row_magnitude(weights[0], geometry.width),
            .k = row_magnitude(weights[1], geometry.width),
            .v = row_magnitude(weights[2], geometry.width),
            .o = row_magnitude(weights[3], geometry.heads * geometry.head_width)};
}

bool far_from_overflow(const cases::Case& geometry, const Reach& reach, double largest, std::uint64_t rows) {
    const Wide x = static_cast<Wide>(largest);
    const Wide q = x * reach.q;
    const Wide k = x * reach.k;
    const Wide v = x * reach.v;
    const Wide score = 4 * q * k * static_cast<Wide>(geometry.head_width);
    const Wide mix = v * static_cast<Wide>(rows);
    const Wide most = std::max({2 * q, 2 * k, score, mix, 2 * v * reach.o});
    // A rotation makes a number less than twice as large as the larger of its pair.
    return most < static_cast<Wide>(largest_of(geometry.type)) / 8 &&
           2 * std::max(k, v) < largest_stored_of(geometry) / 2;
}

Prediction predict_numbers(const cases::Case& geometry, const std::array<Array, 4>& weights,
                           std::span<const double> x, std::uint64_t batch, std::uint64_t rows,
                           std::uint64_t first, std::uint64_t count) {
    return Walk(geometry, weights, x, batch, rows, first, count).predict();
}

bool far_from_overflow(const cases::Case& geometry, const std::array<Array, 4>& weights,
                       std::span<const double> x, std::uint64_t rows) {
    return Walk(geometry, weights, x, geometry.batch, rows, 0, rows).crude_bound_is_enough();
}

Prediction predict_rows_one_by_one(const cases::Case& geometry, const std::array<Array, 4>& weights,
                                   std::span<const double> x, std::uint64_t batch, std::uint64_t rows) {
    // No prefix has larger numbers or more rows than the whole.
    const std::optional<double> largest = largest_finite(x.first(batch * rows * geometry.width));
    if (largest && far_from_overflow(geometry, reach_of(geometry, weights), *largest, rows)) return {""};
    Prediction all;
    for (std::uint64_t t = 0; t < rows; ++t) {
        const Array prefix = rows_of(x, batch, rows, geometry.width, 0, t + 1);
        const Prediction one = predict_numbers(geometry, weights, prefix, batch, t + 1, t, 1);
        for (const std::string_view code : one.codes()) {
            if (!code.empty()) all.add(code);
        }
        if (!one.allows("")) return all;
    }
    all.add("");
    return all;
}

}  // namespace attest::properties
