// Dumps understood, and dumps refused: each refusal names its tensor or key.
#include <attest/dump/safetensors.hpp>
#include <attest/reference/verdict.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace attest::reference {
namespace {

// A dump in memory that a test changes before it is read.
struct Draft {
    std::map<std::string, dump::NewTensor> tensors;
    std::map<std::string, std::string> metadata;

    void put(const std::string& name, std::vector<std::uint64_t> shape, const std::vector<float>& values) {
        tensors[name] = dump::make_tensor(name, std::move(shape), std::span(values));
    }
    void put_integers(const std::string& name, std::vector<std::uint64_t> shape,
                      const std::vector<std::int64_t>& values) {
        tensors[name] = dump::make_tensor(name, std::move(shape), std::span(values));
    }
    dump::File read() const {
        std::vector<dump::NewTensor> list;
        for (const auto& [name, tensor] : tensors)
            list.push_back(tensor);
        const auto bytes = dump::format_safetensors(list, {metadata.begin(), metadata.end()});
        EXPECT_TRUE(bytes);
        auto file = dump::parse_safetensors(*bytes, "draft");
        EXPECT_TRUE(file);
        return std::move(*file);
    }
    std::string refusal() const {
        const dump::File file = read();
        const auto task = task_of(file);
        if (!task) return std::string(name_of(task.error().code)) + " " + task.error().subject;
        const auto verdict = verdict_on(*task);
        if (!verdict) return std::string(name_of(verdict.error().code)) + " " + verdict.error().subject;
        return std::string(name_of(verdict->outcome));
    }
};

// A layer of one head whose weights are the identity, over two rows: the answers are short to write down.
Draft layer_draft() {
    Draft draft;
    draft.metadata = {
        {"attest", "layer"}, {"heads", "1"}, {"kv_heads", "1"}, {"rope_width", "0"}, {"arithmetic", "f32"}};
    const std::vector<float> identity{1, 0, 0, 1};
    for (const char* name : {"wq", "wk", "wv", "wo"})
        draft.put(name, {2, 2}, identity);
    draft.put("x", {1, 2, 2}, {1, 0, 0, 1});
    draft.put("keys", {1, 1, 2, 2}, {1, 0, 0, 1});
    draft.put("values", {1, 1, 2, 2}, {1, 0, 0, 1});
    const float p = 1.0F / (1.0F + std::exp(1.0F / std::sqrt(2.0F)));
    draft.put("y", {1, 2, 2}, {1, 0, p, 1 - p});
    draft.put("weights", {1, 1, 2, 2}, {1, 0, p, 1 - p});
    return draft;
}

Draft core_draft() {
    Draft draft;
    draft.metadata = {{"attest", "core"}, {"causal", "0"}};
    draft.put("q", {1, 1, 1, 2}, {1, 0});
    draft.put("k", {1, 1, 2, 2}, {1, 0, 1, 0});
    draft.put("v", {1, 1, 2, 1}, {1, 3});
    draft.put("y", {1, 1, 1, 1}, {2});
    return draft;
}

Draft rotary_draft() {
    Draft draft;
    draft.metadata = {
        {"attest", "rotary"}, {"rope_width", "2"}, {"rope_base", "10000"}, {"rope_pairs", "half"}};
    draft.put("x", {1, 1, 2, 2}, {1, 0, 1, 0});
    draft.put("y", {1, 1, 2, 2}, {1, 0, std::cos(1.0F), std::sin(1.0F)});
    return draft;
}

TEST(Verdict, RightDumpsAreRight) {
    EXPECT_EQ(layer_draft().refusal(), "right");
    EXPECT_EQ(core_draft().refusal(), "right");
    EXPECT_EQ(rotary_draft().refusal(), "right");
}

TEST(Verdict, AWrongElementIsNamed) {
    Draft draft = layer_draft();
    draft.put("keys", {1, 1, 2, 2}, {1, 0, 0, 1.001F});
    const dump::File file = draft.read();
    const auto task = task_of(file);
    ASSERT_TRUE(task);
    const auto verdict = verdict_on(*task);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->outcome, Outcome::wrong);
    for (const TensorVerdict& tensor : verdict->tensors) {
        EXPECT_EQ(tensor.outcome == Outcome::wrong, tensor.name == "keys");
        if (tensor.name == "keys") {
            EXPECT_EQ(tensor.comparison.first_wrong.place, (std::vector<std::size_t>{0, 0, 1, 1}));
        }
    }
}

