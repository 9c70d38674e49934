// Keys and values in bf16 and f16: every table of kernels gives, bit for bit, what the portable one makes of
// the same rows widened first.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "../src/kernels.hpp"
#include "kernel_rows.hpp"

namespace attest::detail {
namespace {

TEST(NarrowRows, GiveTheBitsOfTheSameRowsWidened) {
    for (const KvStorage storage : {KvStorage::bf16, KvStorage::f16}) {
        for (const std::size_t width : kWidths) {
            for (const std::size_t count : kRows) {
                const std::size_t queries = (width + count) % 3 == 0 ? 1 : 1 + (width + count) % 20;
                const std::size_t stride = width + count % 2;
                std::vector<std::uint16_t> bits(count * stride + 1, 0x7fff);
                Row<float> wide(bits.size(), std::numeric_limits<float>::quiet_NaN());
                SplitMix64 random = SplitMix64::from_seed(width * 100 + count);
                for (std::size_t i = 0; i < count * width; ++i) {
                    // Any finite pattern below 2^8 in magnitude, subnormals and zeros of both signs among
                    // them.
                    const unsigned magnitude = storage == KvStorage::bf16 ? 0x4380U : 0x5c00U;
                    const std::size_t at = i / width * stride + i % width;
                    bits[at] =
                        static_cast<std::uint16_t>(random.next() % magnitude | (random.next() & 0x8000U));
                    wide[at] = widen(bits[at], storage);
                }
                for (const bool causal : {false, true}) {
                    const Row<float> fresh = draw<float>((count % 70 + queries) * width, count);
                    const RowRun<float> candidates = {fresh.data(), width, count % 70};
                    const PositionRows<float> narrow = {{bits.data(), stride, count, storage}, candidates};
                    const PositionRows<float> widened = {{wide.data(), stride, count}, candidates};
                    const std::size_t positions = narrow.size() + queries;
                    const Row<float> w = draw<float>(queries * std::max(positions, width), width + 3 * count);
                    const Kernels<float>& portable = portable_kernels<float>();
                    for (const Kernels<float>* const table : available_kernels<float>()) {
                        SCOPED_TRACE(std::string(table->name) + ' ' + std::string(name(storage)) + ' ' +
                                     std::to_string(width) + " wide, " + std::to_string(count) + " rows, " +
                                     std::to_string(queries));
                        Row<float> got(queries * std::max(positions, width), 7);
                        Row<float> want = got;
                        table->score_group(got.data(), positions, w.data(), width, queries, narrow, width,
                                           0.3F);
                        portable.score_group(want.data(), positions, w.data(), width, queries, widened, width,
                                             0.3F);
                        ASSERT_EQ(difference(got, want), "");
                        Row<float> scratch(std::max(queries, kCausalGroup) *
                                           mix_scratch_elements(positions, width));
                        table->mix_group(got.data(), width, w.data(), positions, queries, narrow, width,
                                         scratch.data(), causal);
                        portable.mix_group(want.data(), width, w.data(), positions, queries, widened, width,
                                           scratch.data(), causal);
                        ASSERT_EQ(difference(got, want), "");
                        if (causal || narrow.size() == 0) continue;
                        Row<float> soft = w, soft_want = w;
                        Row<float> totals(queries), totals_want(queries);
                        const Row<float> peaks(queries, std::ranges::max(w));
                        table->mix_soft(got.data(), width, totals.data(), soft.data(), positions, queries,
                                        peaks.data(), narrow, width, scratch.data());
                        portable.mix_soft(want.data(), width, totals_want.data(), soft_want.data(), positions,
                                          queries, peaks.data(), widened, width, scratch.data());
                        ASSERT_EQ(difference(got, want) + difference(soft, soft_want), "");
                        ASSERT_EQ(difference(totals, totals_want), "");
                    }
                }
            }
        }
    }
}

// So many rows of one query that they may be walked at several places.
TEST(NarrowRows, ManyOfOneQueryGiveTheBitsOfTheSameRowsWidenedWhateverTheReach) {
    for (const std::size_t width : {std::size_t{64}, std::size_t{128}}) {
        for (const std::size_t count : {std::size_t{513}, std::size_t{600}}) {
            Row<float> wide = draw_scores<float>(count * width, count);
            std::vector<std::uint16_t> bits(wide.size());
            for (std::size_t i = 0; i < wide.size(); ++i) {
                bits[i] = narrow(wide[i], KvStorage::bf16);
                wide[i] = widen(bits[i], KvStorage::bf16);
            }
            const Row<float> newest = draw_scores<float>(width, 3);
            const Row<float> q = draw_scores<float>(width, 5);
            const RowRun<float> candidate = {newest.data(), width, 1};
            const PositionRows<float> widened = {{wide.data(), width, count}, candidate};
            Row<float> scratch(mix_scratch_elements(count + 1, width));
            for (const Reach reach : {Reach::near, Reach::far, Reach::memory}) {
                const PositionRows<float> rows = {{bits.data(), width, count, KvStorage::bf16, reach},
                                                  candidate};
                const auto attend = [&](const Kernels<float>& table, const PositionRows<float>& seen) {
                    // The scores, which become weights, then what is mixed and the sum of the weights.
                    Row<float> all(count + 1 + width + 1);
                    table.score_group(all.data(), count + 1, q.data(), width, 1, seen, width, 0.25F);
                    const float peak = table.peak(all.data(), count + 1);
                    table.mix_soft(&all[count + 1], width, &all.back(), all.data(), count + 1, 1, &peak, seen,
                                   width, scratch.data());
                    return all;
                };
                const Row<float> want = attend(portable_kernels<float>(), widened);
                for (const Kernels<float>* const table : available_kernels<float>())
                    EXPECT_EQ(difference(attend(*table, rows), want), "") << table->name << ' ' << width;
            }
        }
    }
}

// Too long to be widened for several queries together.
TEST(NarrowRows, OfTheLongestKindGiveTheBitsOfTheSameRowsWidened) {
    constexpr std::size_t width = 4100;
    constexpr std::size_t queries = 9;
    for (const KvStorage storage : {KvStorage::bf16, KvStorage::f16}) {
        Row<float> wide = draw<float>(3 * width, 1);
        std::vector<std::uint16_t> bits(wide.size());
        for (std::size_t i = 0; i < wide.size(); ++i) {
            bits[i] = narrow(wide[i] / 1000, storage);
            wide[i] = widen(bits[i], storage);
        }
        const RowRun<float> none = {wide.data(), width, 0};
        const PositionRows<float> narrowed = {{bits.data(), width, 3, storage}, none};
        const PositionRows<float> widened = {{wide.data(), width, 3}, none};
        const Row<float> w = draw<float>(queries * width, 3);
        for (const Kernels<float>* const table : available_kernels<float>()) {
            Row<float> got(queries * width);
            Row<float> want(queries * width);
            Row<float> scratch(kCausalGroup * mix_scratch_elements(3, width));
            table->score_group(got.data(), 3, w.data(), width, queries, narrowed, width, 0.5F);
            portable_kernels<float>().score_group(want.data(), 3, w.data(), width, queries, widened, width,
                                                  0.5F);
            EXPECT_EQ(difference(got, want), "") << table->name;
            table->mix_group(got.data(), width, w.data(), width, queries, narrowed, width, scratch.data(),
                             false);
            portable_kernels<float>().mix_group(want.data(), width, w.data(), width, queries, widened, width,
                                                scratch.data(), false);
            EXPECT_EQ(difference(got, want), "") << table->name;
        }
    }
}

}  // namespace
}  // namespace attest::detail
