#include "refusals.hpp"

#include "attack/random.hpp"

#include <attest/reference/rules.hpp>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace attest::reference::refusals {
namespace {

using attack::Random;

constexpr std::size_t kHeads = 8, kWidth = 128, kModelWidth = 16, kTurned = 16;

// What a trial is drawn as.
enum class Set : unsigned char { heads_alone, grouped, layer };
constexpr Set kSets[] = {Set::heads_alone, Set::grouped, Set::layer};

const char* name_of(Set set) {
    switch (set) {
        case Set::heads_alone:
            return "8 key/value heads";
        case Set::grouped:
            return "2 key/value heads";
        case Set::layer:
            break;
    }
    return "layer, 2 key/value heads";
}

// Refusals of one rule over the trials.
struct Count {
    std::size_t refused = 0, tried = 0;
};

// By set and kernel, then by rule and length.
using Counts = std::map<std::pair<Set, Wrong>, std::vector<std::vector<Count>>>;

// The kernels of the table.
std::span<const Wrong> shown(const Options& options) {
    const std::span<const Wrong> all(kWrong);
    return options.narrow ? all.subspan(kWrongNarrow) : all.first(kWrongNarrow);
}

double held(Number type, double value) {
    const auto single = static_cast<float>(value);
    if (type == Number::bf16) {  // to nearest, ties to even
        const auto bits = std::bit_cast<std::uint32_t>(single);
        return static_cast<double>(
            std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U));
    }
    return type == Number::f64 ? value : static_cast<double>(single);
}

std::vector<double> normals(Random& random, Number type, std::size_t count, double size = 1) {
    std::vector<double> values(count);
    for (double& value : values)
        value = held(type, random.normal() * size);
    return values;
}

void add(Counts& counts, Set set, std::size_t length_index, const Options& options, const RuleTable& table) {
    for (std::size_t row = 1; row < table.rows.size(); ++row) {
        auto& cells = counts[{set, shown(options)[row - 1]}];
        cells.resize(table.rows[row].cells.size());
        for (std::size_t rule = 0; rule < cells.size(); ++rule) {
            cells[rule].resize(options.lengths.size());
            const Ruling ruling = table.rows[row].cells[rule];
            if (ruling == Ruling::not_applicable) continue;
            ++cells[rule][length_index].tried;
            if (ruling == Ruling::refuses) ++cells[rule][length_index].refused;
        }
    }
}

Arithmetic arithmetic_of(Number type) {
    if (type == Number::f32) return Arithmetic::attest<float>();
    if (type == Number::f64) return Arithmetic::attest<double>();
    return Arithmetic::foreign(type);
}

// One decode step of attention alone, out of a cache whose next slot still holds an older row.
RuleTable decode_core(Random& random, const Options& options, std::size_t kv_heads, std::size_t length) {
    const Number type = options.type;
    Core core{.batch = 1,
              .heads = kHeads,
              .kv_heads = kv_heads,
              .length = 1,
              .keys = length + 1,
              .width = kWidth,
              .value_width = kWidth};
    const std::vector<double> q = normals(random, type, kHeads * kWidth),
                              k = normals(random, type, kv_heads * core.keys * kWidth),
                              v = normals(random, type, kv_heads * core.keys * kWidth);
    core.q = q;
    core.k = k;
    core.v = v;
    core.kv_lengths = {static_cast<std::int64_t>(length)};
    const auto judged =
        judge(core, arithmetic_of(type), {.rows = {}, .weights = false, .doubt = Doubt::none});
    if (!judged) throw std::runtime_error(judged.error().message);
    const WrongKernels kernels(core, judged->bias_lowest);
    const AttentionFacts facts = facts_of(core, judged->bias_lowest, type);
    return rule_table(judged->y, type, {}, kernels, &facts, shown(options));
}

// What a dump of several answers is ruled: refused where one of them is.
RuleTable joined(const std::vector<RuleTable>& tables) {
    RuleTable all = tables.front();
    for (const RuleTable& table : tables)
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            for (std::size_t rule = 0; rule < table.rows[row].cells.size(); ++rule) {
                Ruling& cell = all.rows[row].cells[rule];
                const Ruling other = table.rows[row].cells[rule];
                if (other == Ruling::refuses || cell == Ruling::not_applicable) cell = other;
            }
    return all;
}

