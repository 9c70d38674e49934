#include <attest/reference/verdict.hpp>

#include "bound/outward.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace attest::reference {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

// An answer kept in a narrower type than it was computed in was rounded once more.
void store_as(Judged& judged, Number type, const Arithmetic& arithmetic) {
    if (contains(type, arithmetic.arithmetic)) return;
    const Format format = format_of(type);
    const double doubled = arithmetic.rounding == Rounding::faithful ? 2 : 1;
    const Upper unit(doubled * format.unit);
    const Upper omega(arithmetic.subnormals == Subnormals::flushed ? format.normal
                                                                   : doubled * format.smallest);
    for (std::size_t n = 0; n < judged.allowed.size(); ++n) {
        const Upper highest =
            Upper(judged.exact[n].head) + Upper(judged.exact[n].tail) + Upper(judged.allowed[n]);
        if (highest.value() == 0) continue;
        Upper allowed = Upper(judged.allowed[n]) + unit * highest + omega;
        if (!(highest.value() < format.largest)) allowed = Upper::infinity();
        judged.allowed[n] = allowed.value();
        if (!allowed.finite() && judged.no_bound == NoBound::none) {
            judged.no_bound = NoBound::input_overflow;
            judged.no_bound_at = n;
        }
    }
}

// All judged tensors of a task, with their trials where there is a bank.
struct Everything {
    std::vector<Judged> judged;
    std::map<std::string, std::vector<Trial>> trials;
    double disagreement = 0;
    double bias_lowest = 0;
};

bool holds_answer(const Task& task, std::string_view name) {
    return std::any_of(task.answers().begin(), task.answers().end(),
                       [&](const Answer& answer) { return answer.name == name; });
}

void store_answers(const Task& task, std::initializer_list<Judged*> judged) {
    for (Judged* one : judged)
        for (const Answer& answer : task.answers())
            if (answer.name == one->name) store_as(*one, answer.type, task.arithmetic());
}

using Result = std::expected<Everything, Error>;

// `all`: every answer of the kind, not only those the dump holds.
// The oracle obeys what it judges: a row is what it is in its prefix, whichever rows are asked for.
template <class Problem, class Options>
std::optional<Error> doubt_prefix(const Problem& problem, const Task& task, const Judged& whole,
                                  Options options) {
    // A single row is its own prefix.
    if (whole.exact.empty() || problem.length <= 1) return std::nullopt;
    options.rows = {problem.length - 1, 1};
    options.weights = false;
    options.doubt = Doubt::none;
    options.progress = nullptr;
    const auto last = judge(problem, task.arithmetic(), options);
    if (!last) return last.error();
    // Rows stand at one axis; what follows it is one row's elements.
    std::size_t width = 1;
    for (std::size_t axis = whole.row_axis + 1; axis < whole.shape.size(); ++axis)
        width *= whole.shape[axis];
    const std::size_t rows = whole.shape[whole.row_axis];
    for (std::size_t n = 0; n < last->y.exact.size(); ++n) {
        const std::size_t there = (n / width * rows + rows - 1) * width + n % width;
        if (last->y.exact[n] != whole.exact[there])
            return Error{
                Error::Code::disagreement, "oracle",
                "the last row alone is not what it is in its prefix, at element " + std::to_string(there)};
    }
    return std::nullopt;
}

Result judge_layer(const Task& task, const Layer& layer, bool all, const VerdictOptions& how) {
    LayerOptions options;
    options.threads = how.threads;
    options.progress = how.progress;
    options.y = all || holds_answer(task, "y");
    options.keys = all || holds_answer(task, "keys");
    options.values = all || holds_answer(task, "values");
    options.weights = holds_answer(task, "weights");
    auto judgement = judge(layer, task.arithmetic(), options);
    if (!judgement) return std::unexpected(judgement.error());
    if (auto doubt = doubt_prefix(layer, task, judgement->y, options)) return std::unexpected(*doubt);
    store_answers(task, {&judgement->y, &judgement->keys, &judgement->values, &judgement->weights});
    Everything everything;
    if (!all) {
        Bank bank = try_bank(layer, *judgement, options);
        everything.trials = {{"y", std::move(bank.y)},
                             {"keys", std::move(bank.keys)},
                             {"values", std::move(bank.values)},
                             {"weights", std::move(bank.weights)}};
    }
    everything.disagreement = judgement->disagreement;
    for (Judged* judged : {&judgement->y, &judgement->keys, &judgement->values, &judgement->weights})
        if (!judged->name.empty()) everything.judged.push_back(std::move(*judged));
    return everything;
}

