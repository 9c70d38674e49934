// The rules by which public projects judge attention, beside the bound of this one.
//
// Each rule is a function of a project, named and cited: it looks at an answer and at the exact values, and
// accepts or refuses the whole tensor, as its project's test would. Shown the bank of wrong kernels on
// somebody's own dump, the rules say how much each of them would have let through there.
//
//   auto tables = rule_tables(*task);          // one an answer tensor: bank × rule
//   tables->front().rows[0].cells[0]           // what the first rule says of the dump's own answer
#pragma once

#include <attest/reference/bank.hpp>
#include <attest/reference/verdict.hpp>

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attest::reference {

// AttentionFacts is what some rules ask of attention alone. Vectors are by element of the answer.
struct AttentionFacts {
    std::vector<double> magnitude;  // Σ_j p_j |v_j|
    std::vector<double> plain;      // the answer of plain attention computed in the answer's own precision
    double largest_q = 0, largest_k = 0, largest_v = 0;
    double scale = 0;
    std::size_t keys = 0, width = 0;
};

// Exhibit is one answer as the rules see it: got and want in C order, want rounded to double.
struct Exhibit {
    std::span<const double> got, want;
    Number type = Number::f64;              // what the answer is stored in
    bool is_weights = false;                // the answer is a softmax
    bool is_attention = false;              // the answer is attention's own output
    const AttentionFacts* facts = nullptr;  // null where the answer is not attention's own output
};

enum class Ruling : std::uint8_t { refuses, accepts, not_applicable };

// Rule is a published way to judge.
struct Rule {
    std::string_view name;
    std::string_view file;  // where it was read, in August 2026
    std::string_view text;  // accepts when
    Ruling (*judge)(const Exhibit&);
};

// published_rules gives them in the order of the tables.
[[nodiscard]] std::span<const Rule> published_rules() noexcept;

// facts_of computes what the rules ask of attention alone, in double.
[[nodiscard]] AttentionFacts facts_of(const Core& core, double bias_lowest, Number type);

// ours is the bound's ruling in the place of a rule: every element inside what it is allowed. An element
// without a bound is not applicable.
[[nodiscard]] Ruling ours(const Judged& judged, std::span<const Exact> got);

// RuleTable is one answer tensor. The cells of a row are those of published_rules, then ours.
struct RuleTable {
    struct Row {
        std::string kernel;
        std::vector<Ruling> cells;
    };
    std::string tensor;
    std::vector<Row> rows;  // the dump's own answer first, then the bank
};

// wrong_kernels_of makes the bank of a task's problem; the task must outlive it.
[[nodiscard]] WrongKernels wrong_kernels_of(const Task& task);

// rule_tables judges the answers a dump holds, or the kind's y where it holds none. Errors are those of
// verdict_on, nothing_to_judge apart.
[[nodiscard]] std::expected<std::vector<RuleTable>, Error> rule_tables(const Task& task);

// rule_table is one of them: `own` empty where there is no answer of the dump's own, and of the bank the
// kernels `shown`.
[[nodiscard]] RuleTable rule_table(const Judged& judged, Number type, std::span<const double> own,
                                   const WrongKernels& kernels, const AttentionFacts* facts,
                                   std::span<const Wrong> shown = kWrong);

}  // namespace attest::reference
