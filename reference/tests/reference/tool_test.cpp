// attest-reference from outside: exit codes, what is printed where, the files it writes.
#include "vectors.hpp"

#include <attest/dump/safetensors.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace attest {
namespace {

class Tool : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = std::filesystem::temp_directory_path() /
                  ("attest_tool_test_" + std::to_string(getpid()) + "_" + test->name());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    struct Run {
        int exit = -1;
        std::string out, err;
    };
    Run run(const std::string& arguments) const {
        const std::string command = std::string(ATTEST_REFERENCE_PROGRAM) + " " + arguments + " > " +
                                    path("out") + " 2> " + path("err");
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text(path("out")), text(path("err"))};
    }
    static std::string text(const std::string& from) {
        std::ifstream in(from);
        std::stringstream all;
        all << in.rdbuf();
        return all.str();
    }

    // Attention over two equal keys: the answer is the values' mean, 2.
    void write(const std::string& name, float answer, float query = 1) const {
        const std::vector<float> q{query, 0}, k{1, 0, 1, 0}, v{1, 3}, y{answer};
        const std::vector<dump::NewTensor> tensors{dump::make_tensor("q", {1, 1, 1, 2}, std::span(q)),
                                                   dump::make_tensor("k", {1, 1, 2, 2}, std::span(k)),
                                                   dump::make_tensor("v", {1, 1, 2, 1}, std::span(v)),
                                                   dump::make_tensor("y", {1, 1, 1, 1}, std::span(y))};
        ASSERT_FALSE(dump::write_safetensors(path(name), tensors, {{"attest", "core"}, {"causal", "0"}}));
    }

    std::filesystem::path folder_;
};

TEST_F(Tool, RightIsZeroAndPrintsATable) {
    write("right", 2);
    const Run one = run("check " + path("right"));
    EXPECT_EQ(one.exit, 0);
    EXPECT_NE(one.out.find("right (core, f32)"), std::string::npos) << one.out;
    EXPECT_NE(one.out.find("error/bound"), std::string::npos);
    EXPECT_EQ(one.err, "");
}

TEST_F(Tool, WrongIsOneAndNamesThePlace) {
    write("wrong", 2.001F);
    const Run one = run("check " + path("wrong"));
    EXPECT_EQ(one.exit, 1);
    EXPECT_NE(one.out.find("[0, 0, 0, 0]"), std::string::npos) << one.out;
    EXPECT_NE(one.out.find("wrong"), std::string::npos);
    EXPECT_EQ(one.err, "");
}

TEST_F(Tool, UnusableIsTwoWithNothingOnStdout) {
    const Run missing = run("check " + path("nowhere"));
    EXPECT_EQ(missing.exit, 2);
    EXPECT_EQ(missing.out, "");
    EXPECT_NE(missing.err.find("nowhere"), std::string::npos) << missing.err;

    std::ofstream(path("short")) << "short";
    const Run malformed = run("check " + path("short"));
    EXPECT_EQ(malformed.exit, 2);
    EXPECT_EQ(malformed.out, "");

    const std::vector<float> q{1, 0};
    const std::vector<dump::NewTensor> tensors{dump::make_tensor("q", {1, 1, 1, 2}, std::span(q))};
    ASSERT_FALSE(dump::write_safetensors(path("torso"), tensors, {{"attest", "core"}, {"causal", "0"}}));
    const Run torso = run("check " + path("torso"));
    EXPECT_EQ(torso.exit, 2);
    EXPECT_EQ(torso.out, "");
    EXPECT_NE(torso.err.find(": k: MissingTensor"), std::string::npos) << torso.err;

    EXPECT_EQ(run("check").exit, 2);
    EXPECT_EQ(run("frobnicate x").exit, 2);
    EXPECT_EQ(run("").exit, 2);
    EXPECT_EQ(run("--help").exit, 0);
}

