#include "kernel.hpp"

#include "oracle/oracle.hpp"
#include "oracle/visibility.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference::attack {
namespace {

using Order = Choices::Order;

// One term of a sum: a·b, or a alone.
struct Term {
    double a = 0, b = 0;
    bool product = false;
};

class Summer {
  public:
    Summer(Machine& machine, Number type, Order order, std::uint64_t block, bool over_positions)
        : machine_(machine), type_(type), order_(order), block_(block), over_positions_(over_positions) {}

    double sum(const std::vector<Term>& terms) {
        const std::size_t count = terms.size();
        switch (order_) {
            case Order::forward:
                return in_order(terms, 0, count, 1);
            case Order::backward: {
                const std::vector<Term> reversed(terms.rbegin(), terms.rend());
                return in_order(reversed, 0, count, 1);
            }
            case Order::blocked: {
                double total = 0;
                for (std::size_t first = 0; first < count; first += block_)
                    total = machine_.add(type_, total,
                                         in_order(terms, first, std::min(count, first + block_), 1));
                return total;
            }
            case Order::pairwise:
                return halves(terms, 0, count, false);
            case Order::random_tree:
                return halves(terms, 0, count, true);
            case Order::lanes:
                return over_positions_ ? folded_blocks(terms) : folded_lanes(terms);
        }
        return 0;
    }

  private:
    double leaf(const Term& term) { return term.product ? machine_.multiply(type_, term.a, term.b) : term.a; }
    double in_order(const std::vector<Term>& terms, std::size_t first, std::size_t last, std::size_t step) {
        double total = 0;
        for (std::size_t n = first; n < last; n += step)
            total = terms[n].product ? machine_.multiply_add(type_, terms[n].a, terms[n].b, total)
                                     : machine_.add(type_, total, terms[n].a);
        return total;
    }
    double halves(const std::vector<Term>& terms, std::size_t first, std::size_t last, bool anywhere) {
        if (first == last) return 0;
        if (last - first == 1) return leaf(terms[first]);
        // The lower half holds the larger power of two, so that the tree is ⌈log2 n⌉ high.
        std::size_t half = 1;
        while (half * 2 < last - first)
            half *= 2;
        const std::size_t middle = first + (anywhere ? 1 + machine_.random().below(last - first - 1) : half);
        const double lower = halves(terms, first, middle, anywhere);
        const double upper = halves(terms, middle, last, anywhere);
        return machine_.add(type_, lower, upper);
    }
    // The library's order: DESIGN contract 4's proposal.
    double folded_lanes(const std::vector<Term>& terms) {
        const std::size_t lanes = type_ == Number::f64 ? 8 : 16;
        std::vector<double> sums;
        for (std::size_t lane = 0; lane < lanes; ++lane)
            sums.push_back(in_order(terms, lane, terms.size(), lanes));
        for (std::size_t half = lanes / 2; half != 0; half /= 2)
            for (std::size_t lane = 0; lane < half; ++lane)
                sums[lane] = machine_.add(type_, sums[lane], sums[lane + half]);
        return sums[0];
    }
    double folded_blocks(const std::vector<Term>& terms) {
        std::vector<double> sums;
        for (std::size_t first = 0; first < terms.size(); first += 64)
            sums.push_back(in_order(terms, first, std::min(terms.size(), first + 64), 1));
        while (sums.size() > 1) {
            std::vector<double> next;
            for (std::size_t n = 0; n < sums.size(); n += 2)
                next.push_back(n + 1 < sums.size() ? machine_.add(type_, sums[n], sums[n + 1]) : sums[n]);
            sums = next;
        }
        return sums.empty() ? 0 : sums[0];
    }

    Machine& machine_;
    Number type_;
    Order order_;
    std::uint64_t block_;
    bool over_positions_;
};

// One row's softmax and mix.
class Row {
  public:
    Row(Machine& machine, const Choices& choices) : machine_(machine), choices_(choices) {}

    std::vector<double> weights;  // as answered
    std::vector<double> mixed;

