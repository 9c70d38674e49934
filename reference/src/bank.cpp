#include <attest/reference/bank.hpp>

#include "exact.hpp"
#include "judge/core_operands.hpp"
#include "judge/inputs.hpp"
#include "oracle/product.hpp"

#include <array>
#include <functional>

namespace attest::reference {
namespace {

constexpr std::array kAll{Wrong::zeros,
                          Wrong::negated,
                          Wrong::doubled,
                          Wrong::uniform_weights,
                          Wrong::unscaled_scores,
                          Wrong::last_key_dropped,
                          Wrong::one_stale_key,
                          Wrong::frontier_off_by_one,
                          Wrong::wrong_head_group,
                          Wrong::position_off_by_one};

// Watch compares a wrong kernel's answers with the judged ones, element by element.
class Watch {
  public:
    explicit Watch(const Judged& judged) : judged_(judged) {}

    void see(std::size_t index, const Real& wrong) {
        const Real exact = real_of<Real>(judged_.exact[index]);
        const Real difference = abs(wrong - exact);
        // Equal but for the last bits that an Exact holds, the smallest subnormals among them: this kernel is
        // not wrong here.
        if (difference <= (abs(wrong) + abs(exact)) * 0x1p-100 + 0x1p-1072) return;
        applies_ = true;
        refused_ = refused_ || difference > judged_.allowed[index];
    }
    bool refused() const noexcept { return refused_; }

    void conclude(Wrong wrong, std::vector<Trial>& trials) const {
        if (applies_) trials.push_back({wrong, refused_});
    }