TEST(Verdict, MissingAndUnknownAreRefused) {
    Draft draft = layer_draft();
    draft.tensors.erase("wk");
    EXPECT_EQ(draft.refusal(), "MissingTensor wk");
    draft = layer_draft();
    draft.put("Y", {1}, {1});
    EXPECT_EQ(draft.refusal(), "UnknownTensor Y");
    draft = layer_draft();
    draft.metadata.erase("heads");
    EXPECT_EQ(draft.refusal(), "MissingKey heads");
    draft = layer_draft();
    draft.metadata["acumulate"] = "f32";
    EXPECT_EQ(draft.refusal(), "UnknownKey acumulate");
    draft = layer_draft();
    draft.metadata["causal"] = "1";  // a core's key
    EXPECT_EQ(draft.refusal(), "UnknownKey causal");
    draft = layer_draft();
    draft.metadata.erase("attest");
    EXPECT_EQ(draft.refusal(), "MissingKey attest");
    draft.metadata["attest"] = "layers";
    EXPECT_EQ(draft.refusal(), "BadValue attest");
    draft = layer_draft();
    for (const char* name : {"y", "keys", "values", "weights"})
        draft.tensors.erase(name);
    EXPECT_EQ(draft.refusal(), "NothingToJudge ");
    draft = core_draft();
    draft.put("past_k", {1, 1, 1, 2}, {0, 0});
    EXPECT_EQ(draft.refusal(), "MissingTensor past_v");
}

TEST(Verdict, EveryValueIsChecked) {
    const std::map<std::string, std::vector<std::string>> bad{
        {"arithmetic", {"f8", "F32", ""}},
        {"accumulate", {"any"}},
        {"softmax_precision", {"x"}},
        {"weights_type", {"any"}},
        {"weights_stored", {"not_told"}},
        {"summation", {"blocked", "blocked:0", "blocked:x", "pairwise:2", "tree"}},
        {"passes", {"online:0", "one", "two_pass:2"}},
        {"exponent", {"10"}},
        {"scaled", {"k"}},
        {"exp_ulps", {"0", "-1", "nan", "0x1", "1e999", " 1"}},
        {"rope_angles", {"f16"}},
        {"rounding", {"up"}},
        {"subnormals", {"lost"}},
        {"answer_error", {"-1", "inf"}},
        {"heads", {"0", "-1", "1.5", "99999999999999999999"}},
        {"rope_width", {"x"}},
        {"first_position", {"-1"}},
        {"max_positions", {"1e3"}},
    };
    for (const auto& [key, values] : bad)
        for (const std::string& value : values) {
            Draft draft = layer_draft();
            draft.metadata[key] = value;
            EXPECT_EQ(draft.refusal(), "BadValue " + key) << value;
        }
    const std::map<std::string, std::vector<std::string>> good{
        {"accumulate", {"f64", "f32"}},
        {"weights_type", {"f32", "bf16", "f16", "tf32", "f64"}},
        {"weights_stored", {"before", "after"}},
        {"summation", {"any", "blocked:64", "pairwise"}},
        {"passes", {"any", "two_pass", "online", "online:4", "split", "split:2"}},
        {"exponent", {"any", "e", "two"}},
        {"scaled", {"any", "score", "q", "both"}},
        {"exp_ulps", {"1", "2.5"}},
        {"rope_angles", {"exact", "f64", "f32"}},
        {"rounding", {"nearest", "faithful"}},
        {"subnormals", {"kept", "flushed"}},
        {"answer_error", {"0", "1e-6"}},
        {"source", {"anything"}},
    };
    for (const auto& [key, values] : good)
        for (const std::string& value : values) {
            Draft draft = layer_draft();
            draft.metadata[key] = value;
            EXPECT_EQ(draft.refusal(), "right") << key << " " << value;
        }
}

