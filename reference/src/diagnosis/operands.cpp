#include "diagnosis/operands.hpp"

#include "product_of.hpp"

#include <algorithm>
#include <cmath>

namespace attest::reference::diagnosis {
namespace {

Block block_of(std::span<const double> values, std::size_t batch, std::size_t heads, std::size_t rows,
               std::size_t width, bool flat) {
    Block block{batch, heads, rows, width, {values.begin(), values.end()}};
    if (flat && !block.data.empty()) flatten(block);
    return block;
}

Block joined(const Block& first, const Block& second) {
    Block all{second.batch, second.heads, first.rows + second.rows, second.width, {}};
    all.data.reserve(first.data.size() + second.data.size());
    const auto part = [&](const Block& block, std::size_t n) {
        const auto begin = block.data.begin() + static_cast<std::ptrdiff_t>(n * block.rows * block.width);
        all.data.insert(all.data.end(), begin, begin + static_cast<std::ptrdiff_t>(block.rows * block.width));
    };
    for (std::size_t n = 0; n < all.batch * all.heads; ++n) {
        part(first, n);
        part(second, n);
    }
    return all;
}

// Turns gives cosine and sine of pair i at a position; extended precision keeps far angles right.
struct Wheel {
    const Rope& rope;
    const Turning& turning;
    std::size_t width;  // rotated features
    std::size_t exponent_width;

    Wheel(const Rope& told, const Turning& how, std::size_t head_width)
        : rope(told),
          turning(how),
          width(how.whole_head ? head_width / 2 * 2 : told.width),
          exponent_width(how.by_head_width || how.whole_head ? head_width : told.width) {}

    std::size_t pairs() const { return width / 2; }
    std::pair<std::size_t, std::size_t> features(std::size_t pair) const {
        const bool interleaved = (rope.pairs == RopePairs::interleaved) != turning.other_pairs;
        if (interleaved) return {2 * pair, 2 * pair + 1};
        return {pair, pair + width / 2};
    }
    std::pair<double, double> angle(std::size_t pair, std::int64_t position) const {
        const long double exponent = static_cast<long double>((turning.exponent_halved ? 1 : 2) * pair) /
                                     static_cast<long double>(exponent_width);
        const auto base = static_cast<long double>(turning.base.value_or(rope.base));
        const long double phi = static_cast<long double>(position) * std::pow(base, -exponent);
        return {static_cast<double>(std::cos(phi)), static_cast<double>(std::sin(phi))};
    }
    void turn(double* features_of_head, std::size_t pair, double c, double s) const {
        if (turning.crossed) std::swap(c, s);
        if (turning.backwards) s = -s;
        const auto [one, two] = features(pair);
        for (int times = turning.twice ? 2 : 1; times > 0; --times) {
            double &a = features_of_head[one], &b = features_of_head[two];
            const double first = a * c - b * s;
            b = a * s + b * c;
            a = first;
        }
    }
};

void turn_block(Block& block, const Layer& layer, const Turning& turning) {
    if (turning.off || block.data.empty()) return;
    const Wheel wheel(layer.rope, turning, layer.head_width);
    for (std::size_t r = 0; r < block.rows - (turning.newest_off ? 1 : 0); ++r) {
        const std::int64_t first = turning.from_zero ? 0 : static_cast<std::int64_t>(layer.first_position);
        const std::int64_t position = first + static_cast<std::int64_t>(r) + turning.shift;
        for (std::size_t pair = 0; pair < wheel.pairs(); ++pair) {
            const auto [c, s] = wheel.angle(pair, position);
            for (std::size_t n = 0; n < block.batch * block.heads; ++n)
                wheel.turn(block.at(0, n, r), pair, c, s);
        }
    }
}

// The projection of x by a weight of `features` rows, [batch, length, features]. A transposed weight is the
// same numbers read as [width, features]; only a square one can be.
const std::vector<double>& project(const Layer& layer, std::span<const double> weight, bool transposed,
                                   std::map<std::tuple<const double*, bool>, std::vector<double>>& cache) {
    std::vector<double>& result = cache[{weight.data(), transposed}];
    if (!result.empty()) return result;
    const std::size_t features = weight.size() / layer.width;
    std::vector<double> turned;
    if (transposed) {
        turned.resize(weight.size());
        for (std::size_t i = 0; i < features; ++i)
            for (std::size_t j = 0; j < layer.width; ++j)
                turned[i * layer.width + j] = weight[j * features + i];
        weight = turned;
    }
    result.reserve(layer.batch * layer.length * features);
    for (std::size_t row = 0; row < layer.batch * layer.length; ++row)
        for (std::size_t i = 0; i < features; ++i)
            result.push_back(
                product_of(weight.data() + i * layer.width, layer.x.data() + row * layer.width, layer.width));
    return result;
}

Block split(const Layer& layer, const std::vector<double>& projected, std::size_t heads,
            const Suspect& suspect, bool flat) {
    const std::size_t features = heads * layer.head_width;
    Block block{layer.batch, heads, layer.length, layer.head_width, std::vector<double>(projected.size())};
    for (std::size_t b = 0; b < block.batch; ++b)
        for (std::size_t t = 0; t < block.rows; ++t)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t f = 0; f < block.width; ++f) {
                    const std::size_t feature =
                        suspect.width_first ? f * heads + h : h * layer.head_width + f;
                    block.at(b, h, t)[f] = projected[(b * layer.length + t) * features + feature];
                }
    if (flat && !block.data.empty()) flatten(block);
    return block;
}

}  // namespace

