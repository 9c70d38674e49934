// Closed forms: answers that need no oracle.
#include <attest/reference/judge.hpp>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace attest::reference {
namespace {

Error disagreement(const std::string& form, std::size_t element) {
    return {Error::Code::disagreement, "oracle",
            "closed form: " + form + ", element " + std::to_string(element)};
}

// Answers must be exactly these dyadic numbers, and lie inside their own bound.
std::optional<Error> check(const std::string& form, const std::expected<CoreJudgement, Error>& judged,
                           const std::vector<double>& expected) {
    if (!judged) return judged.error();
    if (judged->y.exact.size() != expected.size()) return disagreement(form, 0);
    for (std::size_t n = 0; n < expected.size(); ++n)
        if (judged->y.exact[n].head != expected[n] || std::fabs(judged->y.exact[n].tail) > 0x1p-100 ||
            !(judged->y.allowed[n] < 1))
            return disagreement(form, n);
    return std::nullopt;
}

struct Form {
    std::string name;
    std::vector<double> q, k, v, y;
    std::size_t heads, kv_heads, length, keys;
    bool causal;
    std::vector<std::int64_t> kv_lengths;
};

}  // namespace

std::optional<Error> self_check() {
    // Width 2 throughout; values of width 1.
    const Form forms[] = {
        {"one key answers its value", {3, -5}, {7, 11}, {0.625}, {0.625}, 1, 1, 1, 1, false, {}},
        {"equal keys answer the mean",
         {3, -5},
         {1, 2, 1, 2, 1, 2, 1, 2},
         {1, 2, 4, 9},
         {4},
         1,
         1,
         1,
         4,
         false,
         {}},
        {"orthogonal keys answer the mean", {0, 1}, {5, 0, -3, 0}, {1, 2}, {1.5}, 1, 1, 1, 2, false, {}},
        {"a row sees its prefix", {0, 0, 0, 0}, {1, 2, 3, 4}, {8, 4}, {8, 6}, 1, 1, 2, 2, true, {}},
        {"nothing seen answers nothing", {1, 1}, {1, 1}, {3}, {0}, 1, 1, 1, 1, false, {0}},
        {"grouped heads read h / (H / Hkv)",
         {1, 0, 1, 0, 1, 0, 1, 0},
         {1, 0, 1, 0},
         {2, 3},
         {2, 2, 3, 3},
         4,
         2,
         1,
         1,
         false,
         {}},
    };
    for (const Form& form : forms) {
        Core core{.batch = 1,
                  .heads = form.heads,
                  .kv_heads = form.kv_heads,
                  .length = form.length,
                  .keys = form.keys,
                  .width = 2,
                  .value_width = 1,
                  .q = form.q,
                  .k = form.k,
                  .v = form.v,
                  .causal = form.causal};
        core.kv_lengths = form.kv_lengths;
        if (auto bad = check(form.name, judge(core, Arithmetic::foreign(Number::f64)), form.y)) return bad;
    }
    const std::vector<double> x{1, 2, 3, 4};
    const Rotary rotary{.batch = 1,
                        .heads = 1,
                        .length = 1,
                        .width = 4,
                        .rope = {.pairs = RopePairs::half, .width = 4, .base = 100},
                        .x = x};
    const auto turned = judge(rotary, Arithmetic::foreign(Number::f64));
    if (!turned) return turned.error();
    for (std::size_t n = 0; n < x.size(); ++n)
        if (turned->y.exact[n] != Exact(x[n])) return disagreement("position 0 turns nothing", n);
    return std::nullopt;
}

}  // namespace attest::reference
