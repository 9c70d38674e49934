// A whole layer: projection, rotation, attention, output projection, each with its bound.
#include "bound/stages.hpp"
#include "judge/attention.hpp"
#include "judge/doubt.hpp"
#include "judge/inputs.hpp"
#include "judge/rotation.hpp"
#include "oracle/product.hpp"
#include "parallel.hpp"

#include <attest/reference/judge.hpp>

#include <algorithm>
#include <limits>

namespace attest::reference {
namespace {

// Parts is what every evaluation of a layer forms: heads of q for the rows judged, of k and v for all rows
// that take part (first_kv is the row of their first).
template <class N>
struct Parts {
    Heads<N> q, k, v;
    Turns<N> q_turns, k_turns;
    std::size_t first_kv = 0;
    bool attends = false;
};

std::vector<std::int64_t> positions_of(const Layer& layer, std::size_t first, std::size_t count) {
    std::vector<std::int64_t> positions(count);
    for (std::size_t t = 0; t < count; ++t)
        positions[t] = static_cast<std::int64_t>(layer.first_position + first + t);
    return positions;
}

// Matrices holds the layer's tensors as its products want them.
struct Matrices {
    Matrix x, wq, wk, wv, wo;
    explicit Matrices(const Layer& layer)
        : x(layer.x, layer.width),
          wq(layer.wq, layer.width),
          wk(layer.wk, layer.width),
          wv(layer.wv, layer.width),
          wo(layer.wo, layer.heads * layer.head_width) {}
};

template <class N>
Turns<N> last_of(const Turns<N>& turns, std::size_t rows) {
    const auto from = static_cast<std::ptrdiff_t>(turns.cosines.size() - rows * turns.pairs);
    return {.pairs = turns.pairs,
            .cosines = {turns.cosines.begin() + from, turns.cosines.end()},
            .sines = {turns.sines.begin() + from, turns.sines.end()}};
}

// project_all projects, without rotating: the bound needs the projections themselves.
template <class N>
Parts<N> project_all(const Layer& layer, const Matrices& matrices, const LayerOptions& options,
                     Checked& how) {
    Parts<N> parts;
    parts.attends = options.y || options.weights;
    const Rows asked = options.rows;
    const Rows kept = parts.attends ? Rows{0, asked.first + asked.count} : asked;
    parts.first_kv = kept.first;
    const auto heads_of = [&](const Matrix& w, std::size_t heads, Rows rows) {
        return project<N>(matrices.x, layer.batch, layer.length, w, heads, layer.head_width, rows, how);
    };
    if (parts.attends) parts.q = heads_of(matrices.wq, layer.heads, asked);
    if (parts.attends || options.keys) {
        parts.k = heads_of(matrices.wk, layer.kv_heads, kept);
        parts.k_turns = turn_by<N>(layer.rope, positions_of(layer, kept.first, kept.count), how.formulation);
    }
    // Queries turn like the keys of their rows, which are the last of those kept.
    if (parts.attends) parts.q_turns = last_of(parts.k_turns, asked.count);
    if (parts.attends || options.values) parts.v = heads_of(matrices.wv, layer.kv_heads, kept);
    return parts;
}

template <class N>
void rotate_all(Heads<N>& heads, const Rope& rope, const Turns<N>& turns) {
    for (std::size_t b = 0; b < heads.batch; ++b)
        for (std::size_t h = 0; h < heads.heads; ++h)
            for (std::size_t t = 0; t < heads.rows; ++t)
                rotate(heads.at(b, h, t), rope, turns.cosines.data() + t * turns.pairs,
                       turns.sines.data() + t * turns.pairs);
}

template <class N>
Attention<N> attention_of(const Layer& layer, const Parts<N>& parts, const Visibility& visibility,
                          Progress* progress) {
    return {.q = Vectors<N>(parts.q),
            .k = Vectors<N>(parts.k),
            .v = Vectors<N>(parts.v),
            .scale = 1 / sqrt(N(layer.head_width)),
            .softcap = std::nullopt,
            .visibility = &visibility,
            .progress = progress};
}

// Bounds of projected heads: magnitudes, inherited errors and reasons, element by element.
struct HeadBounds {
    Magnitudes magnitudes;
    std::vector<NoBound> reasons;

