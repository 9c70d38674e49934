// What attest-reference prints.
#pragma once

#include <attest/reference/verdict.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace attest::reference::tool {

using Json = nlohmann::ordered_json;

// print writes one file's verdict as a table, a line a tensor.
void print(const std::string& path, const Task& task, const Verdict& verdict);

// print_expected writes one line an element: place, exact value, allowed error.
void print_expected(const Judged& judged);

Json to_json(const std::string& path, const Task& task, const Verdict& verdict);

}  // namespace attest::reference::tool