  private:
    const Judged& judged_;
    bool applies_ = false;
    bool refused_ = false;
};

// The three that need no kernel.
bool is_plain(Wrong wrong) noexcept {
    return wrong == Wrong::zeros || wrong == Wrong::negated || wrong == Wrong::doubled;
}

Real plain(Wrong wrong, const Real& exact) {
    if (wrong == Wrong::negated) return -exact;
    if (wrong == Wrong::doubled) return 2 * exact;
    return 0;
}

void try_plain(Wrong wrong, const Judged& judged, std::vector<Trial>& trials) {
    Watch watch(judged);
    for (std::size_t n = judged.exact.size(); n-- > 0 && !watch.refused();)
        watch.see(n, plain(wrong, real_of<Real>(judged.exact[n])));
    watch.conclude(wrong, trials);
}

// Wronged is one row as a wrong kernel attends it.
struct Wronged {
    std::vector<Real> weights;  // by column, one more than there are for a key past the end
    std::vector<Real> mixed;
};

// attend_wrong attends one row as `wrong` would. `q` is the query, wrongly rotated already if that is the
// fault.
Wronged attend_wrong(const Attention<Real>& attention, Wrong wrong, const Real* q, std::size_t batch,
                     std::size_t head, const Seen& seen) {
    const std::size_t columns = attention.visibility->columns();
    const std::size_t width = attention.q->width;
    const std::size_t kv_heads = attention.k->heads;
    const std::size_t group = wrong == Wrong::wrong_head_group ? head % kv_heads : attention.group_of(head);
    const std::vector<Real> empty_key(width, Real(0)), empty_value(attention.v->width, Real(0));

    std::vector<std::size_t> at = seen.columns;
    if (wrong == Wrong::last_key_dropped && !at.empty()) at.pop_back();
    if (wrong == Wrong::frontier_off_by_one) at.push_back(seen.columns.empty() ? 0 : seen.columns.back() + 1);

    Wronged row;
    row.weights.assign(columns + 1, Real(0));
    row.mixed.assign(attention.v->width, Real(0));
    if (at.empty()) return row;
    std::vector<Real> scores;
    for (std::size_t n = 0; n < at.size(); ++n) {
        std::size_t key = at[n];
        if (wrong == Wrong::one_stale_key && n + 1 == at.size() && key > 0) --key;
        const Real* const k = key < columns ? attention.k->at(batch, group, key) : empty_key.data();
        Real score = dot(q, k, width, Formulation::definition);
        if (wrong != Wrong::unscaled_scores) score *= attention.scale;
        if (attention.softcap) score = *attention.softcap * tanh(score / *attention.softcap);
        if (n < seen.biases.size()) score += seen.biases[n];
        scores.push_back(wrong == Wrong::uniform_weights ? Real(0) : score);
    }
    const Real maximum = *std::max_element(scores.begin(), scores.end());
    Real denominator = 0;
    for (Real& score : scores)
        denominator += score = exp(score - maximum);
    for (std::size_t n = 0; n < at.size(); ++n) {
        const Real weight = scores[n] / denominator;
        const Real* const v = at[n] < columns ? attention.v->at(batch, group, at[n]) : empty_value.data();
        row.weights[at[n]] = weight;
        for (std::size_t f = 0; f < row.mixed.size(); ++f)
            row.mixed[f] += weight * v[f];
    }
    return row;
}

// What differs between a layer and attention alone: where a wrong kernel's query comes from, and what becomes
// of the heads' mixes.
struct Scene {
    Attention<Real> attention;
    const Judged* y = nullptr;
    const Judged* weights = nullptr;  // null when not judged
    std::function<const Real*(Wrong, std::size_t b, std::size_t h, std::size_t i)> query;
    std::function<void(std::size_t b, std::size_t i, const std::vector<Wronged>&, Watch&)> watch_y;
};

void try_attention(const Scene& scene, Wrong wrong, bool with_position, Bank& bank) {
    if (wrong == Wrong::position_off_by_one && !with_position) return;
    const Heads<Real>& q = *scene.attention.q;
    const std::size_t columns = scene.attention.visibility->columns();
    Watch on_y(*scene.y);
    std::optional<Watch> on_weights;
    if (scene.weights != nullptr) on_weights.emplace(*scene.weights);
    Seen seen;
    for (std::size_t i = q.rows; i-- > 0;) {
        if (on_y.refused() && (!on_weights || on_weights->refused())) break;
        for (std::size_t b = 0; b < q.batch; ++b) {
            std::vector<Wronged> heads;
            for (std::size_t h = 0; h < q.heads; ++h) {
                scene.attention.visibility->see(b, h, i, seen);
                heads.push_back(
                    attend_wrong(scene.attention, wrong, scene.query(wrong, b, h, i), b, h, seen));
                if (!on_weights) continue;
                const std::size_t first = ((b * q.heads + h) * q.rows + i) * columns;
                for (std::size_t column = 0; column < columns; ++column)
                    on_weights->see(first + column, heads.back().weights[column]);
            }
            if (!scene.y->exact.empty()) scene.watch_y(b, i, heads, on_y);
        }
    }
    if (!scene.y->exact.empty()) on_y.conclude(wrong, bank.y);
    if (on_weights) on_weights->conclude(wrong, bank.weights);
}

// Keys or values as a wrong cache holds them: the row before, the next head's, rotated one position too far.
void try_cache(Wrong wrong, const Judged& judged, const Heads<Real>& heads, const Heads<Real>* turned_too_far,
               std::size_t first_row, std::vector<Trial>& trials) {
    Watch watch(judged);
    const std::size_t rows = judged.shape[2];
    for (std::size_t t = rows; t-- > 0 && !watch.refused();)
        for (std::size_t b = 0; b < heads.batch; ++b)
            for (std::size_t h = 0; h < heads.heads; ++h) {
                const std::size_t row = first_row + t;
                const Real* wronged = heads.at(b, h, row);
                if (wrong == Wrong::one_stale_key && row > 0) wronged = heads.at(b, h, row - 1);
                if (wrong == Wrong::wrong_head_group) wronged = heads.at(b, (h + 1) % heads.heads, row);
                if (wrong == Wrong::position_off_by_one && turned_too_far != nullptr)
                    wronged = turned_too_far->at(b, h, row);
                for (std::size_t f = 0; f < heads.width; ++f)
                    watch.see(((b * heads.heads + h) * rows + t) * heads.width + f, wronged[f]);
            }
    watch.conclude(wrong, trials);
}

void turn_all(Heads<Real>& heads, const Layer& layer, std::size_t first, std::int64_t shift) {
    std::vector<std::int64_t> positions;
    for (std::size_t t = 0; t < heads.rows; ++t)
        positions.push_back(static_cast<std::int64_t>(layer.first_position + first + t) + shift);
    const Turns<Real> turns = turn_by<Real>(layer.rope, positions, Formulation::definition);
    for (std::size_t outer = 0; outer < heads.batch * heads.heads; ++outer)
        for (std::size_t t = 0; t < heads.rows; ++t)
            rotate(heads.data.data() + (outer * heads.rows + t) * heads.width, layer.rope,
                   turns.cosines.data() + t * turns.pairs, turns.sines.data() + t * turns.pairs);
}

}  // namespace

std::string_view name_of(Wrong wrong) noexcept {
    switch (wrong) {
        case Wrong::zeros:
            return "zeros";
        case Wrong::negated:
            return "negated";
        case Wrong::doubled:
            return "doubled";
        case Wrong::uniform_weights:
            return "uniform weights";
        case Wrong::unscaled_scores:
            return "unscaled scores";
        case Wrong::last_key_dropped:
            return "last key dropped";
        case Wrong::one_stale_key:
            return "one stale key";
        case Wrong::frontier_off_by_one:
            return "frontier off by one";
        case Wrong::wrong_head_group:
            return "wrong head group";
        case Wrong::position_off_by_one:
            return "position off by one";
    }
    return "unknown";
}

Bank try_bank(const Layer& layer, const LayerJudgement& judgement, const LayerOptions& options) {
    const Rows rows = cut_rows(options.rows, layer.length);
    const Rows kept{0, rows.first + rows.count};
    const Matrix x(layer.x, layer.width);
    const std::vector<Real> wo = to_reals<Real>(layer.wo);
    Checked how{.formulation = Formulation::definition, .threads = options.threads};
    const auto heads_of = [&](std::span<const double> w, std::size_t heads, Rows which) {
        return project<Real>(x, layer.batch, layer.length, Matrix(w, layer.width), heads, layer.head_width,
                             which, how);
    };
    Heads<Real> q = heads_of(layer.wq, layer.heads, rows), k = heads_of(layer.wk, layer.kv_heads, kept);
    const Heads<Real> v = heads_of(layer.wv, layer.kv_heads, kept);
    Heads<Real> q_too_far = q, k_too_far = k;
    turn_all(q, layer, rows.first, 0);
    turn_all(k, layer, 0, 0);
    turn_all(q_too_far, layer, rows.first, 1);
    turn_all(k_too_far, layer, 0, 1);
    const Visibility visibility = Visibility::prefix(kept.count, rows.first, layer.length);

    Scene scene;
    scene.attention = {.q = &q,
                       .k = &k,
                       .v = &v,
                       .scale = 1 / sqrt(Real(layer.head_width)),
                       .softcap = std::nullopt,
                       .visibility = &visibility};
    scene.y = &judgement.y;
    scene.weights = judgement.weights.exact.empty() ? nullptr : &judgement.weights;
    scene.query = [&](Wrong wrong, std::size_t b, std::size_t h, std::size_t i) {
        return (wrong == Wrong::position_off_by_one ? q_too_far : q).at(b, h, i);
    };
    scene.watch_y = [&](std::size_t b, std::size_t i, const std::vector<Wronged>& heads, Watch& watch) {
        std::vector<Real> merged;
        for (const Wronged& head : heads)
            merged.insert(merged.end(), head.mixed.begin(), head.mixed.end());
        for (std::size_t f = 0; f < layer.width && !watch.refused(); ++f)
            watch.see(
                (b * rows.count + i) * layer.width + f,
                dot(wo.data() + f * merged.size(), merged.data(), merged.size(), Formulation::definition));
    };

    Bank bank;
    for (const Wrong wrong : kAll) {
        if (is_plain(wrong)) {
            try_plain(wrong, judgement.y, bank.y);
            try_plain(wrong, judgement.keys, bank.keys);
            try_plain(wrong, judgement.values, bank.values);
            try_plain(wrong, judgement.weights, bank.weights);
            continue;
        }
        if (!judgement.y.exact.empty() || scene.weights != nullptr) try_attention(scene, wrong, true, bank);
        if (!judgement.keys.exact.empty())
            try_cache(wrong, judgement.keys, k, &k_too_far, rows.first, bank.keys);
        if (!judgement.values.exact.empty())
            try_cache(wrong, judgement.values, v, nullptr, rows.first, bank.values);
    }
    return bank;
}

Bank try_bank(const Core& core, const CoreJudgement& judgement, const CoreOptions& options) {
    const Rows rows = cut_rows(options.rows, core.length);
    const Visibility visibility = Visibility::of(core, judgement.bias_lowest).from_row(rows.first);
    const CoreOperands<Real> operands(core, sources_of(core, rows), rows, visibility);
    Scene scene;
    scene.attention = operands.attention();
    scene.y = &judgement.y;
    scene.weights = judgement.weights.exact.empty() ? nullptr : &judgement.weights;
    scene.query = [&](Wrong, std::size_t b, std::size_t h, std::size_t i) {
        return scene.attention.q->at(b, h, i);
    };
    scene.watch_y = [&](std::size_t b, std::size_t i, const std::vector<Wronged>& heads, Watch& watch) {
        for (std::size_t h = 0; h < heads.size(); ++h)
            for (std::size_t f = 0; f < core.value_width; ++f)
                watch.see(((b * core.heads + h) * rows.count + i) * core.value_width + f, heads[h].mixed[f]);
    };
    Bank bank;
    for (const Wrong wrong : kAll) {
        if (is_plain(wrong)) {
            try_plain(wrong, judgement.y, bank.y);
            try_plain(wrong, judgement.weights, bank.weights);
        } else {
            try_attention(scene, wrong, false, bank);
        }
    }
    return bank;
}

}  // namespace attest::reference
