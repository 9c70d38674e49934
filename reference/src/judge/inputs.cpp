#include "judge/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

using Problem = std::optional<Error>;

std::string text_of(std::initializer_list<std::size_t> shape) {
    std::string text = "[";
    for (const std::size_t extent : shape) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text + "]";
}

Problem wrong_shape(std::string subject, std::string message) {
    return Error{Error::Code::shape_mismatch, std::move(subject), std::move(message)};
}

// A span must hold exactly the elements of its shape; a shape whose size overflows can't be held by any span.
Problem fits(std::string subject, std::span<const double> values, std::initializer_list<std::size_t> shape) {
    std::size_t count = 1;
    bool overflow = false;
    for (const std::size_t extent : shape)
        overflow |= __builtin_mul_overflow(count, extent, &count);
    if (!overflow && count == values.size()) return std::nullopt;
    return wrong_shape(std::move(subject), "holds " + std::to_string(values.size()) +
                                               " elements, its shape is " + text_of(shape));
}

Problem finite(std::string subject, std::span<const double> values, std::size_t first_index = 0) {
    for (std::size_t n = 0; n < values.size(); ++n)
        if (!std::isfinite(values[n]))
            return Error{Error::Code::non_finite, std::move(subject),
                         "element " + std::to_string(first_index + n) + " is " + std::to_string(values[n])};
    return std::nullopt;
}

Problem first_of_all(std::initializer_list<Problem> problems) {
    for (const Problem& problem : problems)
        if (problem) return problem;
    return std::nullopt;
}

Problem rotates(const Rope& rope, std::size_t head_width, bool by_angles) {
    const auto refuse = [](std::string subject, std::string message) {
        return Error{Error::Code::out_of_range, std::move(subject), std::move(message)};
    };
    if (rope.width % 2 != 0) return refuse("rope_width", std::to_string(rope.width) + " is odd");
    if (rope.width > head_width)
        return refuse("rope_width",
                      std::to_string(rope.width) + " exceeds the head width " + std::to_string(head_width));
    if (by_angles && rope.width != 0 && !(std::isfinite(rope.base) && rope.base > 0))
        return refuse("rope_base", std::to_string(rope.base) + " is no positive number");
    return std::nullopt;
}

Problem groups(std::size_t heads, std::size_t kv_heads) {
    if (heads == 0 || kv_heads == 0 || heads % kv_heads != 0)
        return wrong_shape("kv_heads", std::to_string(kv_heads) + " key/value heads do not divide " +
                                           std::to_string(heads) + " heads");
    return std::nullopt;
}

Problem spreads(std::string subject, const Broadcast& tensor, const Core& core) {
    const std::size_t target[4] = {core.past + core.keys, core.length, core.heads, core.batch};
    const std::size_t rank = tensor.shape.size();
    std::size_t count = 1;
    bool good = rank <= 4;
    for (std::size_t axis = 0; good && axis < rank; ++axis) {
        const std::size_t extent = tensor.shape[rank - 1 - axis];
        good = !__builtin_mul_overflow(count, extent, &count);
        // Fewer columns than there are hide the rest.
        good = good && (extent == 1 || extent == target[axis] || (axis == 0 && extent < target[axis]));
    }
    if (!good)
        return wrong_shape(std::move(subject),
                           "does not spread over " + text_of({target[3], target[2], target[1], target[0]}));
    if (count != tensor.values.size())
        return wrong_shape(std::move(subject), "holds " + std::to_string(tensor.values.size()) +
                                                   " elements, its shape has " + std::to_string(count));
    return std::nullopt;
}

}  // namespace

Rows cut_rows(Rows rows, std::size_t length) noexcept {
    rows.first = std::min(rows.first, length);
    rows.count = std::min(rows.count, length - rows.first);
    return rows;
}

Problem check(const Layer& layer, Rows rows) {
    const std::size_t features = layer.heads * layer.head_width;  // checked by fits
    const std::size_t kv_features = layer.kv_heads * layer.head_width;
    if (layer.width == 0 || layer.head_width == 0) return wrong_shape("x", "a layer of no width");
    if (const Problem bad = groups(layer.heads, layer.kv_heads)) return bad;
    if (features / layer.heads != layer.head_width)
        return wrong_shape("wq", "heads times head width overflows");
    const Problem shape = first_of_all({
        fits("wq", layer.wq, {features, layer.width}),
        fits("wk", layer.wk, {kv_features, layer.width}),
        fits("wv", layer.wv, {kv_features, layer.width}),
        fits("wo", layer.wo, {layer.width, features}),
        fits("x", layer.x, {layer.batch, layer.length, layer.width}),
    });
    if (shape) return shape;
    const Problem number = first_of_all(
        {finite("wq", layer.wq), finite("wk", layer.wk), finite("wv", layer.wv), finite("wo", layer.wo)});
    if (number) return number;
    // Rows after the last one asked for take no part.
    for (std::size_t b = 0; b < layer.batch; ++b) {
        const std::size_t first = b * layer.length * layer.width;
        const std::size_t count = (rows.first + rows.count) * layer.width;
        if (const Problem bad = finite("x", layer.x.subspan(first, count), first)) return bad;
    }
    if (const Problem bad = rotates(layer.rope, layer.head_width, true)) return bad;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (layer.first_position > kMost || layer.length > kMost - layer.first_position)
        return Error{Error::Code::out_of_range, "first_position", "positions exceed 2^63 - 1"};
    return std::nullopt;
}

