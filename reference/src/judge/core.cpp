// Attention alone.
#include "judge/attention.hpp"
#include "judge/core_operands.hpp"
#include "judge/doubt.hpp"
#include "judge/inputs.hpp"
#include "judge/row_judge.hpp"
#include "parallel.hpp"

#include <attest/reference/judge.hpp>

#include <algorithm>
#include <cmath>

namespace attest::reference {
namespace {

// A visible key or value must be finite. `seen` becomes the number of keys that the selected rows see.
std::optional<Error> check_visible(const Core& core, const Visibility& visibility, Rows rows,
                                   std::size_t& keys_seen) {
    const std::size_t columns = core.past + core.keys;
    std::vector<bool> visible(core.batch * core.kv_heads * columns, false);
    Seen seen;
    const std::size_t group = core.heads / core.kv_heads;
    for (std::size_t b = 0; b < core.batch; ++b)
        for (std::size_t h = 0; h < core.heads; ++h)
            for (std::size_t i = 0; i < core.length; ++i) {
                visibility.see(b, h, i, seen);
                if (i >= rows.first && i - rows.first < rows.count) keys_seen += seen.columns.size();
                for (const std::size_t column : seen.columns)
                    visible[(b * core.kv_heads + h / group) * columns + column] = true;
            }
    const auto look = [&](const char* name, const Lent& vectors) -> std::optional<Error> {
        for (std::size_t n = 0; n < vectors.size(); ++n) {
            if (!visible[n]) continue;
            const std::span<const double> values = vectors[n];
            for (std::size_t f = 0; f < values.size(); ++f)
                if (!std::isfinite(values[f]))
                    return Error{Error::Code::non_finite, name,
                                 "feature " + std::to_string(f) + " of visible column " +
                                     std::to_string(n % columns) + " is " + std::to_string(values[f])};
        }
        return std::nullopt;
    };
    if (auto bad = look("k", keys_of(core))) return bad;
    return look("v", values_of(core));
}

Operand operand_of(const Model& model, const Lent& vectors) {
    Operand operand;
    operand.reasons.assign(vectors.size(), NoBound::none);
    for (std::size_t n = 0; n < vectors.size(); ++n)
        for (const double given : vectors[n]) {
            const double value = finite_or_0(given);
            if (model.input(value).value() != 0) operand.magnitudes.has_error = true;
            if (std::fabs(value) > model.largest_stored()) operand.reasons[n] = NoBound::input_overflow;
        }
    return operand;
}

// A present tensor is a copy: only a type that can't hold an element may change it.
Judged present_of(const char* name, const Model& model, const Lent& vectors, Upper answer_error) {
    Judged judged;
    judged.name = name;
    judged.shape = {vectors.batch, vectors.heads, vectors.rows, vectors.width};
    judged.row_axis = 2;
    judged.exact.reserve(vectors.size() * vectors.width);
    judged.allowed.reserve(vectors.size() * vectors.width);
    for (std::size_t n = 0; n < vectors.size(); ++n)
        for (const double value : vectors[n]) {
            Upper error;
            if (std::isfinite(value)) {
                error = model.input(value) + answer_error;
                if (std::fabs(value) > model.largest_stored()) error = Upper::infinity();
            }
            if (!error.finite() && judged.no_bound == NoBound::none) {
                judged.no_bound = NoBound::input_overflow;
                judged.no_bound_at = judged.exact.size();
            }
            judged.exact.emplace_back(value);
            judged.allowed.push_back(error.value());
        }
    return judged;
}

Judged empty_judged(std::string name, const Core& core, std::size_t rows, std::size_t width) {
    Judged judged;
    judged.name = std::move(name);
    judged.shape = {core.batch, core.heads, rows, width};
    judged.exact.resize(core.batch * core.heads * rows * width);
    judged.allowed.resize(judged.exact.size());
    return judged;
}

// What one row says beside its numbers.
struct Note {
    NoBound no_bound = NoBound::none;
    std::size_t no_bound_at = 0;
    double disagreement = 0;
};

// put copies a row's answer into the whole.
Note put(const Judged& row, double disagreement, std::size_t index, Judged& whole) {
    const auto first = static_cast<std::ptrdiff_t>(index * row.exact.size());
    std::copy(row.exact.begin(), row.exact.end(), whole.exact.begin() + first);
    std::copy(row.allowed.begin(), row.allowed.end(), whole.allowed.begin() + first);
    return {row.no_bound, index * row.exact.size() + row.no_bound_at, disagreement};
}

// sum_up_notes takes over the first reason and gives the worst disagreement.
double sum_up_notes(const std::vector<Note>& notes, Judged& whole) {
    double worst = 0;
    for (const Note& note : notes) {
        worst = std::max(worst, note.disagreement);
        if (whole.no_bound != NoBound::none || note.no_bound == NoBound::none) continue;
        whole.no_bound = note.no_bound;
        whole.no_bound_at = note.no_bound_at;
    }
    return worst;
}

// CoreRows judges row after row, both evaluations of one before the next: no answer is kept but as doubles.
template <class N, class N2>
class CoreRows {
  public:
    CoreRows(const Model& model, const Attention<N>& once, const Attention<N2>& again,
             const Operands& operands, bool with_weights, bool doubted)
        : answer_error_(model.told().answer_error),
          judge_(model, once, operands, with_weights),
          again_(again, with_weights),
          first_(empty_result(once, 1, 1, 1, with_weights)),
          second_(empty_result(again, 1, 1, 1, with_weights)),
          doubted_(doubted) {}

