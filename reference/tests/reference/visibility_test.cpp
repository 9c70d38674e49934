// What a row sees, against the dump format's sentences spelled out column by column.
#include "oracle/visibility.hpp"

#include "attack/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace attest::reference {
namespace {

using attack::Random;

// An element of a broadcast tensor by the rule itself: dimensions aligned at the right, 1 repeated.
double broadcast_at(const Broadcast& tensor, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    const std::size_t index[4] = {b, h, i, j};
    std::size_t flat = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        const std::size_t wanted = index[4 - tensor.shape.size() + axis];
        flat = flat * tensor.shape[axis] + (tensor.shape[axis] == 1 ? 0 : wanted);
    }
    return tensor.values[flat];
}

TEST(Visibility, FollowsEveryRuleAtOnce) {
    Random random(9);
    for (int trial = 0; trial < 5000; ++trial) {
        Core core;
        core.batch = 1 + random.below(2);
        core.heads = core.kv_heads = 1 + random.below(2);
        core.length = 1 + random.below(3);
        core.keys = 1 + random.below(5);
        core.past = random.below(3);
        core.causal = random.chance(2);
        const std::size_t columns = core.past + core.keys;
        if (random.chance(2))
            for (std::size_t b = 0; b < core.batch; ++b)
                core.kv_lengths.push_back(static_cast<std::int64_t>(random.below(columns + 1)));
        std::vector<double> mask, bias;
        const auto spread = [&](std::vector<double>& values, bool booleans) {
            std::vector<std::size_t> shape{
                random.chance(3) ? 1 : core.batch, random.chance(3) ? 1 : core.heads,
                random.chance(3) ? 1 : core.length, random.chance(4) ? 1 : 1 + random.below(columns)};
            shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(random.below(4)));
            std::size_t count = 1;
            for (const std::size_t extent : shape)
                count *= extent;
            for (std::size_t n = 0; n < count; ++n)
                values.push_back(
                    booleans ? static_cast<double>(random.below(2))
                             : random.one_of({0.5, -1.0, -1e30, -std::numeric_limits<double>::infinity()}));
            return Broadcast{.shape = shape, .values = values};
        };
        if (random.chance(2)) core.mask = spread(mask, true);
        if (random.chance(2)) core.bias = spread(bias, false);
        const Visibility visibility = Visibility::of(core, -1e20);
        const std::size_t first = random.below(core.length);
        for (std::size_t b = 0; b < core.batch; ++b)
            for (std::size_t h = 0; h < core.heads; ++h)
                for (std::size_t i = first; i < core.length; ++i) {
                    std::vector<std::size_t> want;
                    std::vector<double> want_biases;
                    for (std::size_t j = 0; j < columns; ++j) {
                        const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(j);
                        std::int64_t offset = static_cast<std::int64_t>(core.past);
                        if (core.past == 0 && !core.kv_lengths.empty())
                            offset = core.kv_lengths[b] - static_cast<std::int64_t>(core.length);
                        if (core.causal && column > row + offset) continue;
                        if (!core.kv_lengths.empty() && column >= core.kv_lengths[b]) continue;
                        const auto missing = [&](const Broadcast& tensor) {
                            return tensor.shape.back() != 1 && j >= tensor.shape.back();
                        };
                        if (core.mask && (missing(*core.mask) || broadcast_at(*core.mask, b, h, i, j) == 0))
                            continue;
                        if (core.bias) {
                            if (missing(*core.bias)) continue;
                            const double value = broadcast_at(*core.bias, b, h, i, j);
                            if (value <= -1e20) continue;
                            want_biases.push_back(value);
                        }
                        want.push_back(j);
                    }
                    Seen seen;
                    visibility.from_row(first).see(b, h, i - first, seen);
                    ASSERT_EQ(seen.columns, want);
                    ASSERT_EQ(seen.biases, want_biases);
                }
    }
}

}  // namespace
}  // namespace attest::reference