    void run(std::vector<double> scores, const std::vector<const double*>& values, std::size_t width) {
        scores_ = std::move(scores);
        values_ = values;
        width_ = width;
        mixed.assign(width, 0);
        weights.assign(scores_.size(), 0);
        if (scores_.empty()) return;
        switch (choices_.passes) {
            case Passes::Kind::online:
                online();
                break;
            case Passes::Kind::split:
                split();
                break;
            default: {
                const Part part = two_pass(0, scores_.size(), true);
                mixed = part.mixed;
                break;
            }
        }
        for (double& value : mixed)
            value = machine_.stored(value);
        for (double& value : weights)
            value = machine_.stored(value);
    }

  private:
    struct Part {
        double maximum = 0, denominator = 0;
        std::vector<double> mixed;  // divided
    };

    Number softmax() const { return machine_.told().softmax_precision; }
    Number accumulate() const { return machine_.told().accumulate; }
    Number weights_type() const { return machine_.told().weights_type; }

    // A weight, or what a maximum's rise shrinks by. The rise is always a difference of two numbers formed
    // alike, exactly 0 when there is none: fused with one of its products it would be no 0 (PROOF §2.4).
    double weight(double score, double maximum, bool shrinks = false) {
        const Number type = softmax();
        if (!choices_.base_two) return machine_.exponential(machine_.add(type, score, -maximum), false);
        const double log2_e = machine_.rounded(type, 1.4426950408889634);
        double argument = 0;
        if (choices_.argument == 0) {
            argument = machine_.multiply(type, machine_.add(type, score, -maximum), log2_e);
        } else if (choices_.argument == 1 || shrinks) {
            const double from_score = machine_.multiply(type, score, log2_e);
            argument = machine_.add(type, from_score, -machine_.multiply(type, maximum, log2_e));
        } else {
            argument = machine_.multiply_add(type, score, log2_e, -machine_.multiply(type, maximum, log2_e));
        }
        return machine_.exponential(argument, true);
    }

    double divided(double value, double denominator) {
        if (!choices_.reciprocal) return machine_.divide(softmax(), value, denominator);
        return machine_.multiply(softmax(), value, machine_.divide(softmax(), 1, denominator));
    }

    Part two_pass(std::size_t first, std::size_t last, bool answer_weights) {
        Part part;
        part.maximum = *std::max_element(scores_.begin() + static_cast<std::ptrdiff_t>(first),
                                         scores_.begin() + static_cast<std::ptrdiff_t>(last));
        std::vector<double> w;
        std::vector<Term> ones;
        for (std::size_t n = first; n < last; ++n) {
            double one = weight(scores_[n], part.maximum);
            if (choices_.weights_before) one = machine_.rounded(weights_type(), one);
            ones.push_back({one, 1, false});
            w.push_back(one);
        }
        Summer summer(machine_, accumulate(), choices_.positions, choices_.block, true);
        part.denominator = summer.sum(ones);
        for (std::size_t n = first; n < last; ++n)
            if (answer_weights) weights[n] = divided(w[n - first], part.denominator);
        if (choices_.divided_before)
            for (double& one : w)
                one = divided(one, part.denominator);
        if (!choices_.weights_before)
            for (double& one : w)
                one = machine_.rounded(weights_type(), one);
        for (std::size_t f = 0; f < width_; ++f) {
            std::vector<Term> terms;
            for (std::size_t n = first; n < last; ++n)
                terms.push_back({w[n - first], values_[n][f], true});
            const double sum = summer.sum(terms);
            part.mixed.push_back(choices_.divided_before ? sum : divided(sum, part.denominator));
        }
        return part;
    }