    HeadBounds() = default;
    explicit HeadBounds(std::size_t size) : magnitudes(Magnitudes::of_size(size)), reasons(size) {}

    // put may be called from several threads for different elements; has_error is set after them.
    void put(std::size_t index, Upper exact, const Bounded& bounded) {
        magnitudes.exact[index] = exact.value();
        magnitudes.error[index] = bounded.error.value();
        magnitudes.total[index] = (exact + bounded.error).value();
        reasons[index] = bounded.reason;
    }
};

// overflowing_rows tells for each row of a tensor whether one of its elements lies beyond the arithmetic's
// range.
std::vector<bool> overflowing_rows(const Model& model, std::span<const double> values, std::size_t width) {
    std::vector<bool> rows;
    for (std::size_t first = 0; first < values.size(); first += width)
        rows.push_back(input_overflows(model, values.subspan(first, width)));
    return rows;
}

template <class N>
HeadBounds bound_projection(const Model& model, const Magnitudes& x, std::span<const double> weight,
                            const Layer& layer, const Heads<N>& heads, std::size_t first_row,
                            unsigned threads) {
    HeadBounds bounds(heads.data.size());
    const Magnitudes w = inputs_of(model, weight);
    const std::vector<bool> w_beyond = overflowing_rows(model, weight, layer.width);
    const std::vector<bool> x_beyond = overflowing_rows(model, layer.x, layer.width);
    const std::size_t features = heads.heads * heads.width;
    parallel(heads.batch * heads.rows, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t n = begin; n < end; ++n)
            for (std::size_t w_row = 0; w_row < features; ++w_row) {
                const std::size_t b = n / heads.rows, t = n % heads.rows;
                const std::size_t x_row = b * layer.length + first_row + t;
                const N* const element = heads.at(b, w_row / heads.width, t) + w_row % heads.width;
                const Upper exact = Upper::of(*element);
                Bounded bounded = {Upper::infinity(), NoBound::input_overflow};
                if (!w_beyond[w_row] && !x_beyond[x_row])
                    bounded = projection_error(model, w, w_row * layer.width, x, x_row * layer.width,
                                               layer.width, exact);
                bounds.put(static_cast<std::size_t>(element - heads.data.data()), exact, bounded);
            }
    });
    bounds.magnitudes.has_error = std::any_of(bounds.magnitudes.error.begin(), bounds.magnitudes.error.end(),
                                              [](double error) { return error != 0; });
    return bounds;
}

Allowed allowed_of(const HeadBounds& bounds) {
    Allowed allowed;
    for (std::size_t n = 0; n < bounds.reasons.size(); ++n)
        allowed.push(Upper(bounds.magnitudes.error[n]), bounds.reasons[n]);
    return allowed;
}

// rows_of takes rows [first, first + count) of every head.
template <class T>
std::vector<T> rows_of(const std::vector<T>& data, std::size_t outer, std::size_t rows, std::size_t width,
                       std::size_t first, std::size_t count) {
    std::vector<T> taken;
    taken.reserve(outer * count * width);
    for (std::size_t n = 0; n < outer; ++n) {
        const auto begin = data.begin() + static_cast<std::ptrdiff_t>((n * rows + first) * width);
        taken.insert(taken.end(), begin, begin + static_cast<std::ptrdiff_t>(count * width));
    }
    return taken;
}

template <class N>
std::vector<N> kept_rows(const Heads<N>& heads, std::size_t first_kv, Rows rows) {
    return rows_of(heads.data, heads.batch * heads.heads, heads.rows, heads.width, rows.first - first_kv,
                   rows.count);
}

Allowed kept_rows(const Allowed& allowed, std::size_t outer, std::size_t rows_there, std::size_t width,
                  std::size_t first_kv, Rows rows) {
    return {rows_of(allowed.error, outer, rows_there, width, rows.first - first_kv, rows.count),
            rows_of(allowed.reason, outer, rows_there, width, rows.first - first_kv, rows.count)};
}

