#include "distribution.hpp"

#include "attest/case/rows.hpp"
#include "attest/case/words.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attest::properties {

namespace {

// 0, 1, 2-3, 4-7, … in powers of two.
std::string bucket(std::uint64_t count) {
    if (count < 2) return fmt::format("{}", count);
    std::uint64_t least = 2;
    while (least <= count / 2) {
        least *= 2;
    }
    if (least > 1u << 20) return "huge";
    return fmt::format("{}-{}", least, 2 * least - 1);
}

std::string_view grouping(const cases::Case& one) {
    if (one.heads == 0 || one.kv_heads == 0) return "none";
    if (one.heads == 1) return "one head";
    if (one.heads == one.kv_heads) return "a key for each";
    return one.kv_heads == 1 ? "one key for all" : "grouped";
}

std::string_view filled(const cases::Case& one, std::uint64_t rows) {
    if (rows == one.capacity) return "exactly full";
    return rows < one.capacity ? "with room" : "overfull";
}

}  // namespace

void Distribution::add(const cases::Case& one) {
    ++cases_;
    const std::uint64_t rows = cases::rows_needed(one);
    const auto note = [this](const char* question, std::string answer) {
        ++counts_[question][std::move(answer)];
    };
    note("type", std::string(cases::to_text(one.type)));
    note("batch", bucket(one.batch));
    note("heads", std::string(grouping(one)));
    note("head width", bucket(one.head_width));
    note("width", bucket(one.width));
    note("rows", bucket(rows));
    note("capacity", std::string(filled(one, rows)));
    note("first position", bucket(one.rope.first));
    note("rope", one.rope.width == 0               ? "none"
                 : one.rope.width < one.head_width ? "part of a head"
                                                   : std::string(cases::to_text(one.rope.pairs)));
    note("values", std::string(cases::to_text(one.values.filling)));
    note("sets", bucket(one.sets.size()));
    note("steps", bucket(one.steps.size()));
    std::set<std::string> fills;
    for (const cases::Fill& fill : one.fills) {
        fills.emplace(cases::to_text(fill.filling));
    }
    for (const std::string& fill : fills) {
        note("fills", fill);
    }
    std::set<std::string> verbs;
    for (const cases::Step& step : one.steps) {
        std::string verb(cases::to_text(step.verb));
        if (step.verb == cases::Verb::layer) verb += fmt::format(" {}", cases::to_text(step.variant));
        verbs.insert(std::move(verb));
    }
    for (const std::string& verb : verbs) {
        note("cases with", verb);
    }
}

std::string Distribution::text() const {
    std::string lines;
    for (const auto& [question, answers] : counts_) {
        std::vector<std::pair<std::string, std::uint64_t>> sorted(answers.begin(), answers.end());
        std::sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
            return left.second != right.second ? left.second > right.second : left.first < right.first;
        });
        std::string line;
        for (const auto& [answer, count] : sorted) {
            line += fmt::format("{}{} {:.1f} %", line.empty() ? "" : ", ", answer,
                                100 * static_cast<double>(count) / static_cast<double>(cases_));
        }
        lines += fmt::format("    {}: {}\n", question, line);
    }
    return lines;
}

}  // namespace attest::properties
