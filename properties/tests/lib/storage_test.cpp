// bf16 and f16: every pattern in both directions, by doubles that hold all of their sums exactly; and layers
// that store so, which compute as if everything had been rounded first.
#include <gtest/gtest.h>

#include <attest/attest.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../src/kernels.hpp"
#include "counting_memory.hpp"
#include "fixture.hpp"
#include "order.hpp"

namespace attest {
namespace {

using test::refusal;
using tests::bits;

constexpr KvStorage kNarrow[] = {KvStorage::bf16, KvStorage::f16};

struct Format {
    KvStorage storage;
    int fraction_bits;
    int bias;
};
constexpr Format kFormats[] = {{KvStorage::bf16, 7, 127}, {KvStorage::f16, 10, 15}};

// What 15 bits of magnitude say, by IEEE 754's own words; NaN for NaN.
double meaning(const Format& format, unsigned magnitude) {
    const unsigned fraction = magnitude & ((1U << format.fraction_bits) - 1);
    const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
    if (exponent == 2 * format.bias + 1) {
        return fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    }
    const int one = 1 << format.fraction_bits;
    const int units = static_cast<int>(fraction) + (exponent == 0 ? 0 : one);
    return std::ldexp(units, std::max(exponent, 1) - format.bias - format.fraction_bits);
}

TEST(Storage, EveryPatternWidensToWhatItSaysAndComesBack) {
    for (const Format& format : kFormats) {
        for (unsigned pattern = 0; pattern < 0x10000U; ++pattern) {
            const auto stored = static_cast<std::uint16_t>(pattern);
            const float wide = widen(stored, format.storage);
            const double value = meaning(format, pattern & 0x7fffU);
            EXPECT_EQ(std::signbit(wide), (pattern & 0x8000U) != 0);
            const std::uint16_t back = narrow(wide, format.storage);
            if (std::isnan(value)) {
                const unsigned quiet = 1U << (format.fraction_bits - 1);
                EXPECT_TRUE(std::isnan(wide)) << pattern;
                EXPECT_NE(bits(wide) & 0x400000U, 0U) << "signalling: " << pattern;
                EXPECT_EQ(back, pattern | quiet);
            } else {
                ASSERT_EQ(static_cast<double>(std::fabs(wide)), value) << name(format.storage) << pattern;
                EXPECT_EQ(back, pattern) << name(format.storage);
            }
        }
    }
}

// From each pattern to the next: the middle goes to the even one, and a float on either side of it to its
// own.
TEST(Storage, EveryPatternIsTheNearestOfItsNeighbourhoodTiesToEven) {
    for (const Format& format : kFormats) {
        const unsigned infinity = static_cast<unsigned>(2 * format.bias + 1) << format.fraction_bits;
        for (unsigned low = 0; low < infinity; ++low) {
            const double below = meaning(format, low);
            // Beyond the largest stands what the next number would be, and rounding there is to infinity.
            const double above =
                low + 1 == infinity ? below + (below - meaning(format, low - 1)) : meaning(format, low + 1);
            const auto middle = static_cast<float>((below + above) / 2);
            ASSERT_EQ(static_cast<double>(middle), (below + above) / 2) << "not a float";
            const unsigned even = low % 2 == 0 ? low : low + 1;
            for (const unsigned sign : {0U, 0x8000U}) {
                const float turned = sign == 0 ? 1.0F : -1.0F;
                const auto got = [&](float value) { return narrow(value * turned, format.storage) ^ sign; };
                ASSERT_EQ(got(middle), even) << name(format.storage) << ' ' << low;
                ASSERT_EQ(got(std::nextafter(middle, 0.0F)), low) << name(format.storage);
                ASSERT_EQ(got(std::nextafter(middle, HUGE_VALF)), low + 1) << name(format.storage);
                // A random float between, too, goes where it is nearer.
                const auto near = static_cast<float>(below + (above - below) * 0.3125);
                ASSERT_EQ(got(near), static_cast<double>(near) < static_cast<double>(middle) ? low : low + 1);
            }
        }
    }
}

// ---- layers

constexpr AttentionGeometry kWide{24, 4, 2, 20};
constexpr std::size_t kRows = 150;  // beyond two blocks of positions

MultiHeadAttention<float> layer_of(const AttentionGeometry& geometry, KvStorage storage) {
    const auto rotary = *Rotary<float>::make({4, 512, 10000.0, RotaryPairs::interleaved});
    return *MultiHeadAttention<float>::from_seed(11, geometry, rotary)->stored_as(storage);
}

struct Rows {
    std::vector<float> x;
    std::size_t batch;
    std::size_t rows;
    std::size_t width;