// Stage 5: y = wo·o with o's own errors.
template <class N>
Allowed bound_merge(const Model& model, const Layer& layer, const BoundedAttention<N>& attended,
                    const std::vector<N>& y, unsigned threads) {
    const Heads<N>& mixed = attended.mixed;
    const std::size_t features = layer.heads * layer.head_width;
    const Magnitudes wo = inputs_of(model, layer.wo);
    const std::vector<bool> wo_beyond = overflowing_rows(model, layer.wo, features);
    Allowed allowed(y.size());
    parallel(mixed.batch * mixed.rows, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
            Magnitudes merged(features);
            NoBound reason = NoBound::none;
            for (std::size_t h = 0; h < mixed.heads; ++h)
                for (std::size_t f = 0; f < mixed.width; ++f) {
                    const std::size_t b = row / mixed.rows, t = row % mixed.rows;
                    const std::size_t n = ((b * mixed.heads + h) * mixed.rows + t) * mixed.width + f;
                    merged.push(Upper::of(mixed.data[n]), attended.mixed_allowed.error[n]);
                    if (reason == NoBound::none) reason = attended.mixed_allowed.reason[n];
                }
            for (std::size_t i = 0; i < layer.width; ++i) {
                const std::size_t element = row * layer.width + i;
                if (reason != NoBound::none || wo_beyond[i]) {
                    allowed.put(element, Upper::infinity(),
                                reason != NoBound::none ? reason : NoBound::input_overflow);
                    continue;
                }
                const Bounded bounded =
                    projection_error(model, wo, i * features, merged, 0, features, Upper::of(y[element]));
                allowed.put(element, bounded.error, bounded.reason);
            }
        }
    });
    return allowed;
}

// operand_of gathers per-element bounds into vectors of `width`: one without a bound spoils its vector.
Operand operand_of(HeadBounds bounds, std::size_t width) {
    Operand operand;
    operand.reasons.assign(bounds.reasons.size() / width, NoBound::none);
    for (std::size_t n = 0; n < bounds.reasons.size(); ++n)
        if (bounds.reasons[n] != NoBound::none) operand.reasons[n / width] = bounds.reasons[n];
    operand.magnitudes = std::move(bounds.magnitudes);
    return operand;
}