    // A running maximum, a block of keys at a time, blocks up or down.
    void online() {
        const std::size_t count = scores_.size();
        const std::size_t block = std::max<std::size_t>(1, choices_.pass_size);
        const Number type = accumulate();
        double maximum = -std::numeric_limits<double>::infinity(), denominator = 0;
        const std::size_t blocks = (count + block - 1) / block;
        for (std::size_t step = 0; step < blocks; ++step) {
            const std::size_t at = choices_.backwards ? blocks - 1 - step : step;
            const std::size_t first = at * block, last = std::min(count, first + block);
            double top = maximum;
            for (std::size_t n = first; n < last; ++n)
                top = std::max(top, scores_[n]);
            if (step != 0) {
                const double shrink = weight(maximum, top, true);
                denominator = machine_.multiply(type, denominator, shrink);
                for (double& value : mixed)
                    value = machine_.multiply(type, value, shrink);
            }
            maximum = top;
            std::vector<Term> ones;
            std::vector<double> w;
            for (std::size_t n = first; n < last; ++n) {
                double one = weight(scores_[n], maximum);
                if (choices_.weights_before) one = machine_.rounded(weights_type(), one);
                ones.push_back({one, 1, false});
                w.push_back(choices_.weights_before ? one : machine_.rounded(weights_type(), one));
            }
            Summer summer(machine_, type, choices_.positions, choices_.block, true);
            denominator = machine_.add(type, denominator, summer.sum(ones));
            for (std::size_t f = 0; f < width_; ++f) {
                std::vector<Term> terms;
                for (std::size_t n = first; n < last; ++n)
                    terms.push_back({w[n - first], values_[n][f], true});
                mixed[f] = machine_.add(type, mixed[f], summer.sum(terms));
            }
        }
        for (double& value : mixed)
            value = divided(value, denominator);
        for (std::size_t n = 0; n < count; ++n)
            weights[n] = divided(weight(scores_[n], maximum), denominator);
    }

    // Partials with their own maximum, merged by their log-sum-exp.
    void split() {
        const std::size_t count = scores_.size();
        const std::size_t wanted = std::max<std::uint64_t>(1, choices_.pass_size);
        const std::size_t each = (count + wanted - 1) / wanted;
        const Number type = softmax();
        std::vector<Part> parts;
        std::vector<double> sums;
        double top = -std::numeric_limits<double>::infinity();
        for (std::size_t first = 0; first < count; first += each) {
            parts.push_back(two_pass(first, std::min(count, first + each), false));
            sums.push_back(
                machine_.add(type, parts.back().maximum, machine_.logarithm(parts.back().denominator)));
            top = std::max(top, sums.back());
        }
        double total = 0;
        std::vector<double> shares;
        for (const double sum : sums) {
            shares.push_back(machine_.exponential(machine_.add(type, sum, -top), false));
            total = machine_.add(accumulate(), total, shares.back());
        }
        for (double& share : shares)
            share = divided(share, total);
        for (std::size_t f = 0; f < width_; ++f) {
            double sum = 0;
            for (std::size_t p = 0; p < parts.size(); ++p)
                sum = machine_.multiply_add(accumulate(), shares[p], parts[p].mixed[f], sum);
            mixed[f] = sum;
        }
        const double log_sum = machine_.add(type, top, machine_.logarithm(total));
        for (std::size_t n = 0; n < count; ++n)
            weights[n] = machine_.exponential(machine_.add(type, scores_[n], -log_sum), false);
    }

