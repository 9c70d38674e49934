#include "export.hpp"

#include "attest/properties/draw.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include <fmt/format.h>

namespace attest::properties {

namespace {

using Numbers = std::vector<double>;

// Numbers that a float represents, from seeds alone.
class Source {
  public:
    explicit Source(std::uint64_t seed) : choices_(seed) {}
    std::uint64_t below(std::uint64_t n) { return choices_.below(n); }
    template <std::size_t n>
    std::uint64_t pick(const std::uint64_t (&from)[n]) {
        return from[below(n)];
    }
    // A multiple of 2^-20 in [-1, 1).
    double uniform() { return std::ldexp(static_cast<double>(below(1u << 21)) - 0x1p20, -20); }
    double normal() { return uniform() + uniform() + uniform(); }
    Numbers normals(std::uint64_t count) {
        Numbers numbers(count);
        std::generate(numbers.begin(), numbers.end(), [this] { return normal(); });
        return numbers;
    }
    void scale(Numbers& numbers, int exponent) {
        for (double& number : numbers) {
            number = std::ldexp(number, exponent);
        }
    }

  private:
    SeededChoices choices_;
};

// Attention alone, before it is written: q [B, H, L, d], k [B, Hkv, S, d], v [B, Hkv, S, dv].
struct Core {
    bool narrow = false;
    std::uint64_t batch = 1, heads = 1, kv_heads = 1, rows = 1, keys = 1, width = 4, value_width = 4;
    bool causal = false;
    std::vector<std::int64_t>
        lengths;  // [B]: columns from there on are hidden; with causal, rows are the last
    Numbers q, k, v;
    double poison = 0;  // written where no row looks