TEST(Verdict, ShapesAndTypesAreChecked) {
    Draft draft = layer_draft();
    draft.put("wk", {2, 3}, {1, 0, 0, 1, 0, 0});
    EXPECT_EQ(draft.refusal(), "ShapeMismatch wk");
    draft = layer_draft();
    draft.put("y", {2, 2}, {1, 0, 0, 1});
    EXPECT_EQ(draft.refusal(), "ShapeMismatch y");
    draft = layer_draft();
    draft.put("x", {2, 2}, {1, 0, 0, 1});
    EXPECT_EQ(draft.refusal(), "ShapeMismatch x");
    draft = layer_draft();
    draft.put_integers("wo", {2, 2}, {1, 0, 0, 1});
    EXPECT_EQ(draft.refusal(), "TypeMismatch wo");
    draft = layer_draft();
    draft.metadata["kv_heads"] = "2";
    EXPECT_EQ(draft.refusal(), "ShapeMismatch wk");
    draft = layer_draft();
    draft.metadata["max_positions"] = "2";
    EXPECT_EQ(draft.refusal(), "right");
    draft.metadata["first_position"] = "1";
    EXPECT_EQ(draft.refusal(), "OutOfRange max_positions");
    draft = core_draft();
    draft.put("mask", {1, 2}, {1, 1});
    EXPECT_EQ(draft.refusal(), "TypeMismatch mask");
    draft = core_draft();
    draft.put("bias", {3, 2}, {1, 1, 1, 1, 1, 1});
    EXPECT_EQ(draft.refusal(), "ShapeMismatch bias");
    draft = core_draft();
    draft.put_integers("kv_lengths", {1}, {3});
    EXPECT_EQ(draft.refusal(), "OutOfRange kv_lengths");
    draft = rotary_draft();
    draft.put("cos", {2, 1}, {1, 1});
    EXPECT_EQ(draft.refusal(), "BadValue rope_base");
    draft.metadata.erase("rope_base");
    EXPECT_EQ(draft.refusal(), "MissingTensor sin");
    draft.put("sin", {2, 1}, {0, 0});
    EXPECT_EQ(draft.refusal(), "wrong");  // these tables turn nothing
    draft.put_integers("positions", {1, 2}, {0, 2});
    EXPECT_EQ(draft.refusal(), "OutOfRange positions");
}

TEST(Verdict, NumbersThatTakePartMustBeFinite) {
    const float nan = std::nanf("");
    Draft draft = layer_draft();
    draft.put("x", {1, 2, 2}, {1, 0, 0, nan});
    EXPECT_EQ(draft.refusal(), "NonFinite x");
    draft = core_draft();
    draft.put("k", {1, 1, 2, 2}, {1, 0, 1, nan});
    EXPECT_EQ(draft.refusal(), "NonFinite k");
    draft.put_integers("kv_lengths", {1}, {1});  // the second key is hidden and takes no part
    draft.put("y", {1, 1, 1, 1}, {1});
    EXPECT_EQ(draft.refusal(), "right");
    draft.put("present_k", {1, 1, 2, 2}, {1, 0, 1, nan});
    EXPECT_EQ(draft.refusal(), "right");
    draft.put("present_k", {1, 1, 2, 2}, {1, 0, 1, 0});
    EXPECT_EQ(draft.refusal(), "wrong");
    draft = core_draft();
    draft.put("bias", {2}, {0, nan});
    EXPECT_EQ(draft.refusal(), "NonFinite bias");
    draft = core_draft();
    draft.put("y", {1, 1, 1, 1}, {nan});
    EXPECT_EQ(draft.refusal(), "wrong");
}

// An extent of 0 makes a tensor empty, whatever the others claim: nobody walks or allocates what they claim.
TEST(Verdict, ShapesThatClaimAnySizeAreRefused) {
    constexpr std::uint64_t kVast = std::uint64_t{1} << 40;
    Draft draft = core_draft();
    draft.put("q", {1, kVast, 0, 2}, {});
    draft.put("y", {1, kVast, 0, 1}, {});
    EXPECT_EQ(draft.refusal(), "NothingToJudge q");
    draft = core_draft();
    draft.put("q", {kVast, 1, 0, 2}, {});
    draft.put("k", {kVast, 1, 0, 2}, {});
    draft.put("v", {kVast, 1, 0, 2}, {});
    draft.tensors.erase("y");
    EXPECT_EQ(draft.refusal(), "NothingToJudge q");
    draft = core_draft();
    draft.put("k", {1, 1, 0, 2}, {});
    draft.put("v", {1, 1, 0, kVast << 20}, {});
    draft.put("weights", {1, 1, 1, 0}, {});
    draft.tensors.erase("y");
    EXPECT_EQ(draft.refusal(), "NothingToJudge v");
    draft = layer_draft();
    draft.put("x", {kVast, 0, 2}, {});
    for (const char* name : {"y", "keys", "values", "weights"})
        draft.tensors.erase(name);
    EXPECT_EQ(draft.refusal(), "NothingToJudge x");
    draft = rotary_draft();
    draft.put("x", {kVast, 0, 2, 2}, {});
    draft.put("y", {kVast, 0, 2, 2}, {});
    EXPECT_EQ(draft.refusal(), "NothingToJudge x");
}

