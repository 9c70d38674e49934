#include "attack.hpp"

#include "kernel.hpp"

#include <attest/reference/compare.hpp>
#include <attest/reference/judge.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <sstream>
#include <vector>

namespace attest::reference::attack {
namespace {

// Numbers with a purpose: plain, of one size, spread over magnitudes, cancelling, tiny.
std::vector<double> numbers(Random& random, std::size_t count, Number number, double size) {
    const unsigned family = static_cast<unsigned>(random.below(8));
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
void hold(Machine& machine, Random& random, std::vector<double>& values) {
    if (random.chance(8)) return;
    for (double& value : values)
        value = machine.stored(value);
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
    told.exp_ulps = random.one_of({1.0, 2.0, 32.0});
    told.rope_angles = random.one_of({RopeAngles::exact, RopeAngles::f64, told.rope_angles});
    told.rounding = random.chance(6) && number != Number::f64 ? Rounding::faithful : Rounding::nearest;
    told.subnormals = random.chance(5) ? Subnormals::flushed : Subnormals::kept;
    return told;
}

std::string describe(const Arithmetic& told, const Choices& choices) {
    std::ostringstream out;
    out << "arithmetic " << name_of(told.arithmetic) << " accumulate " << name_of(told.accumulate)
        << " softmax " << name_of(told.softmax_precision) << " weights " << name_of(told.weights_type)
        << " stored " << int(told.weights_stored) << " summation " << int(told.summation.kind) << ":"
        << told.summation.block << " passes " << int(told.passes.kind) << ":" << told.passes.size
        << " exponent " << int(told.exponent) << " scaled " << int(told.scaled) << " exp_ulps "
        << told.exp_ulps << " angles " << int(told.rope_angles) << " rounding " << int(told.rounding)
        << " subnormals " << int(told.subnormals) << " | dots " << int(choices.dots) << " positions "
        << int(choices.positions) << " block " << choices.block << " passes " << int(choices.passes) << ":"
        << choices.pass_size << " backwards " << choices.backwards << " base_two " << choices.base_two << ":"
        << choices.argument << " scaled " << int(choices.scaled) << " divided_before "
        << choices.divided_before << " reciprocal " << choices.reciprocal << " weights_before "
        << choices.weights_before;
    return out.str();
}

void look(Trial& trial, const Judged& judged, const std::vector<double>& got) {
    const Comparison comparison = compare(judged, got);
    if (comparison.compared == 0) return;
    if (comparison.unproved < comparison.compared) trial.judged = true;
    if (comparison.worst.ratio > trial.ratio) trial.ratio = comparison.worst.ratio;
    if (comparison.wrong != 0 && !trial.violated) {
        std::ostringstream out;
        // A NaN or infinity where nothing was promised is no violation.
        bool promised = false;
        for (std::size_t n = 0; n < got.size(); ++n)
            if (std::isfinite(judged.allowed[n]) && !(error_of(judged.exact[n], got[n]) <= judged.allowed[n]))
                promised = true;
        if (!promised) return;
        trial.violated = true;
        out << " VIOLATED " << judged.name << place_text(comparison.first_wrong.place) << " got "
            << comparison.first_wrong.got << " want " << comparison.first_wrong.want << " error "
            << comparison.first_wrong.error << " allowed " << comparison.first_wrong.allowed;
        trial.description += out.str();
    }
}

Trial attack_core(Random& random, Number number) {
    const Arithmetic told = draw_arithmetic(random, number);
    const Choices choices = draw(told, random);
    Machine machine(told, random, random.one_of({Bias::none, Bias::up, Bias::down, Bias::random}),
                    random.chance(2));
    Core core{
        .batch = 1, .heads = 1, .kv_heads = 1, .length = 1, .width = 1 + random.below(12), .value_width = 2};
    core.keys = random.chance(8) ? 64 + random.below(80) : 1 + random.below(12);
    const double size = random.one_of({1.0, 1.0, 1.0, 0.25, 4.0, 16.0, 0x1p-30, 0x1p-60});
    std::vector<double> q = numbers(random, core.width, number, size);
    std::vector<double> k = numbers(random, core.keys * core.width, number, random.chance(2) ? 1 : size);
    std::vector<double> v = numbers(random, core.keys * 2, number, random.chance(4) ? 0x1p-100 : 1);
    if (random.chance(6))  // equal keys: roundings have no mean to cancel about
        for (std::size_t n = core.width; n < k.size(); ++n)
            k[n] = k[n % core.width];
    if (random.chance(6))  // a needle
        for (std::size_t f = 0; f < core.width; ++f)
            k[random.below(core.keys) * core.width + f] = 8 * q[f];
    if (random.chance(6))
        for (double& value : v)
            value = v[0];
    for (std::vector<double>* values : {&q, &k, &v})
        hold(machine, random, *values);
    core.q = q;
    core.k = k;
    core.v = v;
    std::vector<double> bias;
    if (random.chance(3)) {
        bias = numbers(random, core.keys, number, random.one_of({1.0, 8.0, 1000.0}));
        if (random.chance(2)) bias[random.below(core.keys)] = -1e4;
        if (random.chance(4)) bias[random.below(core.keys)] = -std::numeric_limits<double>::infinity();
        hold(machine, random, bias);
        core.bias = Broadcast{.shape = {core.keys}, .values = bias};
    }
    if (random.chance(5)) core.softcap = random.one_of({0.5, 2.0, 50.0});
    if (random.chance(4)) core.scale = random.one_of({0.01, 1.0, 3.0, -0.5});
    Choices adjusted = choices;
    if (core.scale && *core.scale < 0 && adjusted.scaled == Scaled::both) core.scale = -*core.scale;
    const CoreAnswer answer = run(core, adjusted, machine);
    Trial trial;
    trial.description = describe(told, adjusted);
    const auto judged = judge(core, told, {.weights = true, .doubt = Doubt::none});
    if (!judged) {
        trial.description += " refused: " + judged.error().message;
        return trial;
    }
    look(trial, judged->y, answer.y);
    look(trial, judged->weights, answer.weights);
    return trial;
}

Trial attack_layer(Random& random, Number number) {
    const Arithmetic told = draw_arithmetic(random, number);
    const Choices choices = draw(told, random);
    Machine machine(told, random, random.one_of({Bias::none, Bias::up, Bias::down, Bias::random}),
                    random.chance(2));
    Layer layer{.batch = 1, .length = 1 + random.below(6), .width = 1 + random.below(10)};
    layer.kv_heads = 1 + random.below(2);
    layer.heads = layer.kv_heads * (1 + random.below(2));
    layer.head_width = 2 * (1 + random.below(3));
    layer.rope.pairs = random.one_of({RopePairs::interleaved, RopePairs::half});
    layer.rope.width = 2 * random.below(layer.head_width / 2 + 1);
    layer.rope.base = random.one_of({10000.0, 500000.0, 10.0, 1e6});
    layer.first_position = random.one_of<std::uint64_t>({0, 1, 17, 1000, 131072, 20000000});
    const double size = random.one_of({1.0, 1.0, 0.25, 4.0, 0x1p-30});
    const std::size_t features = layer.heads * layer.head_width, kv = layer.kv_heads * layer.head_width;
    std::vector<double> x = numbers(random, layer.length * layer.width, number, size);
    std::vector<double> wq = numbers(random, features * layer.width, number, 1);
    std::vector<double> wk = numbers(random, kv * layer.width, number, 1);
    std::vector<double> wv = numbers(random, kv * layer.width, number, 1);
    std::vector<double> wo = numbers(random, features * layer.width, number, 1);
    for (std::vector<double>* values : {&x, &wq, &wk, &wv, &wo})
        hold(machine, random, *values);
    layer.x = x;
    layer.wq = wq;
    layer.wk = wk;
    layer.wv = wv;
    layer.wo = wo;
    const LayerAnswer answer = run(layer, choices, machine);
    Trial trial;
    trial.description = describe(told, choices);
    const auto judged = judge(layer, told, {.weights = true, .doubt = Doubt::none});
    if (!judged) {
        trial.description += " refused: " + judged.error().message;
        return trial;
    }
    look(trial, judged->y, answer.y);
    look(trial, judged->keys, answer.keys);
    look(trial, judged->values, answer.values);
    look(trial, judged->weights, answer.weights);
    return trial;
}

}  // namespace

Trial attack_once(Target target, Number number, std::uint64_t seed) {
    Random random(seed);
    return target == Target::core ? attack_core(random, number) : attack_layer(random, number);
}

Campaign attack_many(Target target, Number number, std::uint64_t first_seed, std::uint64_t count) {
    Campaign campaign;
    for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
        const Trial trial = attack_once(target, number, seed);
        ++campaign.trials;
        if (trial.judged) ++campaign.judged;
        if (trial.violated) {
            if (campaign.violations++ == 0)
                campaign.first_violation = "seed " + std::to_string(seed) + ": " + trial.description;
        }
        if (trial.judged && std::isfinite(trial.ratio) && trial.ratio > campaign.worst) {
            campaign.worst = trial.ratio;
            campaign.worst_seed = seed;
            campaign.worst_description = trial.description;
        }
    }
    return campaign;
}

}  // namespace attest::reference::attack