template <class N, class N2>
LayerJudgement judge_in(const Layer& layer, const Matrices& matrices, const Arithmetic& arithmetic,
                        const LayerOptions& options) {
    const Model model(arithmetic, layer.head_width);
    const Rows rows = options.rows;
    const Upper answer_error(arithmetic.answer_error);
    LayerJudgement result;
    struct {
        std::vector<N> y, keys, values, weights;
    } once;

    // The exact answers by definition, and the bound, stage by stage.
    Checked how{.formulation = Formulation::definition, .threads = options.threads};
    Parts<N> parts = project_all<N>(layer, matrices, options, how);
    const Magnitudes x = inputs_of(model, layer.x);
    const auto bound_heads = [&](std::span<const double> w, const Heads<N>& heads, std::size_t first) {
        return bound_projection(model, x, w, layer, heads, first, options.threads);
    };
    const auto turn_heads = [&](Heads<N>& heads, HeadBounds& bounds, const Turns<N>& turns,
                                std::size_t first) {
        const std::vector<std::int64_t> positions = positions_of(layer, first, heads.rows);
        const std::vector<Upper> kappas = turn_errors(model, layer.rope, positions);
        for (std::size_t outer = 0; outer < heads.batch * heads.heads; ++outer)
            for (std::size_t t = 0; t < heads.rows; ++t)
                bound_rotation(model, layer.rope, turns.cosines.data() + t * turns.pairs,
                               turns.sines.data() + t * turns.pairs, kappas.data() + t * turns.pairs,
                               (outer * heads.rows + t) * heads.width, bounds.magnitudes, bounds.reasons);
        rotate_all(heads, layer.rope, turns);
        renew(heads.data, bounds.magnitudes);
    };
    HeadBounds q, k, v;
    if (parts.attends) {
        q = bound_heads(layer.wq, parts.q, rows.first);
        turn_heads(parts.q, q, parts.q_turns, rows.first);
    }
    if (!parts.k.data.empty()) {
        k = bound_heads(layer.wk, parts.k, parts.first_kv);
        turn_heads(parts.k, k, parts.k_turns, parts.first_kv);
    }
    if (!parts.v.data.empty()) v = bound_heads(layer.wv, parts.v, parts.first_kv);

    const auto kept = [&](const char* name, const std::vector<N>& exact, const Heads<N>& heads,
                          const HeadBounds& bounds) {
        return judged_of(name, {layer.batch, layer.kv_heads, rows.count, layer.head_width}, exact,
                         kept_rows(allowed_of(bounds), heads.batch * heads.heads, heads.rows, heads.width,
                                   parts.first_kv, rows),
                         answer_error);
    };
    if (options.keys) {
        once.keys = kept_rows(parts.k, parts.first_kv, rows);
        result.keys = kept("keys", once.keys, parts.k, k);
    }
    if (options.values) {
        once.values = kept_rows(parts.v, parts.first_kv, rows);
        result.values = kept("values", once.values, parts.v, v);
    }

    const Visibility visibility = Visibility::prefix(rows.first + rows.count, rows.first, layer.length);
    if (parts.attends) {
        const Attention<N> attention = attention_of(layer, parts, visibility, options.progress);
        const Operand q_operand = operand_of(std::move(q), layer.head_width);
        const Operand k_operand = operand_of(std::move(k), layer.head_width);
        const Operand v_operand = operand_of(std::move(v), layer.head_width);
        BoundedAttention<N> attended = bound_attention(model, attention, {&q_operand, &k_operand, &v_operand},
                                                       options.weights, options.threads);
        if (options.weights)
            result.weights =
                judged_of("weights", {layer.batch, layer.heads, rows.count, rows.first + rows.count},
                          attended.weights, attended.weights_allowed, answer_error);
        if (options.y) {
            once.y = merge(attended.mixed, matrices.wo, how);
            const Allowed allowed = bound_merge(model, layer, attended, once.y, options.threads);
            result.y = judged_of("y", {layer.batch, rows.count, layer.width}, once.y, allowed, answer_error);
        }
        once.weights = std::move(attended.weights);
    }
    result.y.row_axis = 1;
    for (Judged* judged : {&result.keys, &result.values, &result.weights})
        judged->row_axis = 2;
    for (Judged* judged : {&result.y, &result.keys, &result.values, &result.weights})
        judged->first_row = rows.first;
    if (options.doubt == Doubt::none) return result;

    // The same answers a second way, in twice the digits.
    Checked doubted{.formulation = Formulation::second, .threads = options.threads};
    Parts<N2> again = project_all<N2>(layer, matrices, options, doubted);
    rotate_all(again.q, layer.rope, again.q_turns);
    rotate_all(again.k, layer.rope, again.k_turns);
    double worst = 0;
    if (options.keys)
        worst = std::max(worst, widen(result.keys, once.keys, kept_rows(again.k, again.first_kv, rows)));
    if (options.values)
        worst = std::max(worst, widen(result.values, once.values, kept_rows(again.v, again.first_kv, rows)));
    if (again.attends) {
        const BoundedAttention<N2> attended = attend_again(
            attention_of(layer, again, visibility, options.progress), options.weights, options.threads);
        if (options.weights) worst = std::max(worst, widen(result.weights, once.weights, attended.weights));
        if (options.y)
            worst = std::max(worst, widen(result.y, once.y, merge(attended.mixed, matrices.wo, doubted)));
    }
    // Sums that fail their own checks are no answer at all.
    result.disagreement = doubted.agrees ? worst : std::numeric_limits<double>::infinity();
    return result;
}

}  // namespace

std::expected<LayerJudgement, Error> judge(const Layer& layer, const Arithmetic& arithmetic,
                                           const LayerOptions& options) {
    LayerOptions cut = options;
    cut.rows = cut_rows(options.rows, layer.length);
    if (std::optional<Error> bad = check(layer, cut.rows)) return std::unexpected(std::move(*bad));
    // Row i sees i + 1 keys.
    const std::size_t seen = cut.rows.count * cut.rows.first + cut.rows.count * (cut.rows.count + 1) / 2;
    const std::size_t keys = options.y || options.weights ? layer.batch * layer.heads * seen : 0;
    expect_features(options.progress, keys, layer.head_width, layer.head_width, options.doubt);
    const Matrices matrices(layer);
    LayerJudgement result = judge_in<Real, Real100>(layer, matrices, arithmetic, cut);
    if (result.disagreement > kAgreement) {
        expect_features(options.progress, keys, layer.head_width, layer.head_width, options.doubt);
        result = judge_in<Real400, Real800>(layer, matrices, arithmetic, cut);
    }
    if (result.disagreement > kAgreement) return std::unexpected(disagreement_error(result.disagreement));
    return result;
}

}  // namespace attest::reference