    Machine& machine_;
    const Choices& choices_;
    std::vector<double> scores_;
    std::vector<const double*> values_;
    std::size_t width_ = 0;
};

double dot(Machine& machine, const Choices& choices, const double* a, const double* b, std::size_t count) {
    std::vector<Term> terms;
    for (std::size_t n = 0; n < count; ++n)
        terms.push_back({a[n], b[n], true});
    Summer summer(machine, machine.told().accumulate, choices.dots, choices.block, false);
    return machine.stored(summer.sum(terms));
}

// Scores of one row, scaled, capped and biased as the choices say.
std::vector<double> scores_of(Machine& machine, const Choices& choices, const double* q,
                              const std::vector<const double*>& keys, std::size_t width, double scale,
                              double softcap, const std::vector<double>& biases) {
    const Number type = machine.told().arithmetic;
    const double root = machine.root(type, scale);
    std::vector<double> scaled_q(q, q + width);
    if (choices.scaled == Scaled::q || choices.scaled == Scaled::both)
        for (double& value : scaled_q)
            value = machine.multiply(type, value, choices.scaled == Scaled::q ? scale : root);
    std::vector<double> scores;
    for (std::size_t n = 0; n < keys.size(); ++n) {
        std::vector<double> k(keys[n], keys[n] + width);
        if (choices.scaled == Scaled::both)
            for (double& value : k)
                value = machine.multiply(type, value, root);
        double score = dot(machine, choices, scaled_q.data(), k.data(), width);
        if (choices.scaled == Scaled::score) score = machine.multiply(type, score, scale);
        if (softcap != 0) {
            const double argument = machine.multiply(type, score, machine.divide(type, 1, softcap));
            score = machine.multiply(type, softcap, machine.stored(machine.tangent_hyperbolic(argument)));
        }
        if (!biases.empty()) score = machine.add(type, score, biases[n]);
        scores.push_back(score);
    }
    return scores;
}

double scale_of(Machine& machine, std::size_t width) {
    const Number type = machine.told().arithmetic;
    return machine.divide(type, 1, machine.root(type, machine.rounded(type, static_cast<double>(width))));
}

// The cosine and sine of one pair, as tables or angles of the told precision give them.
void turn(Machine& machine, const Choices& choices, const Rope& rope, double position, std::size_t pair,
          double& c, double& s) {
    const Number stored = machine.told().arithmetic;
    if (choices.angles == RopeAngles::exact) {
        const Real angle = Real(position) / pow(Real(rope.base), Real(2 * pair) / Real(rope.width));
        c = machine.rounded(stored, static_cast<double>(Real(cos(angle))));
        s = machine.rounded(stored, static_cast<double>(Real(sin(angle))));
        return;
    }
    const Number type = choices.angles == RopeAngles::f64 ? Number::f64 : Number::f32;
    const double exponent =
        machine.divide(type, static_cast<double>(2 * pair), static_cast<double>(rope.width));
    const double logarithm = machine.rounded(type, std::log(rope.base));
    const double power = machine.rounded(type, std::exp(machine.multiply(type, exponent, logarithm)));
    const double angle =
        machine.multiply(type, machine.rounded(type, position), machine.divide(type, 1, power));
    c = machine.rounded(stored, machine.rounded(type, std::cos(angle)));
    s = machine.rounded(stored, machine.rounded(type, std::sin(angle)));
}

void rotate_row(Machine& machine, const Choices& choices, const Rope& rope, double position,
                double* features) {
    const Number type = machine.told().arithmetic;
    for (std::size_t i = 0; i < rope.width / 2; ++i) {
        double c = 0, s = 0;
        turn(machine, choices, rope, position, i, c, s);
        double& a = features[first_of(rope, i)];
        double& b = features[second_of(rope, i)];
        const double turned = machine.multiply_add(type, a, c, -machine.multiply(type, b, s));
        b = machine.multiply_add(type, a, s, machine.multiply(type, b, c));
        a = turned;
    }
}

std::vector<double> held(Machine& machine, std::span<const double> values) {
    std::vector<double> result;
    for (const double value : values)
        result.push_back(machine.stored(value));
    return result;
}

}  // namespace

Choices draw(const Arithmetic& told, Random& random) {
    Choices choices;
    choices.block = std::max<std::uint64_t>(1, told.summation.block);
    switch (told.summation.kind) {
        case Summation::Kind::any:
            choices.block = 1 + random.below(9);
            choices.dots = random.one_of(
                {Order::forward, Order::backward, Order::blocked, Order::pairwise, Order::random_tree});
            choices.positions = random.one_of(
                {Order::forward, Order::backward, Order::blocked, Order::pairwise, Order::random_tree});
            break;
        case Summation::Kind::blocked:
            choices.dots = choices.positions = Order::blocked;
            break;
        case Summation::Kind::pairwise:
            choices.dots = choices.positions = Order::pairwise;
            break;
        case Summation::Kind::attest:
            choices.dots = choices.positions = Order::lanes;
            break;
    }
    const bool any_pass = told.passes.kind == Passes::Kind::any;
    choices.passes = any_pass
                         ? random.one_of({Passes::Kind::two_pass, Passes::Kind::online, Passes::Kind::split})
                         : told.passes.kind;
    choices.pass_size = told.passes.size != 0 ? told.passes.size : 1 + random.below(4);
    choices.backwards = random.chance(2);
    choices.base_two = told.exponent == Exponent::two || (told.exponent == Exponent::any && random.chance(2));
    choices.argument = static_cast<unsigned>(random.below(3));
    choices.scaled =
        told.scaled == Scaled::any ? random.one_of({Scaled::score, Scaled::q, Scaled::both}) : told.scaled;
    const bool own = told.summation.kind == Summation::Kind::attest;
    choices.divided_before = !own && random.chance(2) && choices.passes != Passes::Kind::online;
    choices.reciprocal = !own && random.chance(2);
    choices.weights_before = told.weights_stored == WeightsStored::before ||
                             (told.weights_stored == WeightsStored::not_told && random.chance(2));
    if (choices.weights_before) choices.divided_before = false;
    choices.angles = told.rope_angles;
    return choices;
}