// Every value of every key of the dump format is understood by each kind of dump; one beside them is not.
TEST(Verdict, EveryKeyAndValueIsUnderstood) {
    const std::pair<const char*, std::vector<const char*>> keys[] = {
        {"arithmetic", {"f64", "f32", "tf32", "f16", "bf16"}},
        {"accumulate", {"f64", "f32", "tf32", "f16", "bf16"}},
        {"softmax_precision", {"f64", "f32", "tf32", "f16", "bf16"}},
        {"weights_type", {"f64", "f32", "tf32", "f16", "bf16"}},
        {"weights_stored", {"before", "after"}},
        {"summation", {"any", "blocked:16", "pairwise", "attest"}},
        {"passes", {"any", "two_pass", "online", "online:4", "split", "split:2"}},
        {"exponent", {"any", "e", "two"}},
        {"scaled", {"any", "score", "q", "both"}},
        {"exp_ulps", {"1", "0.5", "32"}},
        {"rope_angles", {"exact", "f64", "f32"}},
        {"rounding", {"nearest", "faithful"}},
        {"subnormals", {"kept", "flushed"}},
        {"answer_error", {"0", "1e-6"}},
        {"source", {"", "anything at all"}},
    };
    for (const Draft& right : {layer_draft(), core_draft(), rotary_draft()})
        for (const auto& [key, values] : keys) {
            for (const char* value : values) {
                Draft draft = right;
                draft.metadata[key] = value;
                const std::string verdict = draft.refusal();
                EXPECT_TRUE(verdict == "right" || verdict == "wrong" || verdict == "unproved")
                    << key << " = " << value << ": " << verdict;
            }
            if (std::string(key) == "source") continue;
            Draft draft = right;
            draft.metadata[key] = "never";
            EXPECT_EQ(draft.refusal(), "BadValue " + std::string(key));
        }
}

// numpy writes heads=1 as an array without a dimension.
TEST(Verdict, ANumberWithoutADimensionIsAKey) {
    Draft draft = layer_draft();
    for (const char* const key : {"heads", "kv_heads", "rope_width"}) {
        draft.put_integers(key, {}, {draft.metadata[key] == "1"});
        draft.metadata.erase(key);
    }
    EXPECT_EQ(draft.refusal(), "right");
    draft.put("exp_ulps", {}, {0.5F});
    EXPECT_EQ(draft.refusal(), "right");
    draft.put_integers("heads", {}, {2});
    EXPECT_EQ(draft.refusal(), "ShapeMismatch wk");
    draft.put_integers("heads", {1}, {1});
    EXPECT_EQ(draft.refusal(), "MissingKey heads");
    draft.put_integers("heads", {}, {1});
    draft.put_integers("heed", {}, {1});
    EXPECT_EQ(draft.refusal(), "UnknownTensor heed");
}

TEST(Verdict, WithoutABoundIsNoPass) {
    Draft draft = core_draft();
    draft.put("q", {1, 1, 1, 2}, {1e38F, 0});
    draft.put("k", {1, 1, 2, 2}, {1e38F, 0, 1e38F, 0});
    EXPECT_EQ(draft.refusal(), "unproved");
}

// A float answer of a double computation was rounded once more, and may be off by that.
TEST(Verdict, ANarrowerAnswerWasRoundedOnceMore) {
    Draft draft = core_draft();
    draft.put("v", {1, 1, 2, 1}, {1, 0});
    draft.put("k", {1, 1, 2, 2}, {1, 0, 0, 0});
    const double p = 1 / (1 + std::exp(-1 / std::sqrt(2.0)));
    draft.put("y", {1, 1, 1, 1}, {static_cast<float>(p)});
    draft.metadata["arithmetic"] = "f64";
    EXPECT_EQ(draft.refusal(), "right");
    draft.put("y", {1, 1, 1, 1}, {std::nextafter(static_cast<float>(p), 0.0F)});
    EXPECT_EQ(draft.refusal(), "wrong");
}

TEST(Verdict, ExpectationHoldsEveryAnswer) {
    Draft draft = layer_draft();
    for (const char* name : {"y", "keys", "values", "weights"})
        draft.tensors.erase(name);
    const dump::File file = draft.read();
    const auto task = task_of(file);
    ASSERT_TRUE(task);
    const auto judged = expectation(*task);
    ASSERT_TRUE(judged);
    ASSERT_EQ(judged->size(), 3U);
    EXPECT_EQ((*judged)[0].name, "y");
    EXPECT_EQ((*judged)[1].exact[3], Exact(1));
    EXPECT_GT((*judged)[0].allowed[2], 0.0);
}

}  // namespace
}  // namespace attest::reference
