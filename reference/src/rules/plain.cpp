// What rules ask of attention alone: plain attention in the answer's own precision, in the order of
// flash-attention's attention_ref(upcast=False, reorder_ops=True), and the magnitudes its terms have.
#include "judge/core_operands.hpp"
#include "oracle/visibility.hpp"

#include <attest/reference/rules.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

// Rounds to nearest, ties to even, on the type's grid.
double round_to(Number type, double value) {
    if (type == Number::f64 || value == 0 || !std::isfinite(value)) return value;
    if (type == Number::f32) return static_cast<double>(static_cast<float>(value));
    const Format format = format_of(type);
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const double place = std::max(std::ldexp(1.0, exponent - format.digits), format.smallest);
    const double result = std::nearbyint(value / place) * place;
    if (std::fabs(result) > format.largest)
        return std::copysign(std::numeric_limits<double>::infinity(), value);
    return result;
}

double largest_of(std::span<const double> values) {
    double largest = 0;
    for (const double value : values)
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    return largest;
}

// A sum as a matrix unit or a BLAS forms it: in f32 where the type has 16 bits, else in the type.
class Sum {
  public:
    explicit Sum(Number type) : type_(type == Number::f64 ? Number::f64 : Number::f32) {}
    void add(double a, double b) { sum_ = round_to(type_, sum_ + round_to(type_, a * b)); }
    double value() const { return sum_; }

  private:
    Number type_;
    double sum_ = 0;
};

}  // namespace

AttentionFacts facts_of(const Core& core, double bias_lowest, Number type) {
    AttentionFacts facts;
    facts.keys = core.past + core.keys;
    facts.width = core.width;
    facts.scale = core.scale.value_or(1 / std::sqrt(static_cast<double>(core.width)));
    struct {
        std::vector<double> q, k, v;
    } const sources{copied(queries_of(core, {0, core.length})), copied(keys_of(core)),
                    copied(values_of(core))};
    facts.largest_q = largest_of(sources.q);
    facts.largest_k = largest_of(sources.k);
    facts.largest_v = largest_of(sources.v);

    const Visibility visibility = Visibility::of(core, bias_lowest);
    const Number inside = type == Number::f64 ? Number::f64 : Number::f32;
    // reorder_ops: the scale goes to the keys before the product.
    std::vector<double> scaled_keys = sources.k;
    for (double& value : scaled_keys)
        value = round_to(type, value * facts.scale);
    const std::size_t group = core.heads / core.kv_heads;
    Seen seen;
    for (std::size_t b = 0; b < core.batch; ++b)
        for (std::size_t h = 0; h < core.heads; ++h)
            for (std::size_t i = 0; i < core.length; ++i) {
                visibility.see(b, h, i, seen);
                const double* const q =
                    sources.q.data() + ((b * core.heads + h) * core.length + i) * core.width;
                const std::size_t first = (b * core.kv_heads + h / group) * facts.keys;
                std::vector<double> exact, weights;
                for (std::size_t n = 0; n < seen.columns.size(); ++n) {
                    const std::size_t key = (first + seen.columns[n]) * core.width;
                    Sum sum(type);
                    double score = 0;
                    for (std::size_t f = 0; f < core.width; ++f) {
                        sum.add(q[f], scaled_keys[key + f]);
                        score += q[f] * sources.k[key + f];
                    }
                    double rounded = round_to(type, sum.value());
                    score *= facts.scale;
                    if (core.softcap) {
                        rounded = round_to(type, *core.softcap * std::tanh(rounded / *core.softcap));
                        score = *core.softcap * std::tanh(score / *core.softcap);
                    }
                    if (n < seen.biases.size()) {
                        rounded = round_to(type, rounded + seen.biases[n]);
                        score += seen.biases[n];
                    }
                    weights.push_back(rounded);
                    exact.push_back(score);
                }
                // The softmax is formed inside and stored in the type; the exact one in double.
                double denominator = 0, exact_denominator = 0;
                const double top = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
                const double exact_top = exact.empty() ? 0 : *std::max_element(exact.begin(), exact.end());
                for (std::size_t n = 0; n < weights.size(); ++n) {
                    weights[n] = round_to(inside, std::exp(weights[n] - top));
                    denominator = round_to(inside, denominator + weights[n]);
                    exact[n] = std::exp(exact[n] - exact_top);
                    exact_denominator += exact[n];
                }
                for (double& weight : weights)
                    weight = round_to(type, round_to(inside, weight / denominator));
                for (std::size_t f = 0; f < core.value_width; ++f) {
                    Sum sum(type);
                    double magnitude = 0;
                    for (std::size_t n = 0; n < weights.size(); ++n) {
                        const double value = sources.v[(first + seen.columns[n]) * core.value_width + f];
                        sum.add(weights[n], value);
                        magnitude += exact[n] / exact_denominator * std::fabs(value);
                    }
                    facts.plain.push_back(round_to(type, sum.value()));
                    facts.magnitude.push_back(magnitude);
                }
            }
    return facts;
}

}  // namespace attest::reference
