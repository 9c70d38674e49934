// attest-reference from outside: exit codes, what is printed where, the files it writes.
#include "vectors.hpp"

#include <attest/dump/safetensors.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
    Run run(const std::string& arguments, const std::string& program = ATTEST_REFERENCE_PROGRAM) const {
        const std::string command = program + " " + arguments + " > " + path("out") + " 2> " + path("err");
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

// One query of a decode step over 2048 keys: the keys and values stay what they are, and nothing of their
// size is made of them but their doubles. Fifty-digit copies of them would take fifty times the file.
TEST_F(Tool, ManyKeysTakeLittleMoreThanTheirDoubles) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "SKIPPED: a sanitizer keeps memory of its own, so that no peak can be asked for";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    GTEST_SKIP() << "SKIPPED: a sanitizer keeps memory of its own, so that no peak can be asked for";
#endif
#endif
    constexpr std::size_t kHeads = 4, kKeys = 2048, kWidth = 128;
    {
        // Equal values are their own mean, whatever the keys.
        std::vector<float> q, k, v, y;
        for (std::size_t n = 0; n < kHeads * kWidth; ++n) {
            q.push_back(static_cast<float>(n % 7) / 8 - 0.5F);
            y.push_back(static_cast<float>(n % kWidth) / 64 - 0.75F);
        }
        for (std::size_t n = 0; n < kHeads * kKeys * kWidth; ++n) {
            k.push_back(static_cast<float>(n * 37 % 101) / 64 - 0.75F);
            v.push_back(y[n % kWidth]);
        }
        const std::vector<dump::NewTensor> tensors{
            dump::make_tensor("q", {1, kHeads, 1, kWidth}, std::span(q)),
            dump::make_tensor("k", {1, kHeads, kKeys, kWidth}, std::span(k)),
            dump::make_tensor("v", {1, kHeads, kKeys, kWidth}, std::span(v)),
            dump::make_tensor("y", {1, kHeads, 1, kWidth}, std::span(y))};
        ASSERT_FALSE(dump::write_safetensors(path("long"), tensors, {{"attest", "core"}, {"causal", "0"}}));
    }
    const auto file_bytes = static_cast<long>(std::filesystem::file_size(path("long")));
    // A process of its own, so that its peak is neither ours nor another test's.
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (std::freopen(path("out").c_str(), "w", stdout) == nullptr) _exit(127);
        execl(ATTEST_REFERENCE_PROGRAM, ATTEST_REFERENCE_PROGRAM, "check", "--threads", "2",
              path("long").c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    rusage used{};
    ASSERT_EQ(wait4(child, &status, 0, &used), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << text(path("out"));
    constexpr long kMiB = 1L << 20;
    EXPECT_LT(used.ru_maxrss * 1024, 3 * file_bytes + 50 * kMiB)
        << used.ru_maxrss << " KiB of " << file_bytes / 1024 << " KiB of keys";
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

TEST_F(Tool, WrongIsToldInFull) {
    write("wrong", 3);
    const Run one = run("check --json " + path("json") + " " + path("wrong"));
    EXPECT_EQ(one.exit, 1);
    for (const char* said : {"the worst at", "0x1.8p+1", "0x1p+1", "above 10000",
                             "where: y: 1 of 1 elements wrong", "diagnosis: "})
        EXPECT_NE(one.out.find(said), std::string::npos) << said << "\n" << one.out;
    const auto json = nlohmann::json::parse(text(path("json")));
    const auto& tensor = json[0]["tensors"][0];
    EXPECT_EQ(tensor["worst_ten"].size(), 1U);
    EXPECT_EQ(tensor["worst_ten"][0]["got_hex"], "0x1.8p+1");
    EXPECT_EQ(tensor["histogram"].back()["elements"], 1);
    EXPECT_EQ(json[0]["diagnosis"]["where"].size(), 1U);
    // A right answer is told in a line, and in full where that is asked for.
    write("right", 2);
    EXPECT_EQ(run("check " + path("right")).out.find("the worst at"), std::string::npos);
    EXPECT_NE(run("check -v " + path("right")).out.find("the worst at"), std::string::npos);
}

TEST_F(Tool, DiagnosisNamesADoubledAnswer) {
    write("doubled", 4);
    const Run one = run("check " + path("doubled"));
    EXPECT_NE(one.out.find("diagnosis: matches: weights not divided by their sum"), std::string::npos)
        << one.out;
    EXPECT_NE(one.out.find("doubled"), std::string::npos) << one.out;
}

// Two equal keys: uniform weights are right, and so no bound could refuse them; but they do not apply. An
// answer's error so large that a wrong kernel passes makes the case blind.
TEST_F(Tool, BlindnessIsListedAndMayBeForbidden) {
    write("sharp", 2);
    EXPECT_EQ(run("check --forbid-blind " + path("sharp")).exit, 0);
    const std::vector<float> q{1, 0}, k{1, 0, 0, 1}, v{1, 3}, y{1.66F};
    const std::vector<dump::NewTensor> tensors{dump::make_tensor("q", {1, 1, 1, 2}, std::span(q)),
                                               dump::make_tensor("k", {1, 1, 2, 2}, std::span(k)),
                                               dump::make_tensor("v", {1, 1, 2, 1}, std::span(v)),
                                               dump::make_tensor("y", {1, 1, 1, 1}, std::span(y))};
    ASSERT_FALSE(dump::write_safetensors(path("blunt"), tensors,
                                         {{"attest", "core"}, {"causal", "0"}, {"answer_error", "0.5"}}));
    const Run listed = run("check " + path("blunt"));
    EXPECT_EQ(listed.exit, 0) << listed.out;
    EXPECT_NE(listed.out.find("blind to"), std::string::npos) << listed.out;
    EXPECT_NE(listed.out.find("uniform weights"), std::string::npos) << listed.out;
    const Run forbidden = run("check --forbid-blind --junit " + path("junit") + " " + path("blunt"));
    EXPECT_EQ(forbidden.exit, 1);
    EXPECT_NE(forbidden.err.find("Blind"), std::string::npos) << forbidden.err;
    EXPECT_NE(text(path("junit")).find("type=\"blind\""), std::string::npos) << text(path("junit"));
    // What is wrong is wrong first, and what can't be judged is worse than blind.
    write("wrong", 3);
    EXPECT_EQ(run("check --forbid-blind " + path("wrong")).exit, 1);
    EXPECT_EQ(run("check --forbid-blind " + path("blunt") + " " + path("nowhere")).exit, 2);
}

TEST_F(Tool, JUnitHoldsACaseATensor) {
    write("right", 2);
    write("wrong", 3);
    EXPECT_EQ(run("check --junit " + path("junit") + " " + path("right") + " " + path("wrong") + " " +
                  path("nowhere"))
                  .exit,
              2);
    pugi::xml_document document;
    ASSERT_TRUE(document.load_file(path("junit").c_str()));
    std::vector<std::string> suites;
    for (const pugi::xml_node suite : document.child("testsuites"))
        suites.push_back(std::string(suite.attribute("tests").value()) + suite.attribute("failures").value() +
                         suite.attribute("errors").value());
    EXPECT_EQ(suites, (std::vector<std::string>{"100", "110", "101"}));
    const pugi::xml_node wrong = document.child("testsuites").first_child().next_sibling().child("testcase");
    EXPECT_EQ(std::string(wrong.attribute("name").value()), "y");
    EXPECT_NE(std::string(wrong.child("failure").attribute("message").value()).find("[0, 0, 0, 0]"),
              std::string::npos);
    EXPECT_EQ(run("check --junit " + path("no/such/folder") + " " + path("right")).exit, 2);
}

TEST_F(Tool, ThreadsChangeNothing) {
    ATTEST_VECTORS_OR_SKIP(folder, "onnx/right");
    const std::string file = "'" + (*folder / "attention_3d_gqa.safetensors").string() + "'";
    const Run one = run("check -v --threads 1 " + file), three = run("check -v --threads 3 " + file);
    EXPECT_EQ(one.exit, 0);
    EXPECT_EQ(one.out, three.out);
    EXPECT_EQ(run("check --threads 0 " + file).exit, 2);
}

// A second opinion that differs is the oracle's own fault: whatever the answer, no pass.
TEST_F(Tool, ADisagreementIsThreeAndNeverAPass) {
    write("right", 2);
    write("wrong", 3);
    for (const std::string name : {"right", "wrong"}) {
        const Run one = run("check " + path(name), ATTEST_REFERENCE_PLANTED);
        EXPECT_EQ(one.exit, 3) << one.out;
        EXPECT_EQ(one.out, "");
        EXPECT_NE(one.err.find("Disagreement"), std::string::npos) << one.err;
    }
    EXPECT_EQ(run("expect " + path("right"), ATTEST_REFERENCE_PLANTED).exit, 3);
}

// NumPy's vectors: none of them is a dump. Whatever they are, the exit is 2 and stdout empty.
TEST_F(Tool, EveryNumpyFileIsTwoAndSaysWhy) {
    ATTEST_VECTORS_OR_SKIP(folder, "npy");
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
        if (!entry.is_regular_file()) continue;
        ++count;
        const Run one = run("check '" + entry.path().string() + "'");
        EXPECT_EQ(one.exit, 2) << entry.path();
        EXPECT_EQ(one.out, "") << entry.path();
        EXPECT_NE(one.err.find(entry.path().filename().string()), std::string::npos) << one.err;
    }
    EXPECT_GT(count, 80U);
}

// Every prefix of a good file, and every byte of its header changed: an answer or a refusal, never a crash,
// and nothing on stdout but a verdict.
TEST_F(Tool, DamagedDumpsAreRefusedOrJudged) {
    write("good", 2);
    const std::string good = text(path("good"));
    const std::size_t header =
        8 + static_cast<unsigned char>(good[0]) + 256U * static_cast<unsigned char>(good[1]);
    std::vector<std::string> damaged;
    for (std::size_t n = 0; n < good.size(); n += 23)
        damaged.push_back(good.substr(0, n));
    for (std::size_t n = 0; n < header; n += 5) {
        damaged.push_back(good);
        damaged.back()[n] = static_cast<char>(damaged.back()[n] ^ (n % 2 == 0 ? 0x80 : 1));
    }
    std::string names;
    for (std::size_t n = 0; n < damaged.size(); ++n) {
        std::ofstream(path("damaged" + std::to_string(n)), std::ios::binary) << damaged[n];
        const Run one = run("check " + path("damaged" + std::to_string(n)));
        EXPECT_TRUE(one.exit >= 0 && one.exit <= 2) << n << ": " << one.exit << one.err;
        if (one.exit == 2) {
            EXPECT_EQ(one.out, "") << n;
            EXPECT_NE(one.err.find("damaged" + std::to_string(n)), std::string::npos) << one.err;
        }
    }
    EXPECT_GT(damaged.size(), 60U);
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

// What can't be written is no verdict, and nothing that was there is replaced but a file.
TEST_F(Tool, WhatIsWrittenArrivesOrIsTwo) {
    write("right", 2);
    for (const char* const command : {"check ", "rules ", "bound ", "expect "}) {
        const std::string to_full = std::string(ATTEST_REFERENCE_PROGRAM) + " " + command + path("right") +
                                    " > /dev/full 2> " + path("err");
        EXPECT_EQ(WEXITSTATUS(std::system(to_full.c_str())), 2) << command;
        EXPECT_NE(text(path("err")).find("CannotWrite"), std::string::npos) << text(path("err"));
    }
    EXPECT_EQ(run("expect " + path("right") + " -o /dev/full").exit, 2);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
    std::ofstream(path("target")) << "old";
    std::filesystem::create_symlink("target", path("link"));
    EXPECT_EQ(run("expect " + path("right") + " -o " + path("link")).exit, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_TRUE(dump::read(path("target")));
    write("r\xff", 2);
    for (const char* const command : {"check ", "rules ", "bound "}) {
        EXPECT_EQ(run(command + path("r\xff") + " --json " + path("json")).exit, 0) << command;
        EXPECT_FALSE(nlohmann::json::parse(text(path("json"))).empty());
    }
}

TEST_F(Tool, RulesShowWhatEachToleranceRefuses) {
    write("right", 2);
    const Run one = run("rules --json " + path("json") + " " + path("right"));
    EXPECT_EQ(one.exit, 0) << one.err;
    EXPECT_NE(one.out.find("ggml tests/test-backend-ops.cpp"), std::string::npos) << one.out;
    const auto json = nlohmann::json::parse(text(path("json")));
    ASSERT_EQ(json.size(), 1U);
    const auto& rows = json[0]["tables"][0]["rows"];
    ASSERT_EQ(rows.size(), 17U);
    EXPECT_EQ(rows[0]["kernel"], "the dump's answer");
    EXPECT_EQ(rows[0]["rules"]["bound"], "passes");
    for (const auto& row : rows) {
        if (row["kernel"] == "zeros") {
            EXPECT_EQ(row["rules"]["vLLM"], "refuses");
        }
        if (row["kernel"] == "wrong head group") {
            EXPECT_EQ(row["rules"]["vLLM"], "n/a");
        }
        if (row["kernel"] == "weights sum to 1.01") {
            EXPECT_EQ(row["rules"]["vLLM"], "passes");
            EXPECT_EQ(row["rules"]["bound"], "refuses");
        }
    }
    const Run sources = run("rules");
    EXPECT_EQ(sources.exit, 0);
    EXPECT_NE(sources.out.find("ggml tests/test-backend-ops.cpp"), std::string::npos) << sources.out;
    EXPECT_EQ(run("rules " + path("nowhere")).exit, 2);
    EXPECT_EQ(run("rules " + path("nowhere")).out, "");
}

TEST_F(Tool, BoundGivesAPairThatPasses) {
    write("right", 2);
    const Run one = run("bound --json " + path("json") + " " + path("right"));
    EXPECT_EQ(one.exit, 0) << one.err;
    EXPECT_NE(one.out.find("np.testing.assert_allclose(y, want, rtol="), std::string::npos) << one.out;
    const auto json = nlohmann::json::parse(text(path("json")));
    const double most =
        json["tensors"][0]["atol"].get<double>() + 2 * json["tensors"][0]["rtol"].get<double>();
    EXPECT_GT(most, 0);
    EXPECT_LT(most, 1e-4);
    // What the pair allows at the only element is its bound, rounded up.
    EXPECT_EQ(run("expect " + path("right") + " -o " + path("expected.safetensors")).exit, 0);
    const auto file = dump::read(path("expected.safetensors"));
    ASSERT_TRUE(file);
    EXPECT_GE(most, file->find("y_allowed")->number(0));
    EXPECT_LE(most, file->find("y_allowed")->number(0) * 1.02);
    EXPECT_EQ(run("bound " + path("nowhere")).exit, 2);
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