    Rows(std::size_t batches, std::size_t count, std::size_t model_width)
        : x(test::values<float>(batches * count * model_width, 9)),
          batch(batches),
          rows(count),
          width(model_width) {}
    [[nodiscard]] TensorView<const float> all() const {
        return *TensorView<const float>::over(x, Shape{batch, rows, width});
    }
    [[nodiscard]] TensorView<const float> part(std::size_t first, std::size_t count) const {
        return *all().slice(1, first, count);
    }
};

std::vector<std::uint64_t> bits_of(std::span<const float> values) {
    std::vector<std::uint64_t> all;
    for (const float value : values)
        all.push_back(bits(value));
    return all;
}

// Decodes `rows` in the chunks given, 1 for single rows, and then one by one.
std::vector<std::uint64_t> cached(const MultiHeadAttention<float>& layer, const Rows& rows,
                                  const std::vector<std::size_t>& chunks, Executor& executor) {
    auto cache = *LayerKvCache<float>::make(layer, rows.batch, rows.rows + 3);
    auto y = *Tensor<float>::zeros(rows.all().shape());
    std::size_t first = 0;
    const auto next = [&](std::size_t count) {
        const auto to = *y.view().slice(1, first, count);
        const auto done = count == 1
                              ? layer.forward_incremental(rows.part(first, 1), cache, to, executor)
                              : layer.prefill(rows.part(first, count), cache, to, default_memory(), executor);
        EXPECT_EQ(refusal(done), "");
        first += count;
    };
    for (const std::size_t chunk : chunks)
        next(chunk);
    while (first < rows.rows)
        next(1);
    return bits_of(y.span());
}

TEST(Storage, CachedRowsHaveTheBitsOfTheFullPrefixWhateverTheChunksThreadsAndKernels) {
    const char* const old = std::getenv("ATTEST_SIMD");
    const std::string saved = old == nullptr ? "" : old;
    auto pool = *ThreadPool::make(3);
    for (const AttentionGeometry& geometry :
         {kWide, AttentionGeometry{8, 1, 1, 64}, AttentionGeometry{8, 6, 2, 64},
          AttentionGeometry{8, 1, 1, 128}, AttentionGeometry{16, 8, 1, 16}, AttentionGeometry{5, 2, 2, 37}}) {
        const Rows rows(2, kRows, geometry.model_width);
        for (const KvStorage storage : kNarrow) {
            std::vector<std::uint64_t> first;
            for (const auto* const kernels : detail::available_kernels<float>()) {
                setenv("ATTEST_SIMD", std::string(kernels->name).c_str(), 1);
                const auto layer = layer_of(geometry, storage);
                const auto full = bits_of(layer.forward(rows.all())->span());
                const auto where = std::string(kernels->name) + ' ' + std::string(name(storage)) + ' ' +
                                   std::to_string(geometry.head_width);
                if (first.empty()) first = full;
                ASSERT_EQ(full, first) << where;
                ASSERT_EQ(cached(layer, rows, {}, serial_executor()), full) << where;
                ASSERT_EQ(cached(layer, rows, {40, 1, 65, 3}, serial_executor()), full) << where;
                ASSERT_EQ(cached(layer, rows, {100}, pool), full) << where;
            }
        }
    }
    saved.empty() ? unsetenv("ATTEST_SIMD") : setenv("ATTEST_SIMD", saved.c_str(), 1);
}

// The contract itself: with the keys and values of a layer that rounds nothing, each rounded, and then the
// plain order of sums.hpp in float.
TEST(Storage, HasTheBitsOfRoundingFirstAndComputingInFloat) {
    const auto& kernels = detail::portable_kernels<float>();
    const std::size_t d = kWide.head_width;
    const Rows rows(1, kRows, kWide.model_width);
    for (const KvStorage storage : kNarrow) {
        const auto plain = layer_of(kWide, KvStorage::computing);
        const auto layer = *plain.stored_as(storage);
        auto wide_cache = *LayerKvCache<float>::make(plain, 1, kRows);
        auto cache = *LayerKvCache<float>::make(layer, 1, kRows);
        for (std::size_t row = 0; row < kRows; ++row) {
            ASSERT_TRUE(plain.forward_incremental_with_evidence(rows.part(row, 1), wide_cache));
            const auto evidence = *layer.forward_incremental_with_evidence(rows.part(row, 1), cache);
            const auto wide_keys = *wide_cache.keys();
            const auto wide_values = *wide_cache.values();
            std::vector<float> keys(wide_keys.size());
            std::vector<float> values(wide_keys.size());
            for (std::size_t i = 0; i < keys.size(); ++i) {
                keys[i] = widen(narrow(wide_keys.span()[i], storage), storage);
                values[i] = widen(narrow(wide_values.span()[i], storage), storage);
            }
            ASSERT_EQ(bits_of(cache.keys()->span()), bits_of(keys));
            ASSERT_EQ(bits_of(cache.values()->span()), bits_of(values));
            for (std::size_t head = 0; head < kWide.heads; ++head) {
                const std::size_t n = row + 1;
                const std::size_t lane = head / (kWide.heads / kWide.kv_heads) * n * d;
                const float* const q = evidence.rotated_queries.span().data() + head * d;
                const float scale = 1.0F / std::sqrt(static_cast<float>(d));
                std::vector<float> w(n);
                for (std::size_t j = 0; j < n; ++j)
                    w[j] = tests::naive_dot(q, keys.data() + lane + j * d, d) * scale;
                kernels.exponentials(w.data(), w.data(), n, kernels.maximum(w.data(), n));
                const float sum = tests::naive_sum(w.data(), n);
                for (std::size_t f = 0; f < d; ++f) {
                    const float mixed = tests::naive_mix(
                        w.data(), n, [&](std::size_t j) { return values[lane + j * d + f]; });
                    ASSERT_EQ(bits(evidence.head_outputs.span()[head * d + f]), bits(mixed / sum))
                        << name(storage) << " row " << row << " head " << head;
                }
            }
        }
    }
}

TEST(Storage, WhatRoundsBeyondTheRangeIsRefusedAndNothingChanges) {
    struct Range {
        KvStorage storage;
        float largest;  // that rounds to a finite number
    };
    const Range ranges[] = {{KvStorage::f16, std::nextafter(65520.0F, 0.0F)},
                            {KvStorage::bf16, std::bit_cast<float>(0x7f7f7fffU)}};
    // One head of width 2 over identities: key and value are the row itself; nothing turns.
    const float one[] = {1, 0, 0, 1};
    const auto weight = [&](float scale) {
        const float values[] = {one[0] * scale, 0, 0, one[3] * scale};
        return *Parameter<float>::make(*TensorView<const float>::over(values, Shape{2, 2}));
    };
    for (const Range& range : ranges) {
        for (const bool key : {true, false}) {
            const float beyond = std::nextafter(range.largest, HUGE_VALF);
            // The other of the two stays small.
            const auto layer = *MultiHeadAttention<float>::from_parameters(
                                    weight(0), weight(key ? 1.0F : 0x1p-120F), weight(key ? 0x1p-120F : 1.0F),
                                    weight(1), 1, 1, *Rotary<float>::make({0, 8}))
                                    ->stored_as(range.storage);
            auto cache = *LayerKvCache<float>::make(layer, 1, 4);
            const auto row = [](float second) { return std::vector<float>{0.5F, second}; };
            const auto step = [&](std::vector<float> x, LayerKvCache<float>& to) {
                const auto view = *TensorView<float>::over(x, Shape{1, 1, 2});
                return layer.forward_incremental(view, to, view);
            };
            ASSERT_EQ(refusal(step(row(1), cache)), "");
            auto before = *cache.copy();
            for (const float sign : {1.0F, -1.0F}) {
                const auto refused = step(row(sign * beyond), cache);
                ASSERT_EQ(refusal(refused), "StorageOverflow") << name(range.storage) << key;
                const auto* const overflow = refused.error().get_if<StorageOverflow>();
                EXPECT_EQ(overflow->stage, key ? Stage::key_storage : Stage::value_storage);
                EXPECT_EQ(overflow->index, 1U);
                EXPECT_EQ(overflow->value, static_cast<double>(sign * beyond));
                EXPECT_TRUE(cache == cache && cache.same_bytes(before));
                std::vector<float> prefix = {0.5F, 1, 0.5F, sign * beyond};
                const auto view = *TensorView<const float>::over(prefix, Shape{1, 2, 2});
                EXPECT_EQ(refusal(layer.forward(view)), "StorageOverflow");
                auto fresh = *LayerKvCache<float>::make(layer, 1, 4);
                auto y = *Tensor<float>::zeros(Shape{1, 2, 2});
                const auto refused_prefill = layer.prefill(view, fresh, y.view());
                ASSERT_EQ(refusal(refused_prefill), "StorageOverflow");
                EXPECT_EQ(refused_prefill.error().get_if<StorageOverflow>()->index, 3U);
                EXPECT_EQ(fresh.length(), 0U);
            }
            // The retry is as if nothing had been refused, and the largest that fits is taken.
            ASSERT_EQ(refusal(step(row(range.largest), cache)), "");
            ASSERT_EQ(refusal(step(row(range.largest), before)), "");
            EXPECT_TRUE(cache.same_bytes(before));
        }
    }
}

TEST(Storage, KeysAreRefusedBeforeValuesAndBothAfterWhatIsNotFinite) {
    const auto huge = [](float scale) {
        const float values[] = {scale};
        return *Parameter<float>::make(*TensorView<const float>::over(values, Shape{1, 1}));
    };
    const auto code = [&](float wk, float wv, float x) {
        const auto layer = *MultiHeadAttention<float>::from_parameters(huge(1), huge(wk), huge(wv), huge(1),
                                                                       1, 1, *Rotary<float>::make({0, 8}))
                                ->stored_as(KvStorage::f16);
        const float row[] = {x};
        const auto refused = layer.forward(*TensorView<const float>::over(row, Shape{1, 1, 1}));
        return std::string(refusal(refused)) +
               (refused || !refused.error().is<StorageOverflow>()
                    ? ""
                    : std::string(name(refused.error().get_if<StorageOverflow>()->stage)));
    };
    EXPECT_EQ(code(1e5F, 1e5F, 1), "StorageOverflowkey storage");
    EXPECT_EQ(code(1, 1e5F, 1), "StorageOverflowvalue storage");
    EXPECT_EQ(code(1e5F, 1e38F, 10), "NonFiniteProjection");
    EXPECT_EQ(code(1, 1, 2), "");
}

TEST(Storage, ALayerAndItsCacheStoreAlike) {
    const auto plain = layer_of(kWide, KvStorage::computing);
    const auto narrow_layer = *plain.stored_as(KvStorage::f16);
    EXPECT_EQ(narrow_layer.storage(), KvStorage::f16);
    const auto cache = *LayerKvCache<float>::make(narrow_layer, 1, 4);
    EXPECT_EQ(cache.storage(), KvStorage::f16);
    const auto refused = plain.check_binding(cache);
    ASSERT_EQ(refusal(refused), "CacheStorageMismatch");
    EXPECT_EQ(refused.error().get_if<CacheStorageMismatch>()->cache, KvStorage::f16);
    EXPECT_EQ(refused.error().get_if<CacheStorageMismatch>()->layer, KvStorage::computing);
    EXPECT_EQ(refusal(narrow_layer.stored_as(KvStorage::bf16)->check_binding(cache)), "CacheStorageMismatch");
    EXPECT_EQ(refusal(narrow_layer.check_binding(cache)), "");
    EXPECT_EQ(refusal(test::layer<double>().stored_as(KvStorage::bf16)), "StorageUnsupported");
    EXPECT_EQ(test::layer<double>().stored_as(KvStorage::computing)->storage(), KvStorage::computing);
    const auto wide = *LayerKvCache<float>::make(plain, 1, 4);
    EXPECT_FALSE(wide == cache);
    EXPECT_FALSE(wide.same_bytes(cache));
}

TEST(Storage, ANarrowCacheTakesHalfTheBytesAndAStepAllocatesNothing) {
    const Rows rows(2, 8, kWide.model_width);
    const auto bytes = [&](KvStorage storage) {
        test::CountingMemory memory;
        const auto layer = layer_of(kWide, storage);
        auto cache = *LayerKvCache<float>::make(layer, 2, 300, 0, memory);
        auto y = *Tensor<float>::zeros(Shape{2, 1, kWide.model_width});
        const std::size_t calls = memory.calls;
        for (std::size_t row = 0; row < 8; ++row)
            EXPECT_TRUE(layer.forward_incremental(rows.part(row, 1), cache, y.view()));
        EXPECT_EQ(memory.calls, calls);
        return memory.live_bytes;
    };
    const std::size_t stored = 2 * std::size_t{2} * kWide.kv_heads * 300 * kWide.head_width;
    EXPECT_EQ(bytes(KvStorage::computing) - bytes(KvStorage::bf16), stored * 2);
    EXPECT_EQ(bytes(KvStorage::bf16), bytes(KvStorage::f16));
}

TEST(Storage, CopiesSnapshotsTicketsAndRawReadsSeeTheRoundedRows) {
    const Rows rows(2, 6, kWide.model_width);
    for (const KvStorage storage : kNarrow) {
        const auto layer = layer_of(kWide, storage);
        auto cache = *LayerKvCache<float>::make(layer, 2, 5);
        auto y = *Tensor<float>::zeros(Shape{2, 1, kWide.model_width});
        for (std::size_t row = 0; row < 3; ++row)
            ASSERT_TRUE(layer.forward_incremental(rows.part(row, 1), cache, y.view()));
        EXPECT_TRUE(cache.key_storage().empty());
        EXPECT_TRUE(cache.value_storage().empty());
        EXPECT_EQ(cache.keys_view().size(), 0U);
        EXPECT_EQ(cache.values_view().size(), 0U);
        const auto keys = *cache.keys();
        const auto values = *cache.values();
        ASSERT_EQ(keys.shape(), (Shape{2, kWide.kv_heads, 3, kWide.head_width}));
        std::size_t flat = 0;
        for (std::size_t lane = 0; lane < 2 * kWide.kv_heads; ++lane) {
            for (std::size_t i = 0; i < 3 * kWide.head_width; ++i, ++flat) {
                const std::size_t raw = lane * 5 * kWide.head_width + i;
                ASSERT_EQ(bits(keys.span()[flat]), bits(widen(cache.narrow_key_storage()[raw], storage)));
                ASSERT_EQ(bits(values.span()[flat]), bits(widen(cache.narrow_value_storage()[raw], storage)));
            }
        }
        auto copied = *cache.copy();
        EXPECT_TRUE(copied == cache && copied.same_bytes(cache));
        // A ticket: commit it in one, append the same row to the other.
        const auto ticket = *layer.prepare(rows.part(3, 1), cache, y.view());
        EXPECT_TRUE(copied == cache);
        ASSERT_TRUE(cache.commit(ticket));
        EXPECT_FALSE(copied == cache);
        ASSERT_TRUE(layer.forward_incremental(rows.part(3, 1), copied, y.view()));
        EXPECT_TRUE(copied == cache && copied.same_bytes(cache));
        // Reset and replay; what lies beyond the length is not read, and not compared.
        copied.reset();
        for (std::size_t row = 0; row < 3; ++row)
            ASSERT_TRUE(layer.forward_incremental(rows.part(row, 1), copied, y.view()));
        EXPECT_EQ(bits_of(copied.keys()->span()), bits_of(keys.span()));
        copied.reset();
        ASSERT_TRUE(layer.forward_incremental(rows.part(4, 1), copied, y.view()));
        cache.reset();
        ASSERT_TRUE(layer.forward_incremental(rows.part(5, 1), cache, y.view()));
        EXPECT_FALSE(copied == cache);
    }
}

TEST(Storage, DeadSlotsAreDead) {
    const Rows rows(1, 70, kWide.model_width);
    for (const KvStorage storage : kNarrow) {
        const auto layer = layer_of(kWide, storage);
        auto clean = *LayerKvCache<float>::make(layer, 1, 80);
        auto dirty = *LayerKvCache<float>::make(layer, 1, 80);
        for (const auto span : {dirty.narrow_key_storage(), dirty.narrow_value_storage()}) {
            // A NaN in every slot, before the first row.
            std::fill_n(const_cast<std::uint16_t*>(span.data()), span.size(), std::uint16_t{0x7fff});
        }
        for (std::size_t row = 0; row < 70; ++row) {
            auto y = *Tensor<float>::zeros(Shape{1, 1, kWide.model_width});
            auto z = *Tensor<float>::zeros(Shape{1, 1, kWide.model_width});
            ASSERT_TRUE(layer.forward_incremental(rows.part(row, 1), clean, y.view()));
            ASSERT_TRUE(layer.forward_incremental(rows.part(row, 1), dirty, z.view()));
            ASSERT_EQ(bits_of(y.span()), bits_of(z.span()));
        }
        EXPECT_TRUE(clean == dirty);
        EXPECT_FALSE(clean.same_bytes(dirty));
    }
}

}  // namespace
}  // namespace attest
