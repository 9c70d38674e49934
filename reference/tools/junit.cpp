#include "escape.hpp"
#include "records.hpp"
#include "report.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <string>

namespace attest::reference::tool {
namespace {

std::string sentence(const TensorVerdict& tensor) {
    const Finding& worst = tensor.comparison.worst;
    return fmt::format(
        "{} of {} elements wrong; worst at {}: got {:.17g}, want {:.17g}, error {:.3g}, allowed {:.3g}",
        tensor.comparison.wrong, tensor.comparison.compared, place_text(worst.place), worst.got, worst.want,
        worst.error, worst.allowed);
}

void put(pugi::xml_node node, const char* name, const std::string& value) {
    node.append_attribute(name).set_value(value.c_str());
}

// One test case a tensor; failures are wrong answers, errors are what could not be judged.
struct Counts {
    std::size_t tests = 0, failures = 0, errors = 0;
};

pugi::xml_node add_case(pugi::xml_node suite, const std::string& path, const std::string& name,
                        double seconds) {
    pugi::xml_node test = suite.append_child("testcase");
    put(test, "classname", escape(path));
    put(test, "name", name);
    put(test, "time", fmt::format("{:.3f}", seconds));
    return test;
}

void fail(pugi::xml_node test, const char* kind, const std::string& type, const std::string& message,
          const std::string& text) {
    pugi::xml_node node = test.append_child(kind);
    put(node, "type", type);
    put(node, "message", message);
    node.text().set(text.c_str());
}

void add_tensor(pugi::xml_node suite, const Record& record, const TensorVerdict& tensor, Counts& counts) {
    ++counts.tests;
    pugi::xml_node test = add_case(suite, record.path, tensor.name, record.seconds);
    if (tensor.outcome == Outcome::wrong) {
        ++counts.failures;
        std::string text = sentence(tensor);
        for (const std::string& pattern : record.verdict->diagnosis.patterns)
            text += "\nwhere: " + pattern;
        for (const Explanation& explanation : record.verdict->diagnosis.explanations)
            text += "\nmatches: " + explanation.cause;
        fail(test, "failure", "wrong", sentence(tensor), text);
    } else if (tensor.outcome == Outcome::unproved) {
        ++counts.errors;
        const std::string why(name_of(tensor.no_bound));
        fail(test, "error", "NoBound", why, why);
    } else if (record.exit == 1 && record.verdict->outcome == Outcome::right && !tensor.blind.empty()) {
        ++counts.failures;
        const std::string blind = "the bound would have passed: " + blindness(tensor);
        fail(test, "failure", "blind", blind, blind);
    } else if (!tensor.blind.empty()) {
        test.append_child("system-out").text().set(("blind to: " + blindness(tensor)).c_str());
    }
}

}  // namespace

bool write_junit(const std::string& path, const std::vector<Record>& records) {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    put(declaration, "version", "1.0");
    put(declaration, "encoding", "UTF-8");
    pugi::xml_node suites = document.append_child("testsuites");
    for (const Record& record : records) {
        pugi::xml_node suite = suites.append_child("testsuite");
        put(suite, "name", escape(record.path));
        Counts counts;
        if (record.verdict) {
            for (const TensorVerdict& tensor : record.verdict->tensors)
                add_tensor(suite, record, tensor, counts);
        } else {
            counts = {.tests = 1, .failures = 0, .errors = 1};
            fail(add_case(suite, record.path, "file", record.seconds), "error",
                 record.exit == 3 ? "Disagreement" : "unusable", escape(record.refusal),
                 escape(record.refusal));
        }
        put(suite, "tests", std::to_string(counts.tests));
        put(suite, "failures", std::to_string(counts.failures));
        put(suite, "errors", std::to_string(counts.errors));
        put(suite, "time", fmt::format("{:.3f}", record.seconds));
    }
    return document.save_file(path.c_str(), "  ");
}

}  // namespace attest::reference::tool