TEST_F(Tool, NoBoundIsNoPass) {
    const std::vector<float> q{1e38F, 0}, k{1e38F, 0, 1, 0}, v{1, 3}, y{1};
    const std::vector<dump::NewTensor> tensors{dump::make_tensor("q", {1, 1, 1, 2}, std::span(q)),
                                               dump::make_tensor("k", {1, 1, 2, 2}, std::span(k)),
                                               dump::make_tensor("v", {1, 1, 2, 1}, std::span(v)),
                                               dump::make_tensor("y", {1, 1, 1, 1}, std::span(y))};
    ASSERT_FALSE(dump::write_safetensors(path("vast"), tensors, {{"attest", "core"}, {"causal", "0"}}));
    const Run one = run("check " + path("vast"));
    EXPECT_EQ(one.exit, 2);
    EXPECT_NE(one.err.find("NoBound"), std::string::npos) << one.err;
}

TEST_F(Tool, TheWorstOfSeveralFilesDecides) {
    write("right", 2);
    write("wrong", 3);
    EXPECT_EQ(run("check " + path("right") + " " + path("right")).exit, 0);
    const Run both = run("check " + path("wrong") + " " + path("right"));
    EXPECT_EQ(both.exit, 1);
    EXPECT_NE(both.out.find("right (core"), std::string::npos);
    EXPECT_EQ(run("check " + path("wrong") + " " + path("nowhere")).exit, 2);
}

TEST_F(Tool, JsonSaysWhatTheTableSays) {
    write("right", 2);
    write("wrong", 3);
    EXPECT_EQ(run("check --json " + path("json") + " " + path("right") + " " + path("wrong")).exit, 1);
    const auto json = nlohmann::json::parse(text(path("json")));
    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json[0]["verdict"], "right");
    EXPECT_EQ(json[1]["verdict"], "wrong");
    const auto& tensor = json[1]["tensors"][0];
    EXPECT_EQ(tensor["name"], "y");
    EXPECT_EQ(tensor["worst"]["got"], 3.0);
    EXPECT_EQ(tensor["worst"]["want"], 2.0);
    EXPECT_EQ(tensor["first_wrong"]["place"], (std::vector<int>{0, 0, 0, 0}));
    EXPECT_GT(tensor["worst"]["ratio"], 1000.0);
    EXPECT_EQ(run("check --json " + path("no/such/folder") + " " + path("right")).exit, 2);
}

TEST_F(Tool, ExpectPrintsAndWritesTheExactAnswer) {
    write("any", 17);  // the answer it holds is not looked at
    const Run printed = run("expect " + path("any"));
    EXPECT_EQ(printed.exit, 0);
    EXPECT_NE(printed.out.find("y[0, 0, 0, 0] 2 "), std::string::npos) << printed.out;
    EXPECT_EQ(run("expect " + path("any") + " -o " + path("expected.safetensors")).exit, 0);
    const auto file = dump::read(path("expected.safetensors"));
    ASSERT_TRUE(file);
    ASSERT_NE(file->find("y"), nullptr);
    ASSERT_NE(file->find("y_allowed"), nullptr);
    EXPECT_EQ(file->find("y")->number(0), 2.0);
    const double allowed = file->find("y_allowed")->number(0);
    EXPECT_GT(allowed, 0.0);
    EXPECT_LT(allowed, 1e-4);
    // What is expected passes its own check; a little beyond what is allowed does not.
    write("inside", static_cast<float>(2 + allowed / 2));
    write("outside", static_cast<float>(2 + allowed * 1.5));
    EXPECT_EQ(run("check " + path("inside")).exit, 0);
    EXPECT_EQ(run("check " + path("outside")).exit, 1);
}

TEST_F(Tool, EveryMalformedSafetensorsIsTwoAndSaysWhy) {
    ATTEST_VECTORS_OR_SKIP(folder, "safetensors");
    std::ifstream expected(*folder / "EXPECT.txt");
    std::string line;
    int refused = 0;
    while (std::getline(expected, line)) {
        const std::string name = line.substr(0, line.find(' '));
        const Run one = run("check '" + (*folder / name).string() + "'");
        // A valid file is no dump of ours: it too is unusable, for another reason.
        EXPECT_EQ(one.exit, 2) << line;
        EXPECT_EQ(one.out, "") << line;
        EXPECT_NE(one.err.find(name), std::string::npos) << line << "\n" << one.err;
        const std::size_t reject = line.find("reject:");
        if (reject == std::string::npos) continue;
        ++refused;
        EXPECT_NE(one.err.find(line.substr(reject + 7)), std::string::npos) << line << "\n" << one.err;
    }
    EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace attest
