#include "kernel.hpp"

#include "oracle/oracle.hpp"
#include "oracle/visibility.hpp"
#include "row.hpp"
#include "sums.hpp"

#include <cmath>

namespace attest::reference::attack {
namespace {

using Order = Choices::Order;

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
    machine.at(Stage::factor);
    const double root = choices.scaled == Scaled::both ? machine.root(type, scale) : 0;
    std::vector<double> scaled_q(q, q + width);
    if (choices.scaled == Scaled::q || choices.scaled == Scaled::both)
        for (double& value : scaled_q)
            value = machine.multiply(type, value, choices.scaled == Scaled::q ? scale : root);
    std::vector<double> scores;
    for (std::size_t n = 0; n < keys.size(); ++n) {
        std::vector<double> k(keys[n], keys[n] + width);
        machine.at(Stage::factor, n);
        if (choices.scaled == Scaled::both)
            for (double& value : k)
                value = machine.multiply(type, value, root);
        machine.at(Stage::dot, n);
        double score = dot(machine, choices, scaled_q.data(), k.data(), width);
        machine.at(Stage::score, n);
        if (choices.scaled == Scaled::score) score = machine.multiply(type, score, scale);
        if (softcap != 0) {
            const double argument = machine.multiply(type, score, machine.divide(type, 1, softcap));
            machine.at(Stage::tanh, n);
            const double capped =
                machine.stored(machine.told().softmax_precision, type, machine.tangent_hyperbolic(argument));
            machine.at(Stage::score, n);
            score = machine.multiply(type, softcap, capped);
        }
        if (!biases.empty()) score = machine.add(type, score, biases[n]);
        scores.push_back(score);
    }
    return scores;
}

double scale_of(Machine& machine, std::size_t width) {
    const Number type = machine.told().arithmetic;
    const double held = machine.held(type, static_cast<double>(width));
    machine.at(Stage::factor);
    return machine.divide(type, 1, machine.root(type, held));
}

// The cosine and sine of one pair, as tables or angles of the told precision give them: PROOF §2.2 counts
// what each function may be off by.
void turn(Machine& machine, const Choices& choices, const Rope& rope, double position, std::size_t pair,
          double& c, double& s) {
    const Number arithmetic = machine.told().arithmetic;
    if (choices.angles == RopeAngles::exact) {
        const Real angle = Real(position) / pow(Real(rope.base), Real(2 * pair) / Real(rope.width));
        c = machine.function(arithmetic, static_cast<double>(Real(cos(angle))), 1);
        s = machine.function(arithmetic, static_cast<double>(Real(sin(angle))), 1);
        return;
    }
    const Number type = choices.angles == RopeAngles::f64 ? Number::f64 : Number::f32;
    const double base = machine.held(type, rope.base), p = machine.held(type, position);
    machine.at(Stage::angle);
    const double exponent =
        machine.divide(type, static_cast<double>(2 * pair), static_cast<double>(rope.width));
    const double logarithm = machine.function(type, std::log(base), 1);
    const double power = machine.function(type, std::exp(machine.multiply(type, exponent, logarithm)), 4);
    const double angle = machine.multiply(type, p, machine.divide(type, 1, power));
    c = machine.stored(type, arithmetic, machine.function(type, std::cos(angle), 2));
    s = machine.stored(type, arithmetic, machine.function(type, std::sin(angle), 2));
}

void rotate_row(Machine& machine, const Choices& choices, const Rope& rope, double position, std::size_t key,
                double* features) {
    const Number type = machine.told().arithmetic;
    for (std::size_t i = 0; i < rope.width / 2; ++i) {
        double c = 0, s = 0;
        machine.at(Stage::angle);
        turn(machine, choices, rope, position, i, c, s);
        double& a = features[first_of(rope, i)];
        double& b = features[second_of(rope, i)];
        machine.at(Stage::turn, key);
        const double turned = machine.multiply_add(type, a, c, -machine.multiply(type, b, s));
        b = machine.multiply_add(type, a, s, machine.multiply(type, b, c));
        a = turned;
    }
}

std::vector<double> held(Machine& machine, std::span<const double> values) {
    std::vector<double> result;
    for (const double value : values)
        result.push_back(machine.held(machine.told().arithmetic, value));
    return result;
}

// attend takes q, k and v as the machine holds them already.
CoreAnswer attend(const Core& core, const Choices& choices, Machine& machine, const std::vector<double>& q,
                  const std::vector<double>& k, const std::vector<double>& v) {
    const Visibility visibility = Visibility::of(core, -format_of(machine.told().arithmetic).largest / 2);
    const Number type = machine.told().arithmetic;
    const double scale = core.scale ? machine.held(type, *core.scale) : scale_of(machine, core.width);
    const double softcap = core.softcap ? machine.held(type, *core.softcap) : 0;
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
                    bias = machine.held(type, bias);
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
    return attend(core, choices, machine, q, k, v);
}

LayerAnswer run(const Layer& layer, const Choices& choices, Machine& machine) {
    const std::vector<double> x = held(machine, layer.x), wq = held(machine, layer.wq);
    const std::vector<double> wk = held(machine, layer.wk), wv = held(machine, layer.wv);
    const std::vector<double> wo = held(machine, layer.wo);
    const std::size_t d = layer.head_width;
    const auto project_heads = [&](Stage stage, const std::vector<double>& w, std::size_t heads,
                                   bool turned) {
        std::vector<double> result(layer.batch * heads * layer.length * d);
        for (std::size_t b = 0; b < layer.batch; ++b)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t t = 0; t < layer.length; ++t) {
                    double* const features = result.data() + ((b * heads + h) * layer.length + t) * d;
                    for (std::size_t f = 0; f < d; ++f) {
                        machine.at(stage, t + 3 * f);
                        features[f] = dot(machine, choices, w.data() + (h * d + f) * layer.width,
                                          x.data() + (b * layer.length + t) * layer.width, layer.width);
                    }
                    if (turned)
                        rotate_row(machine, choices, layer.rope,
                                   static_cast<double>(layer.first_position + t), t, features);
                }
        return result;
    };
    const std::vector<double> q = project_heads(Stage::query, wq, layer.heads, true);
    LayerAnswer answer;
    answer.keys = project_heads(Stage::project, wk, layer.kv_heads, true);
    answer.values = project_heads(Stage::project, wv, layer.kv_heads, false);
    Core core{.batch = layer.batch,
              .heads = layer.heads,
              .kv_heads = layer.kv_heads,
              .length = layer.length,
              .keys = layer.length,
              .width = d,
              .value_width = d};
    core.causal = true;
    const CoreAnswer mixed = attend(core, choices, machine, q, answer.keys, answer.values);
    answer.weights = mixed.weights;
    for (std::size_t b = 0; b < layer.batch; ++b)
        for (std::size_t t = 0; t < layer.length; ++t) {
            std::vector<double> merged;
            for (std::size_t h = 0; h < layer.heads; ++h)
                for (std::size_t f = 0; f < d; ++f)
                    merged.push_back(mixed.y[((b * layer.heads + h) * layer.length + t) * d + f]);
            for (std::size_t i = 0; i < layer.width; ++i) {
                machine.at(Stage::output, i);
                answer.y.push_back(
                    dot(machine, choices, wo.data() + i * merged.size(), merged.data(), merged.size()));
            }
        }
    return answer;
}

}  // namespace attest::reference::attack