void flatten(Block& block) {
    Block told = block;
    for (std::size_t b = 0; b < block.batch; ++b) {
        double* out = block.at(b, 0, 0);
        for (std::size_t r = 0; r < block.rows; ++r)
            for (std::size_t h = 0; h < block.heads; ++h)
                out = std::copy_n(told.at(b, h, r), block.width, out);
    }
}

namespace {

// shared gives the stock's block where the suspect has it as told, and makes its own where it has not.
template <class Make>
Shared shared(Shared& told, bool as_told, const Make& make) {
    if (!as_told) return std::make_shared<const Block>(make());
    if (!told) told = std::make_shared<const Block>(make());
    return told;
}

}  // namespace

Operands operands_of(const Core& core, const Suspect& suspect, Stock& stock) {
    const bool behind = suspect.past == Past::behind;
    const auto with_past = [&](std::span<const double> past, std::span<const double> given, std::size_t width,
                               bool flat) {
        Block block = block_of(given, core.batch, core.kv_heads, core.keys, width, flat);
        if (core.past == 0) return block;
        const Block before = block_of(past, core.batch, core.kv_heads, core.past, width, false);
        return behind ? joined(block, before) : joined(before, block);
    };
    Operands operands;
    operands.q = shared(stock.q, !suspect.q_flat, [&] {
        return block_of(core.q, core.batch, core.heads, core.length, core.width, suspect.q_flat);
    });
    operands.k = shared(stock.k, !suspect.k_flat && !behind,
                        [&] { return with_past(core.past_k, core.k, core.width, suspect.k_flat); });
    operands.v = shared(stock.v, !suspect.v_flat && !behind,
                        [&] { return with_past(core.past_v, core.v, core.value_width, suspect.v_flat); });
    if (suspect.keys_for_values) std::swap(operands.k, operands.v);
    return operands;
}

Operands operands_of(const Layer& layer, const Suspect& suspect, Stock& stock) {
    const std::span<const double> weights[] = {layer.wq, layer.wk, layer.wv};
    const auto heads_of = [&](Projection from, bool transposed, std::size_t heads, bool flat,
                              const Turning& turning) {
        Block block = split(
            layer, project(layer, weights[static_cast<std::size_t>(from)], transposed, stock.projections),
            heads, suspect, flat);
        turn_block(block, layer, turning);
        return block;
    };
    const Turning still{.off = true};
    const bool plain = !suspect.width_first;
    Operands operands;
    operands.q = shared(stock.q,
                        plain && suspect.q_from == Projection::wq && !suspect.wq_transposed &&
                            !suspect.q_flat && suspect.q_turning == Turning{},
                        [&] {
                            return heads_of(suspect.q_from, suspect.wq_transposed, layer.heads,
                                            suspect.q_flat, suspect.q_turning);
                        });
    operands.k = shared(stock.k,
                        plain && suspect.k_from == Projection::wk && !suspect.wk_transposed &&
                            !suspect.k_flat && suspect.k_turning == Turning{},
                        [&] {
                            return heads_of(suspect.k_from, suspect.wk_transposed, layer.kv_heads,
                                            suspect.k_flat, suspect.k_turning);
                        });
    operands.v = shared(stock.v,
                        plain && suspect.v_from == Projection::wv && !suspect.wv_transposed &&
                            !suspect.v_flat && !suspect.values_turned,
                        [&] {
                            return heads_of(suspect.v_from, suspect.wv_transposed, layer.kv_heads,
                                            suspect.v_flat, suspect.values_turned ? Turning{} : still);
                        });
    return operands;
}

Block turned(const Rotary& rotary, const Turning& turning) {
    Block block = block_of(rotary.x, rotary.batch, rotary.heads, rotary.length, rotary.width, false);
    if (turning.off) return block;
    const Wheel wheel(rotary.rope, turning, rotary.width);
    const bool tables = !rotary.cosines.empty();
    const std::size_t pairs = rotary.rope.width / 2;
    for (std::size_t b = 0; b < rotary.batch; ++b)
        for (std::size_t t = 0; t < rotary.length; ++t) {
            const std::size_t n = b * rotary.length + t;
            const bool told = !rotary.positions.empty() && !turning.from_zero;
            const std::int64_t position =
                (told ? rotary.positions[n] : static_cast<std::int64_t>(t)) + turning.shift;
            for (std::size_t pair = 0; pair < (tables ? pairs : wheel.pairs()); ++pair) {
                auto [c, s] = tables ? std::pair(1.0, 0.0) : wheel.angle(pair, position);
                if (tables) {
                    const std::int64_t row =
                        rotary.table_rows != 0 ? position : static_cast<std::int64_t>(n) + turning.shift;
                    const std::size_t at = static_cast<std::size_t>(row) * pairs + pair;
                    if (row < 0 || at >= rotary.cosines.size()) continue;
                    c = rotary.cosines[at];
                    s = rotary.sines[at];
                }
                for (std::size_t h = 0; h < rotary.heads; ++h)
                    wheel.turn(block.at(b, h, t), pair, c, s);
            }
        }
    return block;
}

}  // namespace attest::reference::diagnosis