// A layer's dump: the last two rows of a prefix, with keys, values and weights.
RuleTable decode_layer(Random& random, const Options& options, std::size_t length) {
    const Number type = options.type;
    Layer layer{.batch = 1,
                .length = length,
                .width = kModelWidth,
                .heads = kHeads,
                .kv_heads = 2,
                .head_width = kWidth,
                .rope = {RopePairs::interleaved, kTurned, 10000.0}};
    const double shrink = 1 / std::sqrt(static_cast<double>(kModelWidth));
    const std::vector<double> x = normals(random, type, length * kModelWidth),
                              wq = normals(random, type, kHeads * kWidth * kModelWidth, shrink),
                              wk = normals(random, type, 2 * kWidth * kModelWidth, shrink),
                              wv = normals(random, type, 2 * kWidth * kModelWidth, shrink),
                              wo = normals(random, type, kHeads * kWidth * kModelWidth, 1.0 / 32);
    layer.x = x;
    layer.wq = wq;
    layer.wk = wk;
    layer.wv = wv;
    layer.wo = wo;
    const LayerOptions last{.rows = {length - 2, 2},
                            .y = true,
                            .keys = true,
                            .values = true,
                            .weights = true,
                            .doubt = Doubt::none};
    const auto judged = judge(layer, arithmetic_of(type), last);
    if (!judged) throw std::runtime_error(judged.error().message);
    const WrongKernels kernels(layer, last);
    std::vector<RuleTable> tables;
    for (const Judged* const one : {&judged->y, &judged->keys, &judged->values, &judged->weights})
        tables.push_back(rule_table(*one, type, {}, kernels, nullptr, shown(options)));
    return joined(tables);
}

// Percents by length, one number where all are equal.
std::string text_of(const std::vector<Count>& counts) {
    std::vector<std::string> parts;
    for (const Count& count : counts)
        parts.push_back(count.tried == 0 ? "n/a" : std::to_string(100 * count.refused / count.tried));
    if (std::equal(parts.begin() + 1, parts.end(), parts.begin())) return parts.front();
    return fmt::format("{}", fmt::join(parts, " / "));
}

std::vector<std::string> markdown(const Counts& counts, bool all) {
    std::string head = "| wrong kernel |", line = "| --- |";
    for (const Rule& rule : published_rules()) {
        head += fmt::format(" {} |", rule.name);
        line += " --- |";
    }
    std::vector<std::string> lines{head + " **bound** |", line + " --- |"};
    for (const auto& [place, cells] : counts) {
        const auto [set, wrong] = place;
        // In short: each kernel in the first set in which it applies.
        bool applies = false, before = false;
        for (const Count& count : cells.back())
            applies = applies || count.tried != 0;
        for (const Set other : kSets)
            if (other < set && counts.contains({other, wrong}))
                for (const Count& count : counts.at({other, wrong}).back())
                    before = before || count.tried != 0;
        if (!all && (!applies || before)) continue;
        std::string text = std::string(name_of(wrong));
        if (all || set != Set::heads_alone) text += fmt::format(" ({})", name_of(set));
        std::string one = fmt::format("| {} |", text);
        for (const std::vector<Count>& cell : cells)
            one += fmt::format(" {} |", text_of(cell));
        lines.push_back(one);
    }
    return lines;
}

}  // namespace

int run(const Options& options) {
    Counts counts;
    for (std::size_t at = 0; at < options.lengths.size(); ++at)
        for (std::size_t trial = 0; trial < options.trials; ++trial)
            for (const Set set : kSets) {
                Random random((trial * 4 + static_cast<unsigned>(set)) * 1'000'003 + options.lengths[at]);
                const std::size_t length = options.lengths[at];
                add(counts, set, at, options,
                    set == Set::layer
                        ? decode_layer(random, options, length)
                        : decode_core(random, options, set == Set::grouped ? 2 : kHeads, length));
                std::fprintf(stderr, "length %zu, trial %zu of %zu, %s\n", length, trial + 1, options.trials,
                             name_of(set));
            }

    const std::vector<std::string> lines = markdown(counts, options.all);
    for (const std::string& line : lines)
        fmt::print("{}\n", line);
    int exit = 0;
    if (!options.against.empty()) {
        std::ifstream in(options.against);
        const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        for (const std::string& line : lines)
            if (text.find(line + '\n') == std::string::npos) {
                fmt::print(stderr, "{} does not hold: {}\n", options.against, line);
                exit = 1;
            }
    }
    std::set<Wrong> applied;
    for (const auto& [place, cells] : counts)
        for (const Count& count : cells.back()) {
            if (count.tried != 0) applied.insert(place.second);
            if (!options.require || count.refused == count.tried) continue;
            fmt::print(stderr, "the bound passes {} ({}) in {} of {} trials\n", name_of(place.second),
                       name_of(place.first), count.tried - count.refused, count.tried);
            exit = 1;
        }
    for (const Wrong wrong : shown(options))
        if (options.require && !applied.contains(wrong)) {
            fmt::print(stderr, "{} applies nowhere\n", name_of(wrong));
            exit = 1;
        }
    return exit;
}

}  // namespace attest::reference::refusals
