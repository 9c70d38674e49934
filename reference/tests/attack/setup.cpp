#include "setup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <sstream>

namespace attest::reference::attack {
namespace {

// Numbers with a purpose: plain, of one size, spread over magnitudes, cancelling, tiny.
std::vector<double> numbers(Random& random, std::size_t count, Number number, double size) {
    const unsigned family = static_cast<unsigned>(random.below(9));
    const Format format = format_of(number);
    std::vector<double> values(count);
    for (std::size_t n = 0; n < count; ++n) {
        double value = 0;
        switch (family) {
            case 0:
            case 1:
            case 2:
                value = random.normal();
                break;
            case 3:
                value = 2 * random.uniform() - 1;
                break;
            case 4:
                value = random.sign() * std::exp2(-12 * random.uniform());
                break;
            case 5:
                value = (n % 2 == 0 ? 1 : -1) * (1 + random.uniform() / 64);
                break;
            case 6:
                value = random.chance(3) ? random.normal() : std::ldexp(random.normal(), -20);
                break;
            case 7:
                value = random.sign();
                break;
            default:
                value = 1 + 0x1p-3 * static_cast<double>(random.below(8));
                break;
        }
        values[n] = value * size;
        if (random.chance(400))
            values[n] = random.sign() * format.smallest * static_cast<double>(random.below(5));
        if (random.chance(400)) values[n] = random.sign() * format.normal * random.uniform();
        if (random.chance(100)) values[n] = 0;
    }
    return values;
}

// Held in the type, so that inputs are exact in it; now and then they are not.
void hold_all(Number number, Random& random, std::vector<double>& values) {
    if (random.chance(8)) return;
    for (double& value : values)
        value = hold(number, value);
}

Arithmetic draw_arithmetic(Random& random, Number number) {
    if (number == Number::f64 || number == Number::f32)
        if (random.chance(4))
            return number == Number::f64 ? Arithmetic::attest<double>() : Arithmetic::attest<float>();
    Arithmetic told = Arithmetic::foreign(number);
    if (random.chance(4)) told.accumulate = told.softmax_precision = told.weights_type = number;
    if (random.chance(4)) told.softmax_precision = number;
    if (random.chance(3)) told.weights_type = number;
    if (random.chance(3) && number == Number::f32)
        told.weights_type = random.one_of({Number::bf16, Number::f16});
    told.weights_stored =
        random.one_of({WeightsStored::not_told, WeightsStored::before, WeightsStored::after});
    told.summation.kind = random.one_of(
        {Summation::Kind::any, Summation::Kind::any, Summation::Kind::blocked, Summation::Kind::pairwise});
    if (told.summation.kind == Summation::Kind::blocked) told.summation.block = 1 + random.below(8);
    told.passes.kind = random.one_of({Passes::Kind::any, Passes::Kind::two_pass, Passes::Kind::two_pass,
                                      Passes::Kind::online, Passes::Kind::split});
    if (told.passes.kind == Passes::Kind::online || told.passes.kind == Passes::Kind::split)
        told.passes.size = random.chance(3) ? 0 : 1 + random.below(6);
    told.exponent = random.one_of({Exponent::any, Exponent::e, Exponent::two});
    told.scaled = random.one_of({Scaled::any, Scaled::score, Scaled::q, Scaled::both});
    told.exp_ulps = random.one_of({0.5, 1.0, 2.0, 32.0});
    told.rope_angles = random.one_of({RopeAngles::exact, RopeAngles::f64, told.rope_angles});
    told.rounding = random.chance(6) && number != Number::f64 ? Rounding::faithful : Rounding::nearest;
    told.subnormals = random.chance(5) ? Subnormals::flushed : Subnormals::kept;
    return told;
}

Conduct draw_conduct(Random& random, Number number) {
    Conduct conduct{.nature = number != Number::f64 && random.chance(2) ? Nature::model : Nature::grid,
                    .fused = random.chance(2),
                    .pushes = {},
                    .seed = random.bits()};
    // All one way, each stage its own way, alternating by key, or by chance.
    const std::uint64_t family = random.below(5);
    const auto one_way = [&] { return static_cast<signed char>(random.one_of({-1, 1})); };
    const signed char all = one_way();
    for (auto& stage : conduct.pushes.direction) {
        const signed char way = family == 0 ? all : (family == 3 ? 2 : one_way());
        for (std::size_t key = 0; key < stage.size(); ++key) {
            stage[key] = way;
            if (family == 2 && key % 2 == 1) stage[key] = static_cast<signed char>(-way);
            if (family == 4) stage[key] = one_way();
        }
    }
    if (random.chance(16)) conduct.pushes = {};
    return conduct;
}

double draw_size(Random& random, Number number) {
    const Format format = format_of(number);
    if (random.chance(6)) return std::sqrt(format.normal) * std::exp2(6 * random.uniform() - 3);
    return random.one_of({1.0, 1.0, 1.0, 0.25, 4.0, 16.0, 0x1p-30, 0x1p-60});
}

void draw_core(Setup& setup, Number number, Random& random) {
    const bool tight = random.chance(2);
    Core& core = setup.core;
    core = {.batch = 1, .heads = 1, .kv_heads = 1, .length = 1, .width = 1, .value_width = 1};
    core.width = tight ? 1 + random.below(3) : 1 + random.below(12);
    core.value_width = tight ? 1 : 2;
    if (random.chance(number == Number::bf16 ? 30 : 300)) core.width = 257;  // no number of bf16
    core.keys = tight ? 1 + random.below(4) : 1 + random.below(12);
    if (!tight && random.chance(8)) core.keys = 64 + random.below(80);
    const double size = draw_size(random, number);
    std::vector<double> q = numbers(random, core.width, number, size);
    std::vector<double> k = numbers(random, core.keys * core.width, number, random.chance(2) ? 1 : size);
    std::vector<double> v =
        numbers(random, core.keys * core.value_width, number,
                random.chance(4) ? random.one_of({0x1p-100, 16.0, format_of(number).normal}) : 1);
    if (random.chance(6))  // equal keys: roundings have no mean to cancel about
        for (std::size_t n = core.width; n < k.size(); ++n)
            k[n] = k[n % core.width];
    if (random.chance(6))  // a needle
        for (std::size_t f = 0; f < core.width; ++f)
            k[random.below(core.keys) * core.width + f] = 8 * q[f];
    if (random.chance(6))
        for (double& value : v)
            value = v[0];
    std::vector<double> bias;
    setup.biased = random.chance(3);
    if (setup.biased) {
        bias = numbers(random, core.keys, number, random.one_of({1.0, 8.0, 1000.0}));
        if (random.chance(2)) bias[random.below(core.keys)] = -1e4;
        if (random.chance(4)) bias[random.below(core.keys)] = -std::numeric_limits<double>::infinity();
    }
    if (random.chance(5)) core.softcap = random.one_of({0.5, 2.0, 50.0});
    // Its reciprocal lies below the normals.
    if (core.softcap && number == Number::f16 && random.chance(4)) core.softcap = 30000;
    if (random.chance(4)) core.scale = random.one_of({0.01, 1.0, 3.0, -0.5, 0x1p-130});
    if (core.scale && *core.scale < 0 && setup.choices.scaled == Scaled::both) core.scale = -*core.scale;
    setup.tensors = {std::move(q), std::move(k), std::move(v), std::move(bias)};
}

void draw_layer(Setup& setup, Number number, Random& random) {
    Layer& layer = setup.layer;
    const bool tight = random.chance(2);
    layer = {.batch = 1, .length = 1 + random.below(6), .width = 1 + random.below(10)};
    if (tight) layer.length = 1 + random.below(3), layer.width = 1 + random.below(2);
    layer.kv_heads = tight ? 1 : 1 + random.below(2);
    layer.heads = layer.kv_heads * (tight ? 1 : 1 + random.below(2));
    layer.head_width = 2 * (tight ? 1 : 1 + random.below(3));
    layer.rope.pairs = random.one_of({RopePairs::interleaved, RopePairs::half});
    layer.rope.width = 2 * random.below(layer.head_width / 2 + 1);
    layer.rope.base = random.one_of({10000.0, 500000.0, 10.0, 1e6, 0x1.000001p17});
    layer.first_position = random.one_of<std::uint64_t>({0, 1, 17, 1000, 131072, 20000001});
    const double size = draw_size(random, number);
    const std::size_t features = layer.heads * layer.head_width, kv = layer.kv_heads * layer.head_width;
    setup.tensors = {
        numbers(random, layer.length * layer.width, number, size),
        numbers(random, features * layer.width, number, 1), numbers(random, kv * layer.width, number, 1),
        numbers(random, kv * layer.width, number, 1), numbers(random, features * layer.width, number, 1)};
}

Core bound_core(const Setup& setup) {
    Core core = setup.core;
    core.q = setup.tensors[0];
    core.k = setup.tensors[1];
    core.v = setup.tensors[2];
    if (setup.biased) core.bias = Broadcast{.shape = {core.keys}, .values = setup.tensors[3]};
    return core;
}

Layer bound_layer(const Setup& setup) {
    Layer layer = setup.layer;
    layer.x = setup.tensors[0];
    layer.wq = setup.tensors[1];
    layer.wk = setup.tensors[2];
    layer.wv = setup.tensors[3];
    layer.wo = setup.tensors[4];
    return layer;
}

void mutate_numbers(Setup& setup, Random& random) {
    std::vector<double>* tensor = nullptr;
    do
        tensor = &setup.tensors[random.below(setup.tensors.size())];
    while (tensor->empty());
    double& value = (*tensor)[random.below(tensor->size())];
    switch (random.below(7)) {
        case 0:
            value = -value;
            break;
        case 1:
            value *= random.one_of({0.5, 2.0});
            break;
        case 2:
            value *= 1 + random.sign() * std::exp2(-1 - 12 * random.uniform());
            break;
        case 3:
            value = (*tensor)[random.below(tensor->size())];
            break;
        case 4:
            value = random.normal();
            break;
        case 5:
            value = random.chance(4) ? 0 : value + random.sign() * random.uniform();
            break;
        default:
            for (double& one : *tensor)
                one *= random.one_of({0.5, 2.0});
            break;
    }
    if (!std::isfinite(value)) value = -1;
    const Number number = setup.told.arithmetic;
    if (!random.chance(16) && std::isfinite(value)) value = hold(number, value);
}

void mutate_conduct(Conduct& conduct, Random& random) {
    auto& stage = conduct.pushes.direction[random.below(Pushes::kStages)];
    const auto way = static_cast<signed char>(random.one_of({-1, 1, 1, -1, 0}));
    switch (random.below(8)) {
        case 0:
            stage.fill(way);
            break;
        case 1:
            for (std::size_t key = 0; key < stage.size(); ++key)
                stage[key] = static_cast<signed char>(key % 2 == 0 ? way : -way);
            break;
        case 2:
            conduct.seed = random.bits();
            break;
        case 3:
            if (random.chance(4)) conduct.fused = !conduct.fused;
            break;
        default:
            // The first keys are most of what small problems have.
            stage[random.below(random.chance(2) ? 2 : Pushes::kKeys)] = way;
            break;
    }
}

}  // namespace

double hold(Number number, double value) {
    Arithmetic told;
    told.arithmetic = number;
    Machine machine(told, {});
    return machine.held(number, value);
}

Setup draw(Target target, Number number, Random& random) {
    Setup setup;
    setup.target = target;
    setup.told = draw_arithmetic(random, number);
    setup.choices = draw(setup.told, random);
    setup.conduct = draw_conduct(random, number);
    if (target == Target::core) {
        draw_core(setup, number, random);
    } else {
        draw_layer(setup, number, random);
    }
    for (std::vector<double>& tensor : setup.tensors)
        hold_all(number, random, tensor);
    return setup;
}

Change mutate(Setup& setup, Random& random) {
    const std::uint64_t kind = random.below(16);
    if (kind == 0) {
        setup.choices = draw(setup.told, random);
        if (setup.choices.scaled == Scaled::both && setup.core.scale)
            setup.core.scale = std::fabs(*setup.core.scale);
        return setup.core.scale ? Change::numbers : Change::choices;
    }
    if (kind < 5) {
        mutate_numbers(setup, random);
        return Change::numbers;
    }
    mutate_conduct(setup.conduct, random);
    return Change::conduct;
}

Answers answers_of(const Setup& setup) {
    Machine machine(setup.told, setup.conduct);
    if (setup.target == Target::core) {
        CoreAnswer answer = run(bound_core(setup), setup.choices, machine);
        return {{"y", std::move(answer.y)}, {"weights", std::move(answer.weights)}};
    }
    LayerAnswer answer = run(bound_layer(setup), setup.choices, machine);
    return {{"y", std::move(answer.y)},
            {"keys", std::move(answer.keys)},
            {"values", std::move(answer.values)},
            {"weights", std::move(answer.weights)}};
}

std::vector<Judged> judgement_of(const Setup& setup) {
    std::vector<Judged> tensors;
    if (setup.target == Target::core) {
        auto judged =
            judge(bound_core(setup), setup.told, {.rows = {}, .weights = true, .doubt = Doubt::none});
        if (!judged) return tensors;
        tensors.push_back(std::move(judged->y));
        tensors.push_back(std::move(judged->weights));
        return tensors;
    }
    auto judged =
        judge(bound_layer(setup), setup.told,
              {.rows = {}, .y = true, .keys = true, .values = true, .weights = true, .doubt = Doubt::none});
    if (!judged) return tensors;
    for (Judged* const one : {&judged->y, &judged->keys, &judged->values, &judged->weights})
        tensors.push_back(std::move(*one));
    return tensors;
}

std::string describe(const Setup& setup) {
    const Arithmetic& told = setup.told;
    const Choices& choices = setup.choices;
    std::ostringstream out;
    out << "arithmetic " << name_of(told.arithmetic) << " accumulate " << name_of(told.accumulate)
        << " softmax " << name_of(told.softmax_precision) << " weights " << name_of(told.weights_type)
        << " stored " << int(told.weights_stored) << " summation " << int(told.summation.kind) << ":"
        << told.summation.block << " passes " << int(told.passes.kind) << ":" << told.passes.size
        << " exponent " << int(told.exponent) << " scaled " << int(told.scaled) << " exp_ulps "
        << told.exp_ulps << " angles " << int(told.rope_angles) << " rounding " << int(told.rounding)
        << " subnormals " << int(told.subnormals) << " | "
        << (setup.conduct.nature == Nature::model ? "model" : "grid") << " fused " << setup.conduct.fused
        << " dots " << int(choices.dots) << " positions " << int(choices.positions) << " block "
        << choices.block << " passes " << int(choices.passes) << ":" << choices.pass_size << " backwards "
        << choices.backwards << " base_two " << choices.base_two << ":" << choices.argument << " scaled "
        << int(choices.scaled) << " divided_before " << choices.divided_before << " reciprocal "
        << choices.reciprocal << " weights_before " << choices.weights_before << " |";
    if (setup.core.scale) out << " scale " << *setup.core.scale;
    if (setup.core.softcap) out << " softcap " << *setup.core.softcap;
    for (const std::vector<double>& tensor : setup.tensors) {
        out << " [" << std::hexfloat;
        for (std::size_t n = 0; n < std::min<std::size_t>(tensor.size(), 12); ++n)
            out << (n == 0 ? "" : " ") << tensor[n];
        out << (tensor.size() > 12 ? " …]" : "]") << std::defaultfloat;
    }
    return out.str();
}

}  // namespace attest::reference::attack