Result judge_core(const Task& task, const Core& core, bool all, const VerdictOptions& how) {
    CoreOptions options;
    options.threads = how.threads;
    options.progress = how.progress;
    options.weights = holds_answer(task, "weights");
    options.present = all || holds_answer(task, "present_k") || holds_answer(task, "present_v");
    auto judgement = judge(core, task.arithmetic(), options);
    if (!judgement) return std::unexpected(judgement.error());
    if (auto doubt = doubt_prefix(core, task, judgement->y, options)) return std::unexpected(*doubt);
    store_answers(task, {&judgement->y, &judgement->weights, &judgement->present_k, &judgement->present_v});
    Everything everything;
    if (!all) {
        Bank bank = try_bank(core, *judgement, options);
        everything.trials = {{"y", std::move(bank.y)}, {"weights", std::move(bank.weights)}};
    }
    everything.disagreement = judgement->disagreement;
    everything.bias_lowest = judgement->bias_lowest;
    for (Judged* judged : {&judgement->y, &judgement->weights, &judgement->present_k, &judgement->present_v})
        if (!judged->name.empty()) everything.judged.push_back(std::move(*judged));
    return everything;
}

Result judge_rotary(const Task& task, const Rotary& rotary) {
    auto judgement = judge(rotary, task.arithmetic());
    if (!judgement) return std::unexpected(judgement.error());
    store_answers(task, {&judgement->y});
    Everything everything;
    everything.disagreement = judgement->disagreement;
    everything.judged.push_back(std::move(judgement->y));
    return everything;
}

Result judge_all(const Task& task, bool all, const VerdictOptions& how) {
    return std::visit(Overloaded{[&](const Layer& layer) { return judge_layer(task, layer, all, how); },
                                 [&](const Core& core) { return judge_core(task, core, all, how); },
                                 [&](const Rotary& rotary) { return judge_rotary(task, rotary); }},
                      task.problem());
}

Outcome outcome_of(const Comparison& comparison) {
    if (comparison.wrong != 0) return Outcome::wrong;
    return comparison.unproved != 0 ? Outcome::unproved : Outcome::right;
}

const Judged& judged_for(const Everything& everything, const Answer& answer) {
    return *std::find_if(everything.judged.begin(), everything.judged.end(),
                         [&](const Judged& one) { return one.name == answer.name; });
}

Diagnosis diagnosis_of(const Task& task, const Everything& everything) {
    std::vector<Evidence> evidence;
    for (const Answer& answer : task.answers()) {
        const Judged& judged = judged_for(everything, answer);
        Evidence one{
            .name = answer.name, .shape = judged.shape, .got = answer.values, .allowed = judged.allowed};
        one.want.reserve(judged.exact.size());
        for (const Exact& exact : judged.exact)
            one.want.push_back(static_cast<double>(exact));
        evidence.push_back(std::move(one));
    }
    return diagnose(task.problem(), everything.bias_lowest, evidence);
}

}  // namespace

bool Verdict::blind() const noexcept {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const TensorVerdict& tensor) { return !tensor.blind.empty(); });
}

std::string_view name_of(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::right:
            return "right";
        case Outcome::wrong:
            return "wrong";
        case Outcome::unproved:
            return "unproved";
    }
    return "unknown";
}

std::expected<Verdict, Error> verdict_on(const Task& task, const VerdictOptions& options) {
    if (task.answers().empty())
        return std::unexpected(Error{Error::Code::nothing_to_judge, "", "the dump holds no answer tensor"});
    if (std::all_of(task.answers().begin(), task.answers().end(),
                    [](const Answer& answer) { return answer.values.empty(); }))
        return std::unexpected(Error{Error::Code::nothing_to_judge, "", "every answer tensor is empty"});
    auto everything = judge_all(task, false, options);
    if (!everything) return std::unexpected(everything.error());

    Verdict verdict;
    verdict.kind = task.kind();
    verdict.disagreement = everything->disagreement;
    verdict.outcome = Outcome::right;
    for (const Answer& answer : task.answers()) {
        const Judged& judged = judged_for(*everything, answer);
        TensorVerdict tensor;
        tensor.name = answer.name;
        tensor.comparison = compare(judged, answer.values);
        tensor.no_bound = judged.no_bound;
        tensor.outcome = outcome_of(tensor.comparison);
        for (const Trial& trial : everything->trials[answer.name]) {
            ++tensor.tried;
            if (!trial.refused) tensor.blind.push_back(trial.wrong);
        }
        if (tensor.outcome == Outcome::wrong || verdict.outcome == Outcome::right)
            verdict.outcome = tensor.outcome;
        verdict.tensors.push_back(std::move(tensor));
    }
    if (verdict.outcome == Outcome::wrong) verdict.diagnosis = diagnosis_of(task, *everything);
    return verdict;
}

std::expected<std::vector<Judged>, Error> expectation(const Task& task) {
    auto everything = judge_all(task, true, {});
    if (!everything) return std::unexpected(everything.error());
    return std::move(everything->judged);
}

}  // namespace attest::reference
