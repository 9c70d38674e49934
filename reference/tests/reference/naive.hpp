// Plain attention in double, with places where a test may go wrong on purpose. It shares no code with what it
// is shown to.
#pragma once

#include <attest/reference/problem.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace attest::testing {

struct NaiveLayer {
    std::size_t batch = 2, length = 5, width = 12, heads = 4, kv_heads = 2, head_width = 4;
    reference::Rope rope{.pairs = reference::RopePairs::interleaved, .width = 4, .base = 500.0};
    std::uint64_t first_position = 3;
    std::vector<double> x, wq, wk, wv, wo;

    // Ways to go wrong.
    std::function<std::size_t(std::size_t)> group = [this](std::size_t h) { return h / (heads / kv_heads); };
    std::function<bool(std::size_t, std::size_t)> sees = [](std::size_t i, std::size_t j) { return j <= i; };
    double scale = 0.5, bias = 0, q_shift = 0, k_shift = 0;
    bool other_pairs = false, values_turned = false, transposed_wq = false, reshaped = false;
    std::size_t stale_row = SIZE_MAX;

    NaiveLayer() {
        std::uint64_t state = 12345;
        const auto fill = [&](std::vector<double>& values, std::size_t count) {
            for (std::size_t n = 0; n < count; ++n) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                values.push_back(static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) *
                                 0x1p-23);
            }
        };
        fill(x, batch * length * width);
        fill(wq, heads * head_width * width);
        fill(wk, kv_heads * head_width * width);
        fill(wv, kv_heads * head_width * width);
        fill(wo, width * heads * head_width);
    }

    reference::Layer problem() const {
        return {.batch = batch,
                .length = length,
                .width = width,
                .heads = heads,
                .kv_heads = kv_heads,
                .head_width = head_width,
                .rope = rope,
                .first_position = first_position,
                .x = x,
                .wq = wq,
                .wk = wk,
                .wv = wv,
                .wo = wo};
    }

    using Rows = std::vector<double>;  // [batch, heads, length, head_width]

    Rows project(const std::vector<double>& w, std::size_t count, bool transposed) const {
        Rows rows(batch * count * length * head_width);
        for (std::size_t b = 0; b < batch; ++b)
            for (std::size_t t = 0; t < length; ++t)
                for (std::size_t i = 0; i < count * head_width; ++i) {
                    double sum = 0;
                    for (std::size_t j = 0; j < width; ++j)
                        sum += w[transposed ? j * count * head_width + i : i * width + j] *
                               x[(b * length + t) * width + j];
                    const std::size_t h = i / head_width, f = i % head_width;
                    const std::size_t flat = b * count * length * head_width + t * count * head_width + i;
                    rows[reshaped ? flat : ((b * count + h) * length + t) * head_width + f] = sum;
                }
        return rows;
    }

    void turn(Rows& rows, std::size_t count, double shift) const {
        const bool interleaved = (rope.pairs == reference::RopePairs::interleaved) != other_pairs;
        for (std::size_t n = 0; n < batch * count; ++n)
            for (std::size_t t = 0; t < length; ++t)
                for (std::size_t i = 0; i < rope.width / 2; ++i) {
                    const double angle =
                        (static_cast<double>(first_position + t) + shift) *
                        std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rope.width));
                    double* const head = rows.data() + (n * length + t) * head_width;
                    double& a = head[interleaved ? 2 * i : i];
                    double& b = head[interleaved ? 2 * i + 1 : i + rope.width / 2];
                    const double turned = a * std::cos(angle) - b * std::sin(angle);
                    b = a * std::sin(angle) + b * std::cos(angle);
                    a = turned;
                }
    }

    Rows keys() const {
        Rows k = project(wk, kv_heads, false);
        turn(k, kv_heads, k_shift);
        if (stale_row != SIZE_MAX)
            for (std::size_t f = 0; f < head_width; ++f)
                k[stale_row * head_width + f] = k[(stale_row - 1) * head_width + f];
        return k;
    }
    Rows values() const {
        Rows v = project(wv, kv_heads, false);
        if (values_turned) turn(v, kv_heads, 0);
        return v;
    }

    std::vector<double> y() const {
        Rows q = project(wq, heads, transposed_wq);
        turn(q, heads, q_shift);
        const Rows k = keys(), v = values();
        std::vector<double> y(batch * length * width);
        for (std::size_t b = 0; b < batch; ++b)
            for (std::size_t i = 0; i < length; ++i) {
                std::vector<double> merged(heads * head_width);
                for (std::size_t h = 0; h < heads; ++h) {
                    std::vector<double> p(length);
                    double sum = 0;
                    for (std::size_t j = 0; j < length; ++j) {
                        double s = 0;
                        for (std::size_t f = 0; f < head_width; ++f)
                            s += q[((b * heads + h) * length + i) * head_width + f] *
                                 k[((b * kv_heads + group(h)) * length + j) * head_width + f];
                        sum += p[j] = sees(i, j) ? std::exp(s * scale + bias * static_cast<double>(j)) : 0;
                    }
                    for (std::size_t j = 0; j < length && sum > 0; ++j)
                        for (std::size_t f = 0; f < head_width; ++f)
                            merged[h * head_width + f] +=
                                p[j] / sum * v[((b * kv_heads + group(h)) * length + j) * head_width + f];
                }
                for (std::size_t o = 0; o < width; ++o)
                    for (std::size_t f = 0; f < merged.size(); ++f)
                        y[(b * length + i) * width + o] += wo[o * merged.size() + f] * merged[f];
            }
        return y;
    }
};

}  // namespace attest::testing
