#include "rules.hpp"

#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace attest::reference::tool {
namespace {

using Json = nlohmann::ordered_json;

const char* word(Ruling ruling) {
    switch (ruling) {
        case Ruling::refuses:
            return "refuses";
        case Ruling::accepts:
            return "passes";
        case Ruling::not_applicable:
            break;
    }
    return "n/a";
}

const char* const kOurs = "bound";

}  // namespace

void print_rules(const std::string& path, const std::vector<RuleTable>& tables) {
    for (const RuleTable& table : tables) {
        fmt::print("{}: {}\n  {:<24}", path, table.tensor, "");
        for (const Rule& rule : published_rules())
            fmt::print(" {:<11}", rule.name);
        fmt::print(" {}\n", kOurs);
        for (const RuleTable::Row& row : table.rows) {
            fmt::print("  {:<24}", row.kernel);
            for (std::size_t n = 0; n < row.cells.size(); ++n)
                fmt::print(" {:<{}}", word(row.cells[n]), n + 1 == row.cells.size() ? 0 : 11);
            fmt::print("\n");
        }
    }
}

void print_rule_sources() {
    fmt::print("g = got, w = want, u of the answer's type, eps = 2u\n");
    for (const Rule& rule : published_rules())
        fmt::print("  {:<11} {} ({})\n", rule.name, rule.text, rule.file);
    fmt::print("  {:<11} each |g−w| inside the error allowed to it (reference/PROOF.md)\n", kOurs);
}

Json rules_to_json(const std::string& path, const std::vector<RuleTable>& tables) {
    Json all = Json::array();
    for (const RuleTable& table : tables) {
        Json rows = Json::array();
        for (const RuleTable::Row& row : table.rows) {
            Json cells;
            for (std::size_t n = 0; n < published_rules().size(); ++n)
                cells[std::string(published_rules()[n].name)] = word(row.cells[n]);
            cells[kOurs] = word(row.cells.back());
            rows.push_back({{"kernel", row.kernel}, {"rules", std::move(cells)}});
        }
        all.push_back({{"tensor", table.tensor}, {"rows", std::move(rows)}});
    }
    return {{"file", path}, {"tables", std::move(all)}};
}

std::expected<std::vector<Recommendation>, Error> recommendations(const Task& task) {
    const auto judged = expectation(task);
    if (!judged) return std::unexpected(judged.error());
    const WrongKernels kernels = wrong_kernels_of(task);
    std::vector<Recommendation> all;
    for (const Judged& one : *judged) {
        const bool held = std::any_of(task.answers().begin(), task.answers().end(),
                                      [&](const Answer& answer) { return answer.name == one.name; });
        if (one.exact.empty() || (!held && !(task.answers().empty() && one.name == "y"))) continue;
        all.push_back(recommend(one, kernels));
    }
    if (all.empty())
        return std::unexpected(Error{Error::Code::nothing_to_judge, "", "every answer tensor is empty"});
    return all;
}

void print_recommendations(const std::string& path, const Task& task,
                           const std::vector<Recommendation>& all) {
    fmt::print("{}: {}, {}\n", path, task.kind(), name_of(task.arithmetic().arithmetic));
    for (const Recommendation& one : all) {
        if (!one.pair) {
            fmt::print("  {}: no pair, since some element has no bound: {}\n", one.tensor,
                       name_of(one.no_bound));
            continue;
        }
        fmt::print(
            "  {0}: atol={1:.2e}, rtol={2:.2e}\n"
            "    np.testing.assert_allclose({0}, want, rtol={2:.2e}, atol={1:.2e})\n",
            one.tensor, one.pair->atol, one.pair->rtol);
        fmt::print(
            "    Of the pairs that cover each element's bound here, the one that allows least on "
            "average; want in float64.\n"
            "    It allows {:.3g} times the element's own bound in the median, {:.3g} times at most.\n",
            one.looser_median, one.looser_most);
        for (const Recommendation::Kernel& kernel : one.kernels)
            if (!kernel.pair_refuses)
                fmt::print("    blind to: {}{}\n", name_of(kernel.wrong),
                           kernel.bound_refuses ? ", which the bound of each element refuses" : "");
    }
}

Json recommendations_to_json(const std::string& path, const std::vector<Recommendation>& all) {
    Json tensors = Json::array();
    for (const Recommendation& one : all) {
        Json tensor = {{"tensor", one.tensor}};
        if (one.pair) {
            tensor["atol"] = one.pair->atol;
            tensor["rtol"] = one.pair->rtol;
            tensor["looser_median"] = one.looser_median;
            tensor["looser_most"] = one.looser_most;
        } else {
            tensor["no_bound"] = name_of(one.no_bound);
        }
        Json kernels = Json::array();
        for (const Recommendation::Kernel& kernel : one.kernels)
            kernels.push_back({{"kernel", name_of(kernel.wrong)},
                               {"pair", word(kernel.pair_refuses ? Ruling::refuses : Ruling::accepts)},
                               {kOurs, word(kernel.bound_refuses ? Ruling::refuses : Ruling::accepts)}});
        tensor["kernels"] = std::move(kernels);
        tensors.push_back(std::move(tensor));
    }
    return {{"file", path}, {"tensors", std::move(tensors)}};
}

namespace {

bool write_json(const std::string& path, const Json& json) {
    if (path.empty()) return true;
    std::ofstream out(path);
    // A name that is no UTF-8 is shown as far as it goes.
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    if (out.flush()) return true;
    fmt::print(stderr, "{}: CannotWrite\n", path);
    return false;
}

}  // namespace

int rules(const std::vector<std::string>& paths, const std::string& json_path) {
    int worst = kRight;
    Json json = Json::array();
    for (const std::string& path : paths) {
        const auto task = load(path);
        const auto tables = task ? rule_tables(*task) : std::vector<RuleTable>();
        if (!task || !tables) {
            worst = std::max<int>(worst, task ? complain(path, tables.error()) : task.error());
            continue;
        }
        print_rules(path, *tables);
        json.push_back(rules_to_json(path, *tables));
    }
    if (!json.empty() || paths.empty()) print_rule_sources();
    return write_json(json_path, json) ? worst : kUnusable;
}

int bound(const std::string& path, const std::string& json_path) {
    const auto task = load(path);
    if (!task) return task.error();
    const auto all = recommendations(*task);
    if (!all) return complain(path, all.error());
    print_recommendations(path, *task, *all);
    const bool bounded =
        std::all_of(all->begin(), all->end(), [](const Recommendation& one) { return one.pair.has_value(); });
    if (!write_json(json_path, recommendations_to_json(path, *all)) || !bounded) return kUnusable;
    return kRight;
}

}  // namespace attest::reference::tool
