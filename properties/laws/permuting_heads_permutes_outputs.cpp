// For a permutation π of the key/value heads, and a turn inside each group of query heads: the layer whose
// wq, wk and wv have their heads in that order has the keys, values and mixed heads of the first one in that
// order, by bits. wo picks single features, so that y shows mixed heads as they are.
//
// Kills exchanged axes (B14), heads mapped to the wrong group (B22), a rotation, scale or scratch that
// depends on which head it is (B11, B21, B23), and tails of head loops handled in another way.
//
// Stays, whoever else sees its bugs: by bits it sees a head treated unlike the others where a
// bound has room.

#include "remade.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Block i of the result is block order[i] of `matrix`, a block being `size` numbers.
Array reordered(const Array& matrix, std::span<const std::uint64_t> order, std::uint64_t size) {
    Array all;
    for (const std::uint64_t from : order) {
        const auto start = matrix.begin() + static_cast<std::ptrdiff_t>(from * size);
        all.insert(all.end(), start, start + static_cast<std::ptrdiff_t>(size));
    }
    return all;
}

// The order of key/value heads (a turn, then the ends exchanged) and of the query heads that follow them.
struct Order {
    std::vector<std::uint64_t> kv_heads;
    std::vector<std::uint64_t> heads;
};

Order order_of(const cases::Case& one) {
    const std::uint64_t group = one.heads / one.kv_heads;
    const std::uint64_t seed = one.values.seed;
    Order order;
    for (std::uint64_t g = 0; g < one.kv_heads; ++g) {
        order.kv_heads.push_back((g + 1 + seed % one.kv_heads) % one.kv_heads);
    }
    if (seed % 2 == 1 || order.kv_heads[0] == 0) std::swap(order.kv_heads.front(), order.kv_heads.back());
    for (std::uint64_t g = 0; g < one.kv_heads; ++g) {
        for (std::uint64_t i = 0; i < group; ++i) {
            order.heads.push_back(order.kv_heads[g] * group + (i + 1 + seed % 3) % group);
        }
    }
    return order;
}

// Heads [batch, heads, …] as the order wants them, `lane` numbers a head.
Array in_order(const Array& numbers, std::uint64_t batch, std::span<const std::uint64_t> order,
               std::uint64_t lane) {
    Array all;
    const std::uint64_t sequence = order.size() * lane;
    for (std::uint64_t b = 0; b < batch; ++b) {
        const Array one(numbers.begin() + static_cast<std::ptrdiff_t>(b * sequence),
                        numbers.begin() + static_cast<std::ptrdiff_t>((b + 1) * sequence));
        const Array moved = reordered(one, order, lane);
        all.insert(all.end(), moved.begin(), moved.end());
    }
    return all;
}

}  // namespace

Verdict permuting_heads_permutes_outputs(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {}, 8);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    if (one.heads == 1) return vacuous("there is one head", checks.counters());
    if (scene.make_cache() == nullptr) return scene.verdict();

    const Order order = order_of(one);
    const std::uint64_t d = one.head_width;
    const std::uint64_t features = one.heads * d;
    // The outputs see `width` features at a time, and another place of them in another case.
    constexpr std::uint64_t kWindows = 4;
    for (std::uint64_t window = 0; window < kWindows && window * one.width < features; ++window) {
        const std::uint64_t shift = (one.values.seed + window * one.width) % features;
        Remade plain = remade(scene, rows);
        pick_features(plain, shift);
        Remade moved = plain;
        moved.weights[0] = reordered(plain.weights[0], order.heads, d * one.width);
        moved.weights[1] = reordered(plain.weights[1], order.kv_heads, d * one.width);
        moved.weights[2] = reordered(plain.weights[2], order.kv_heads, d * one.width);
        // Output i of the moved layer picks where the feature that plain's output i shows has gone.
        moved.weights[3].assign(one.width * features, 0);
        for (std::uint64_t i = 0; i < one.width; ++i) {
            const std::uint64_t feature = picked_feature(plain, shift, i);
            std::uint64_t place = 0;
            while (order.heads[place] != feature / d) {
                ++place;
            }
            moved.weights[3][i * features + place * d + feature % d] = 1;
        }
        const Run want = run(scene, plain, "the heads as they are");
        const Run got = run(scene, moved, "the heads moved");
        if (checks.failed()) break;
        if (!want.code.empty() || !got.code.empty()) {
            return vacuous("the rows are refused", checks.counters());
        }
        checks.tested();
        checks.bits([&] { return fmt::format("answers from feature {}", shift); }, got.y, want.y);
        checks.bits("keys", got.keys, in_order(want.keys, one.batch, order.kv_heads, rows * d));
        checks.bits("values", got.values, in_order(want.values, one.batch, order.kv_heads, rows * d));
        if (checks.failed()) break;
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