    double& q_at(std::uint64_t b, std::uint64_t h, std::uint64_t i, std::uint64_t f) {
        return q[((b * heads + h) * rows + i) * width + f];
    }
    double& k_at(std::uint64_t b, std::uint64_t g, std::uint64_t j, std::uint64_t f) {
        return k[((b * kv_heads + g) * keys + j) * width + f];
    }
    double& v_at(std::uint64_t b, std::uint64_t g, std::uint64_t j, std::uint64_t f) {
        return v[((b * kv_heads + g) * keys + j) * value_width + f];
    }
    std::uint64_t length(std::uint64_t b) const {
        return lengths.empty() ? keys : static_cast<std::uint64_t>(lengths[b]);
    }
    // DUMP: row i sees column j when j ≤ i + offset; offset = kv_lengths[b] − L, or 0.
    bool visible(std::uint64_t b, std::uint64_t i, std::uint64_t j) const {
        const std::uint64_t offset = lengths.empty() ? 0 : length(b) - rows;
        return j < length(b) && (!causal || j <= i + offset);
    }
    void fill(Source& source) {
        q = source.normals(batch * heads * rows * width);
        k = source.normals(batch * kv_heads * keys * width);
        v = source.normals(batch * kv_heads * keys * value_width);
    }
};

// H ≠ L ≠ S ≠ d ≠ dv, and all grouped ways.
void draw_shape(Core& core, Source& source) {
    core.narrow = source.below(2) == 0;
    core.batch = 1 + source.below(2);
    core.kv_heads = source.pick({1, 2, 3, 1});
    core.heads = core.kv_heads * source.pick({1, 2, 3, 4});
    core.width = source.pick({4, 8, 6, 16, 7, 17, 64, 80});
    core.value_width = source.below(3) == 0 ? core.width + 1 : core.width;
    core.rows = source.pick({1, 2, 5, 1});
    core.keys = core.rows + source.pick({1, 4, 9, 12});
}

// Every query points at key `needle` of its group: its score stands `gap` above the others.
void point_at(Core& core, std::uint64_t b, std::uint64_t needle, double strength) {
    for (std::uint64_t g = 0; g < core.kv_heads; ++g) {
        for (std::uint64_t f = 0; f < core.width; ++f) {
            core.k_at(b, g, needle, f) = (f % 2 == 0 ? 1 : -1) * strength;
        }
    }
    for (std::uint64_t h = 0; h < core.heads; ++h) {
        for (std::uint64_t i = 0; i < core.rows; ++i) {
            for (std::uint64_t f = 0; f < core.width; ++f) {
                core.q_at(b, h, i, f) = (f % 2 == 0 ? 1 : -1) + std::ldexp(core.q_at(b, h, i, f), -4);
            }
        }
    }
}

struct Family {
    const char* name;
    void (*make)(Core& core, Source& source);
};

// The rows are the last of their sequences: what a decoding step sees.
void decode(Core& core, Source& source) {
    core.causal = true;
    for (std::uint64_t b = 0; b < core.batch; ++b) {
        core.lengths.push_back(
            static_cast<std::int64_t>(core.rows + source.below(core.keys - core.rows + 1)));
    }
}

// The last columns of every sequence are hidden, and hold what no answer may depend on.
void hide_columns(Core& core, Source& source, std::uint64_t count, double poison) {
    core.keys += count;
    decode(core, source);
    for (std::int64_t& length : core.lengths) {
        length = std::min(length, static_cast<std::int64_t>(core.keys - count));
    }
    core.fill(source);
    core.poison = poison;
}

constexpr std::uint64_t kEdges[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};

constexpr std::array<Family, 20> kFamilies = {{
    {"newest_key_has_all",
     [](Core& core, Source& source) {
         decode(core, source);
         core.rows = 1;
         core.fill(source);
         for (std::uint64_t b = 0; b < core.batch; ++b) {
             point_at(core, b, core.length(b) - 1, 8);
         }
     }},
    {"first_key_has_all",
     [](Core& core, Source& source) {
         decode(core, source);
         core.fill(source);
         for (std::uint64_t b = 0; b < core.batch; ++b) {
             point_at(core, b, 0, 8);
         }
     }},
    {"key_before_a_block_edge_has_all",
     [](Core& core, Source& source) {
         core.keys = source.pick({64, 65, 128, 129});
         decode(core, source);
         std::fill(core.lengths.begin(), core.lengths.end(), static_cast<std::int64_t>(core.keys));
         core.fill(source);
         for (std::uint64_t b = 0; b < core.batch; ++b) {
             point_at(core, b, source.pick({62, 63, core.keys - 1}), 8);
         }
     }},
    {"two_keys_tie",
     [](Core& core, Source& source) {
         core.fill(source);
         for (std::uint64_t b = 0; b < core.batch; ++b) {
             point_at(core, b, 0, 4);
             point_at(core, b, core.keys - 1, 4);
             for (std::uint64_t i = 0; i < core.q.size(); ++i) {
                 core.q[i] = i % core.width % 2 == 0 ? 1 : -1;
             }
         }
     }},
    {"equal_keys",
     [](Core& core, Source& source) {
         core.fill(source);
         for (std::uint64_t i = 0; i < core.k.size(); ++i) {
             core.k[i] = core.k[i % core.width];
         }
     }},
    {"equal_values",
     [](Core& core, Source& source) {
         core.fill(source);
         for (std::uint64_t i = 0; i < core.v.size(); ++i) {
             core.v[i] = core.v[i % core.value_width];
         }
     }},
    {"scores_below_any_sentinel",
     [](Core& core, Source& source) {
         // Every score near -2^17 (float) or -2^35 (double): below -1e4, below -1e9.
         core.fill(source);
         const int exponent = core.narrow ? 9 : 18;
         for (std::uint64_t i = 0; i < core.q.size(); ++i) {
             core.q[i] = std::ldexp(1 + std::abs(core.q[i]) / 64, exponent - 1);
         }
         for (std::uint64_t i = 0; i < core.k.size(); ++i) {
             core.k[i] = std::ldexp(-1 - std::abs(core.k[i]) / 0x1p14, exponent - 1);
         }
     }},
    {"scores_above_the_range_of_exp",
     [](Core& core, Source& source) {
         core.fill(source);
         for (std::uint64_t b = 0; b < core.batch; ++b) {
             point_at(core, b, source.below(core.keys), core.narrow ? 64 : 512);
         }
     }},
    {"quiet_nan_in_hidden_columns",
     [](Core& core, Source& source) {
         hide_columns(core, source, 3, std::bit_cast<double>(std::uint64_t{0x7ff8dead00000000}));
     }},
    {"infinity_in_hidden_columns",
     [](Core& core, Source& source) {
         hide_columns(core, source, 3, std::numeric_limits<double>::infinity());
     }},
    {"huge_numbers_in_hidden_columns",
     [](Core& core, Source& source) { hide_columns(core, source, 2, core.narrow ? 0x1.8p+127 : 1e300); }},
    {"keys_at_a_block_edge",
     [](Core& core, Source& source) {
         core.rows = source.below(2) == 0 ? 1 : 2;
         core.keys = std::max(core.rows, source.pick(kEdges));
         core.heads = core.kv_heads = source.pick({1, 2});
         core.batch = 1;
         decode(core, source);
         core.lengths[0] = static_cast<std::int64_t>(core.keys);
         core.fill(source);
     }},
    {"queries_at_a_block_edge",
     [](Core& core, Source& source) {
         core.rows = source.pick({31, 32, 33, 63, 64, 65});
         core.keys = core.rows;
         core.heads = core.kv_heads = core.batch = 1;
         core.width = core.value_width = 8;
         core.causal = true;
         core.fill(source);
     }},
    {"long_past",
     [](Core& core, Source& source) {
         core.rows = 1;
         core.keys = source.pick({1023, 1025, 2049});
         core.heads = core.kv_heads = core.batch = 1;
         core.width = core.value_width = 8;
         decode(core, source);
         core.lengths[0] = static_cast<std::int64_t>(core.keys);
         core.fill(source);
     }},
    {"chunk_behind_a_past",
     [](Core& core, Source& source) {
         core.rows = 2 + source.below(3);
         core.keys = core.rows + 4;
         decode(core, source);
         std::fill(core.lengths.begin(), core.lengths.end(), static_cast<std::int64_t>(core.keys));
         core.fill(source);
     }},
    {"one_key",
     [](Core& core, Source& source) {
         core.rows = core.keys = 1;
         core.fill(source);
     }},
    {"grouped_heads_of_distinct_keys",
     [](Core& core, Source& source) {
         core.kv_heads = 2;
         core.heads = source.pick({4, 6});
         core.rows = 3;
         core.keys = 5;
         core.causal = true;
         core.fill(source);
     }},
    {"cancelling_values",
     [](Core& core, Source& source) {
         core.fill(source);
         for (std::uint64_t i = 0; i < core.v.size(); ++i) {
             // Neighbouring keys have values that nearly cancel.
             const double sign = i / core.value_width % 2 == 0 ? 1 : -1;
             core.v[i] = sign * (300 + core.v[i] / 0x1p6);
         }
     }},
    {"huge_values",
     [](Core& core, Source& source) {
         core.fill(source);
         source.scale(core.v, core.narrow ? 110 : 1000);
     }},
    {"tiny_and_subnormal_numbers",
     [](Core& core, Source& source) {
         core.fill(source);
         source.scale(core.v, core.narrow ? -128 : -1024);
         // What is below the least subnormal number is cut, so that the dump holds what it says.
         for (double& value : core.v) {
             value = core.narrow ? static_cast<double>(static_cast<float>(value)) : value;
         }
     }},
}};

dump::NewTensor floats(std::string name, std::vector<std::uint64_t> shape, const Numbers& numbers,
                       bool narrow) {
    if (!narrow)
        return dump::make_tensor(std::move(name), std::move(shape), std::span<const double>(numbers));
    const std::vector<float> elements(numbers.begin(), numbers.end());
    return dump::make_tensor(std::move(name), std::move(shape), std::span<const float>(elements));
}

Exported written(std::string name, Core& core) {
    Exported out;
    out.name = std::move(name);
    dump::NewTensor mask;
    mask.name = "mask";
    mask.dtype = dump::Dtype::BOOL;
    mask.shape = {core.batch, 1, core.rows, core.keys};
    for (std::uint64_t b = 0; b < core.batch; ++b) {
        for (std::uint64_t i = 0; i < core.rows; ++i) {
            for (std::uint64_t j = 0; j < core.keys; ++j) {
                mask.bytes.push_back(core.visible(b, i, j) ? std::byte{1} : std::byte{0});
            }
        }
        if (core.poison == 0) continue;
        for (std::uint64_t j = core.length(b); j < core.keys; ++j) {
            for (std::uint64_t g = 0; g < core.kv_heads; ++g) {
                for (std::uint64_t f = 0; f < core.width; ++f) {
                    core.k_at(b, g, j, f) = core.poison;
                }
                for (std::uint64_t f = 0; f < core.value_width; ++f) {
                    core.v_at(b, g, j, f) = core.poison;
                }
            }
        }
    }
    // Tensors of many bytes an element first, so that all are aligned.
    if (!core.lengths.empty()) {
        out.tensors.push_back(
            dump::make_tensor("kv_lengths", {core.batch}, std::span<const std::int64_t>(core.lengths)));
    }
    out.tensors.push_back(floats("q", {core.batch, core.heads, core.rows, core.width}, core.q, core.narrow));
    out.tensors.push_back(
        floats("k", {core.batch, core.kv_heads, core.keys, core.width}, core.k, core.narrow));
    out.tensors.push_back(
        floats("v", {core.batch, core.kv_heads, core.keys, core.value_width}, core.v, core.narrow));
    out.tensors.push_back(std::move(mask));
    out.metadata = {{"attest", "core"}, {"causal", core.causal ? "1" : "0"}, {"source", out.name}};
    return out;
}

Exported exported_core(std::uint64_t number, Source& source) {
    const Family& family = kFamilies[number % kFamilies.size()];
    Core core;
    draw_shape(core, source);
    family.make(core, source);
    return written(family.name, core);
}

Exported exported_rotary(std::uint64_t, Source& source) {
    const bool narrow = source.below(2) == 0;
    const std::uint64_t batch = 1 + source.below(2);
    const std::uint64_t heads = source.pick({1, 2, 3});
    const std::uint64_t rows = source.pick({1, 2, 5});
    const std::uint64_t width = source.pick({4, 8, 16, 64});
    const std::uint64_t turned = source.below(3) == 0 ? width / 2 : width;
    constexpr std::uint64_t kFirsts[] = {0, 1, 63, 64, 257, 2048, 2049, 4096, 65535, 65537, (1u << 17) - 8};
    std::vector<std::int64_t> positions;
    for (std::uint64_t b = 0; b < batch; ++b) {
        const std::uint64_t first = source.pick(kFirsts);
        for (std::uint64_t i = 0; i < rows; ++i) {
            positions.push_back(static_cast<std::int64_t>(first + i));
        }
    }
    const std::array<const char*, 4> bases = {"10000", "500000", "5000000", "100"};
    const bool half = source.below(2) == 0;
    Exported out;
    out.name = fmt::format("{}_positions_up_to_{}", half ? "half" : "interleaved",
                           *std::max_element(positions.begin(), positions.end()));
    out.tensors.push_back(
        dump::make_tensor("positions", {batch, rows}, std::span<const std::int64_t>(positions)));
    out.tensors.push_back(
        floats("x", {batch, heads, rows, width}, source.normals(batch * heads * rows * width), narrow));
    out.metadata = {{"attest", "rotary"},
                    {"rope_base", bases[source.below(bases.size())]},
                    {"rope_width", fmt::format("{}", turned)},
                    {"rope_pairs", half ? "half" : "interleaved"},
                    {"source", out.name}};
    return out;
}

}  // namespace

bool is_export_kind(std::string_view kind) {
    return kind == "core" || kind == "rotary";
}

Exported exported(std::string_view kind, std::uint64_t number, std::uint64_t seed) {
    // Seeds of neighbouring numbers are mixed well apart by the first draw.
    Source source(seed + number * 0x9e3779b97f4a7c15);
    return kind == "core" ? exported_core(number, source) : exported_rotary(number, source);
}

std::optional<std::string> export_dumps(std::string_view kind, std::uint64_t count, std::uint64_t seed,
                                        const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return folder + " can't be made: " + error.message();
    for (std::uint64_t number = 0; number < count; ++number) {
        const Exported one = exported(kind, number, seed);
        const auto path =
            std::filesystem::path(folder) / fmt::format("{:04}_{}.safetensors", number, one.name);
        if (const auto wrong = dump::write_safetensors(path.string(), one.tensors, one.metadata)) {
            return wrong->text();
        }
    }
    return std::nullopt;
}

}  // namespace attest::properties
