// The subcommands that compare tolerances: what published rules and the bound refuse, and the bound as one
// pair.
#pragma once

#include <attest/reference/rules.hpp>
#include <attest/reference/tolerance.hpp>
#include <attest/reference/verdict.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace attest::reference::tool {

// print_rules writes bank × rule, a line a kernel.
void print_rules(const std::string& path, const std::vector<RuleTable>& tables);
// print_rule_sources cites the rules, a line each.
void print_rule_sources();
[[nodiscard]] nlohmann::ordered_json rules_to_json(const std::string& path,
                                                   const std::vector<RuleTable>& tables);

// recommendations gives the pair for each answer the dump holds, or for y where it holds none.
[[nodiscard]] std::expected<std::vector<Recommendation>, Error> recommendations(const Task& task);
void print_recommendations(const std::string& path, const Task& task, const std::vector<Recommendation>& all);
[[nodiscard]] nlohmann::ordered_json recommendations_to_json(const std::string& path,
                                                             const std::vector<Recommendation>& all);

// rules and bound are the subcommands; each gives the program's exit code.
[[nodiscard]] int rules(const std::vector<std::string>& paths, const std::string& json_path);
[[nodiscard]] int bound(const std::string& path, const std::string& json_path);

}  // namespace attest::reference::tool
