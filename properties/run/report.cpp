#include "report.hpp"

#include "attest/case/parse.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

namespace attest::properties {

namespace {

std::string_view word(RowOutcome outcome) {
    switch (outcome) {
        case RowOutcome::right:
            return "right";
        case RowOutcome::wrong:
            return "wrong";
        case RowOutcome::unusable:
            return "unusable";
    }
    return "unknown";
}

}  // namespace

bool write_report(const std::string& path, const std::vector<Row>& rows) {
    std::ofstream stream(path, std::ios::binary);
    for (const Row& row : rows) {
        nlohmann::ordered_json line = {{"name", row.name},
                                       {"outcome", word(row.outcome)},
                                       {"verdict", row.verdict},
                                       {"cases", row.cases},
                                       {"seconds", row.seconds}};
        if (!row.counterexample.empty()) {
            const auto one = cases::parse(row.counterexample);
            line["failed_seconds"] = row.failed_seconds;
            line["steps"] = one ? one->steps.size() : 0;
            line["case"] = row.counterexample;
        }
        if (!row.details.empty()) line["why"] = row.details.front();
        // A byte that is no UTF-8 in a message must not lose the whole report.
        stream << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    }
    stream.flush();
    return static_cast<bool>(stream);
}

}  // namespace attest::properties
