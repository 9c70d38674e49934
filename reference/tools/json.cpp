#include "records.hpp"
#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace attest::reference::tool {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity and no NaN: those become text.
Json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

Json finding(const Finding& found) {
    return {{"place", found.place},
            {"got", number(found.got)},
            {"want", number(found.want)},
            {"error", number(found.error)},
            {"allowed", number(found.allowed)},
            {"ratio", number(found.ratio)},
            {"got_hex", fmt::format("{:a}", found.got)},
            {"want_hex", fmt::format("{:a}", found.want)}};
}

Json histogram(const Comparison& comparison) {
    Json steps = Json::array();
    for (std::size_t n = 0; n < comparison.histogram.size(); ++n)
        steps.push_back({{"up_to", n < kRatioEdges.size() ? Json(kRatioEdges[n]) : Json("inf")},
                         {"elements", comparison.histogram[n]}});
    return steps;
}

Json tensor_json(const TensorVerdict& tensor) {
    const Comparison& comparison = tensor.comparison;
    Json one = {{"name", tensor.name},
                {"verdict", name_of(tensor.outcome)},
                {"elements", comparison.compared},
                {"wrong", comparison.wrong},
                {"unproved", comparison.unproved},
                {"worst", finding(comparison.worst)}};
    if (comparison.wrong != 0) one["first_wrong"] = finding(comparison.first_wrong);
    if (comparison.unproved != 0) one["no_bound"] = name_of(tensor.no_bound);
    Json ranked = Json::array();
    for (const Finding& found : comparison.ranked)
        ranked.push_back(finding(found));
    one["worst_ten"] = std::move(ranked);
    one["histogram"] = histogram(comparison);
    one["wrong_kernels_tried"] = tensor.tried;
    Json blind = Json::array();
    for (const Wrong wrong : tensor.blind)
        blind.push_back(name_of(wrong));
    one["blind"] = std::move(blind);
    return one;
}

Json diagnosis_json(const Diagnosis& diagnosis) {
    Json explanations = Json::array();
    for (const Explanation& explanation : diagnosis.explanations)
        explanations.push_back({{"cause", explanation.cause},
                                {"tensors", explanation.tensors},
                                {"worst_ratio", number(explanation.worst_ratio)}});
    return {{"complete", diagnosis.complete},
            {"explanations", std::move(explanations)},
            {"where", diagnosis.patterns},
            {"suspects_tried", diagnosis.tried}};
}

Json record_json(const Record& record) {
    if (!record.verdict)
        return {
            {"file", record.path}, {"verdict", "unusable"}, {"error", record.refusal}, {"exit", record.exit}};
    const Verdict& verdict = *record.verdict;
    Json tensors = Json::array();
    for (const TensorVerdict& tensor : verdict.tensors)
        tensors.push_back(tensor_json(tensor));
    Json stages = Json::array();
    for (const TensorVerdict* const stage : stages_of(verdict))
        stages.push_back(stage->name);
    Json one = {{"file", record.path},
                {"kind", verdict.kind},
                {"arithmetic", record.arithmetic},
                {"verdict", name_of(verdict.outcome)},
                {"exit", record.exit},
                {"seconds", record.seconds},
                {"disagreement", number(verdict.disagreement)},
                {"stages", std::move(stages)},
                {"tensors", std::move(tensors)}};
    if (verdict.outcome == Outcome::wrong) one["diagnosis"] = diagnosis_json(verdict.diagnosis);
    return one;
}

}  // namespace

bool write_json(const std::string& path, const std::vector<Record>& records) {
    Json json = Json::array();
    for (const Record& record : records)
        json.push_back(record_json(record));
    std::ofstream out(path);
    // A file's name may hold any byte; JSON holds UTF-8 alone.
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return static_cast<bool>(out.flush());
}

}  // namespace attest::reference::tool
