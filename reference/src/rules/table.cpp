// Bank × rule, for the answers of a dump.
#include "judge/core_operands.hpp"

#include <attest/reference/rules.hpp>

#include <algorithm>

namespace attest::reference {
namespace {

std::vector<double> rounded(std::span<const Exact> values) {
    std::vector<double> result;
    result.reserve(values.size());
    for (const Exact& value : values)
        result.push_back(static_cast<double>(value));
    return result;
}

std::vector<Ruling> cells_of(Exhibit exhibit, std::span<const double> got, Ruling of_ours) {
    exhibit.got = got;
    std::vector<Ruling> cells;
    for (const Rule& rule : published_rules())
        cells.push_back(rule.judge(exhibit));
    cells.push_back(of_ours);
    return cells;
}

}  // namespace

WrongKernels wrong_kernels_of(const Task& task) {
    if (const auto* const layer = std::get_if<Layer>(&task.problem())) return WrongKernels(*layer);
    if (const auto* const core = std::get_if<Core>(&task.problem()))
        return {*core, lowest_bias(*core, task.arithmetic())};
    return WrongKernels(std::get<Rotary>(task.problem()));
}

RuleTable rule_table(const Judged& judged, Number type, std::span<const double> own,
                     const WrongKernels& kernels, const AttentionFacts* facts, std::span<const Wrong> shown) {
    const std::vector<double> want = rounded(judged.exact);
    const bool own_output = judged.name == "y" && facts != nullptr;
    const Exhibit exhibit{.got = {},
                          .want = want,
                          .type = type,
                          .is_weights = judged.name == "weights",
                          .is_attention = judged.name == "y",
                          .facts = own_output ? facts : nullptr};
    const std::vector<Ruling> nothing(published_rules().size() + 1, Ruling::not_applicable);
    RuleTable table;
    table.tensor = judged.name;
    table.rows.push_back({"the dump's answer", nothing});
    if (!own.empty()) {
        const Comparison comparison = compare(judged, own);
        Ruling of_ours = comparison.wrong != 0 ? Ruling::refuses : Ruling::accepts;
        if (comparison.wrong == 0 && comparison.unproved != 0) of_ours = Ruling::not_applicable;
        table.rows.front().cells = cells_of(exhibit, own, of_ours);
    }
    for (const Wrong wrong : shown) {
        const auto answer = kernels.answer(wrong, judged);
        table.rows.push_back({std::string(name_of(wrong)),
                              answer ? cells_of(exhibit, rounded(*answer), ours(judged, *answer)) : nothing});
    }
    return table;
}

std::expected<std::vector<RuleTable>, Error> rule_tables(const Task& task) {
    const auto judged = expectation(task);
    if (!judged) return std::unexpected(judged.error());
    const WrongKernels kernels = wrong_kernels_of(task);
    std::optional<AttentionFacts> facts;
    std::vector<RuleTable> tables;
    for (const Judged& one : *judged) {
        const auto own = std::find_if(task.answers().begin(), task.answers().end(),
                                      [&](const Answer& answer) { return answer.name == one.name; });
        const bool held = own != task.answers().end();
        if (one.exact.empty() || (!held && !(task.answers().empty() && one.name == "y"))) continue;
        const Number type = held ? own->type : task.arithmetic().arithmetic;
        const auto* const core = std::get_if<Core>(&task.problem());
        if (core != nullptr && one.name == "y")
            facts = facts_of(*core, lowest_bias(*core, task.arithmetic()), type);
        tables.push_back(rule_table(one, type,
                                    held ? std::span<const double>(own->values) : std::span<const double>{},
                                    kernels, facts ? &*facts : nullptr));
    }
    return tables;
}

}  // namespace attest::reference