Problem check(const Core& core) {
    if (core.width == 0) return wrong_shape("q", "heads of no width");
    if (const Problem bad = groups(core.heads, core.kv_heads)) return bad;
    if (core.keys > SIZE_MAX / 2 || core.past > SIZE_MAX / 2) return wrong_shape("k", "too many keys");
    const Problem shape = first_of_all({
        fits("q", core.q, {core.batch, core.heads, core.length, core.width}),
        fits("k", core.k, {core.batch, core.kv_heads, core.keys, core.width}),
        fits("v", core.v, {core.batch, core.kv_heads, core.keys, core.value_width}),
        fits("past_k", core.past_k, {core.batch, core.kv_heads, core.past, core.width}),
        fits("past_v", core.past_v, {core.batch, core.kv_heads, core.past, core.value_width}),
        core.mask ? spreads("mask", *core.mask, core) : Problem{},
        core.bias ? spreads("bias", *core.bias, core) : Problem{},
    });
    if (shape) return shape;
    if (!core.kv_lengths.empty() && core.kv_lengths.size() != core.batch)
        return wrong_shape("kv_lengths", "holds " + std::to_string(core.kv_lengths.size()) + " lengths for " +
                                             std::to_string(core.batch) + " batches");
    for (const std::int64_t length : core.kv_lengths)
        if (length < 0 || static_cast<std::uint64_t>(length) > core.past + core.keys)
            return Error{Error::Code::out_of_range, "kv_lengths",
                         std::to_string(length) + " of " + std::to_string(core.past + core.keys) + " keys"};
    if (core.scale && !std::isfinite(*core.scale))
        return Error{Error::Code::non_finite, "scale", std::to_string(*core.scale)};
    if (core.softcap && !(std::isfinite(*core.softcap) && *core.softcap > 0))
        return Error{Error::Code::out_of_range, "softcap",
                     std::to_string(*core.softcap) + " is not positive"};
    if (core.bias)
        for (std::size_t n = 0; n < core.bias->values.size(); ++n) {
            const double bias = core.bias->values[n];
            if (std::isnan(bias) || bias == std::numeric_limits<double>::infinity())
                return Error{Error::Code::non_finite, "bias",
                             "element " + std::to_string(n) + " is " + std::to_string(bias)};
        }
    return finite("q", core.q);
}

Problem check(const Rotary& rotary) {
    const std::size_t pairs = rotary.rope.width / 2;
    if (rotary.width == 0) return wrong_shape("x", "heads of no width");
    if (const Problem bad = fits("x", rotary.x, {rotary.batch, rotary.heads, rotary.length, rotary.width}))
        return bad;
    if (!rotary.positions.empty() && rotary.positions.size() != rotary.batch * rotary.length)
        return wrong_shape("positions", "holds " + std::to_string(rotary.positions.size()) +
                                            " positions for " + text_of({rotary.batch, rotary.length}));
    const bool tables = !rotary.cosines.empty() || !rotary.sines.empty();
    if (tables && rotary.table_rows != 0) {
        const Problem shape = first_of_all({fits("cos", rotary.cosines, {rotary.table_rows, pairs}),
                                            fits("sin", rotary.sines, {rotary.table_rows, pairs})});
        if (shape) return shape;
        if (rotary.positions.empty() && rotary.length > rotary.table_rows)
            return Error{Error::Code::out_of_range, "cos", "fewer rows than positions"};
        for (const std::int64_t position : rotary.positions)
            if (position < 0 || static_cast<std::uint64_t>(position) >= rotary.table_rows)
                return Error{Error::Code::out_of_range, "positions",
                             std::to_string(position) + " of " + std::to_string(rotary.table_rows) + " rows"};
    } else if (tables) {
        const Problem shape = first_of_all({fits("cos", rotary.cosines, {rotary.batch, rotary.length, pairs}),
                                            fits("sin", rotary.sines, {rotary.batch, rotary.length, pairs})});
        if (shape) return shape;
    }
    const Problem number =
        first_of_all({finite("x", rotary.x), finite("cos", rotary.cosines), finite("sin", rotary.sines)});
    if (number) return number;
    return rotates(rotary.rope, rotary.width, !tables);
}

}  // namespace attest::reference