    void judge(std::size_t index, Judged& y, Note& y_note, Judged& weights, Note& weights_note) {
        judge_.judge(index, 0, first_);
        if (doubted_) again_.attend(index, 0, second_);
        y_note = finish(index, first_.mixed.data, first_.mixed_allowed, second_.mixed.data, y);
        weights_note = finish(index, first_.weights, first_.weights_allowed, second_.weights, weights);
    }

  private:
    Note finish(std::size_t index, const std::vector<N>& first, const Allowed& allowed,
                const std::vector<N2>& second, Judged& whole) const {
        Judged row = judged_of({}, {}, first, allowed, answer_error_);
        const double disagreement = doubted_ ? widen(row, first, second) : 0;
        return put(row, disagreement, index, whole);
    }

    Upper answer_error_;
    RowJudge<N> judge_;
    RowAgain<N2> again_;
    BoundedAttention<N> first_;
    BoundedAttention<N2> second_;
    bool doubted_;
};

template <class N, class N2>
CoreJudgement judge_in(const Core& core, const Arithmetic& arithmetic, const CoreOptions& options,
                       const Visibility& visibility) {
    const Model model(arithmetic, core.scale ? 1 : core.width);
    const Rows rows = options.rows;
    const Upper answer_error(arithmetic.answer_error);
    CoreJudgement result;
    result.y = empty_judged("y", core, rows.count, core.value_width);
    if (options.weights) result.weights = empty_judged("weights", core, rows.count, core.past + core.keys);
    {
        const Operand q = operand_of(model, queries_of(core, rows));
        const Operand k = operand_of(model, keys_of(core));
        const Operand v = operand_of(model, values_of(core));
        const auto once = attention_of<N>(core, rows, visibility, options.progress);
        const auto again = attention_of<N2>(core, rows, visibility, options.progress);
        std::vector<Note> y_notes(core.batch * core.heads * rows.count), weights_notes(y_notes.size());
        parallel(y_notes.size(), options.threads,
                 [&, judge = CoreRows<N, N2>(model, once, again, {&q, &k, &v}, options.weights,
                                             options.doubt == Doubt::full)](std::size_t begin,
                                                                            std::size_t end) mutable {
                     for (std::size_t n = begin; n < end; ++n)
                         judge.judge(n, result.y, y_notes[n], result.weights, weights_notes[n]);
                 });
        result.disagreement =
            std::max(sum_up_notes(y_notes, result.y), sum_up_notes(weights_notes, result.weights));
    }
    if (options.present) {
        result.present_k = present_of("present_k", model, keys_of(core), answer_error);
        result.present_v = present_of("present_v", model, values_of(core), answer_error);
    }
    for (Judged* judged : {&result.y, &result.weights}) {
        judged->row_axis = 2;
        judged->first_row = rows.first;
    }
    return result;
}

}  // namespace

std::expected<CoreJudgement, Error> judge(const Core& core, const Arithmetic& arithmetic,
                                          const CoreOptions& options) {
    if (std::optional<Error> bad = check(core)) return std::unexpected(std::move(*bad));
    CoreOptions cut = options;
    cut.rows = cut_rows(options.rows, core.length);
    const double lowest = lowest_bias(core, arithmetic);
    const Visibility visibility = Visibility::of(core, lowest);
    std::size_t keys = 0;
    if (auto bad = check_visible(core, visibility, cut.rows, keys)) return std::unexpected(std::move(*bad));
    const auto expect = [&] {
        expect_features(options.progress, keys, core.width, core.value_width, options.doubt);
    };
    const Visibility selected = visibility.from_row(cut.rows.first);
    expect();
    CoreJudgement result = judge_in<Real, Real100>(core, arithmetic, cut, selected);
    if (result.disagreement > kAgreement) {
        expect();
        result = judge_in<Real400, Real800>(core, arithmetic, cut, selected);
    }
    if (result.disagreement > kAgreement) return std::unexpected(disagreement_error(result.disagreement));
    result.bias_lowest = lowest;
    return result;
}

}  // namespace attest::reference