CoreAnswer run(const Core& core, const Choices& choices, Machine& machine) {
    const std::vector<double> q = held(machine, core.q), k = held(machine, core.k), v = held(machine, core.v);
    const Visibility visibility = Visibility::of(core, -format_of(machine.told().arithmetic).largest / 2);
    const double scale = core.scale ? machine.stored(*core.scale) : scale_of(machine, core.width);
    const double softcap = core.softcap ? machine.stored(*core.softcap) : 0;
    CoreAnswer answer;
    Row row(machine, choices);
    Seen seen;
    for (std::size_t b = 0; b < core.batch; ++b)
        for (std::size_t h = 0; h < core.heads; ++h)
            for (std::size_t i = 0; i < core.length; ++i) {
                visibility.see(b, h, i, seen);
                const std::size_t group = b * core.kv_heads + h / (core.heads / core.kv_heads);
                std::vector<const double*> keys, values;
                for (const std::size_t column : seen.columns) {
                    keys.push_back(k.data() + (group * core.keys + column) * core.width);
                    values.push_back(v.data() + (group * core.keys + column) * core.value_width);
                }
                for (double& bias : seen.biases)
                    bias = machine.stored(bias);
                const double* const query = q.data() + ((b * core.heads + h) * core.length + i) * core.width;
                row.run(scores_of(machine, choices, query, keys, core.width, scale, softcap, seen.biases),
                        values, core.value_width);
                answer.y.insert(answer.y.end(), row.mixed.begin(), row.mixed.end());
                std::vector<double> spread(core.keys, 0);
                for (std::size_t n = 0; n < seen.columns.size(); ++n)
                    spread[seen.columns[n]] = row.weights[n];
                answer.weights.insert(answer.weights.end(), spread.begin(), spread.end());
            }
    return answer;
}

LayerAnswer run(const Layer& layer, const Choices& choices, Machine& machine) {
    const std::vector<double> x = held(machine, layer.x), wq = held(machine, layer.wq);
    const std::vector<double> wk = held(machine, layer.wk), wv = held(machine, layer.wv);
    const std::vector<double> wo = held(machine, layer.wo);
    const std::size_t d = layer.head_width;
    const auto project_heads = [&](const std::vector<double>& w, std::size_t heads, bool turned) {
        std::vector<double> result(layer.batch * heads * layer.length * d);
        for (std::size_t b = 0; b < layer.batch; ++b)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t t = 0; t < layer.length; ++t) {
                    double* const features = result.data() + ((b * heads + h) * layer.length + t) * d;
                    for (std::size_t f = 0; f < d; ++f)
                        features[f] = dot(machine, choices, w.data() + (h * d + f) * layer.width,
                                          x.data() + (b * layer.length + t) * layer.width, layer.width);
                    if (turned)
                        rotate_row(machine, choices, layer.rope,
                                   static_cast<double>(layer.first_position + t), features);
                }
        return result;
    };
    const std::vector<double> q = project_heads(wq, layer.heads, true);
    LayerAnswer answer;
    answer.keys = project_heads(wk, layer.kv_heads, true);
    answer.values = project_heads(wv, layer.kv_heads, false);
    Core core{.batch = layer.batch,
              .heads = layer.heads,
              .kv_heads = layer.kv_heads,
              .length = layer.length,
              .keys = layer.length,
              .width = d,
              .value_width = d};
    core.q = q;
    core.k = answer.keys;
    core.v = answer.values;
    core.causal = true;
    const CoreAnswer mixed = run(core, choices, machine);
    answer.weights = mixed.weights;
    for (std::size_t b = 0; b < layer.batch; ++b)
        for (std::size_t t = 0; t < layer.length; ++t) {
            std::vector<double> merged;
            for (std::size_t h = 0; h < layer.heads; ++h)
                for (std::size_t f = 0; f < d; ++f)
                    merged.push_back(mixed.y[((b * layer.heads + h) * layer.length + t) * d + f]);
            for (std::size_t i = 0; i < layer.width; ++i)
                answer.y.push_back(
                    dot(machine, choices, wo.data() + i * merged.size(), merged.data(), merged.size()));
        }
    return answer;
}

}  // namespace attest::reference::attack
