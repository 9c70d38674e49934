// Replay must refuse: a library that is wrong, files it can't read, and having checked nothing.
#include "attest/properties/subject.hpp"

#include "../src/replay.hpp"
#include "attest/case/parse.hpp"
#include "attest/case/print.hpp"
#include "attest/properties/minimise.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace attest::fuzzing {
namespace {

namespace fs = std::filesystem;
using namespace properties;

// The library, but its output projection is off by one part in a thousand.
class SlightlyWrong final : public Subject {
  public:
    std::string_view name() const override { return "slightly wrong"; }
    bool can(Capability capability) const override { return right_->can(capability); }
    Outcome<std::unique_ptr<Layer>> make_layer(const LayerSpec& spec) override {
        LayerSpec off = spec;
        for (double& weight : off.weights[3]) {
            weight = spec.type == cases::ElementType::float32
                         ? static_cast<double>(static_cast<float>(weight * 1.001))
                         : weight * 1.001;
        }
        return right_->make_layer(off);
    }
    Outcome<std::unique_ptr<Layer>> make_seeded_layer(const LayerSpec& spec, std::uint64_t seed) override {
        return right_->make_seeded_layer(spec, seed);
    }
    Outcome<void> commit_all(std::span<const Pending> pending) override {
        return right_->commit_all(pending);
    }
    Outcome<History> history(std::span<const Evidence> steps) override { return right_->history(steps); }
    std::uint64_t allocations() const override { return right_->allocations(); }
    void fail_allocation(std::uint64_t nth) override { right_->fail_allocation(nth); }
    void limit_allocation(std::uint64_t bytes) override { right_->limit_allocation(bytes); }

  private:
    std::unique_ptr<Subject> right_ = make_attest_subject();
};

class Replay : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) /
                  (std::string("replay_") + testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        const fs::path path = folder_ / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }

    ReplayCounts run(std::vector<std::string> paths) {
        std::ostringstream out;
        const ReplayCounts counts = replay(paths, options_, out);
        printed_ = out.str();
        return counts;
    }

    fs::path folder_;
    ReplayOptions options_;
    std::string printed_;
};

const std::string kGood =
    "law = inside_the_bound\ntype = double\nbatch = 1\nwidth = 8\nheads = 2\nkv_heads = 2\n"
    "rope = interleaved width 4 base 0x1.388p+13 positions 64 first 0\ncapacity = 4\n"
    "values = normal seed 3\nstep = prefill 2\nstep = append\n";

TEST_F(Replay, ARightLibraryIsRight) {
    const ReplayCounts counts = run({write("good.case", kGood)});
    EXPECT_EQ(counts.right, 1U) << printed_;
    EXPECT_EQ(counts.exit_code(), 0);
    EXPECT_NE(printed_.find("good.case: inside_the_bound: holds"), std::string::npos) << printed_;
}

TEST_F(Replay, AWrongLibraryIsWrong) {
    options_.make_subject = [] { return std::make_unique<SlightlyWrong>(); };
    const ReplayCounts counts = run({write("good.case", kGood)});
    EXPECT_EQ(counts.wrong, 1U) << printed_;
    EXPECT_EQ(counts.exit_code(), 1);
    EXPECT_NE(printed_.find("fails"), std::string::npos) << printed_;
}

TEST_F(Replay, TheSmallestWrongCaseStillFailsAndSaysHow) {
    options_.make_subject = [] { return std::make_unique<SlightlyWrong>(); };
    const auto parsed = cases::parse(kGood);
    ASSERT_TRUE(parsed);
    const auto smallest = minimise(*parsed, options_.make_subject, {.all = std::chrono::seconds(20)});
    ASSERT_TRUE(smallest);
    EXPECT_LT(smallest->one.steps.size(), parsed->steps.size());
    EXPECT_EQ(smallest->one.comments.front().rfind("fails at", 0), 0U) << smallest->one.comments.front();
    EXPECT_EQ(run({write("smallest.case", cases::print(smallest->one))}).wrong, 1U) << printed_;
    EXPECT_FALSE(minimise(*parsed, make_attest_subject, {.all = std::chrono::seconds(20)}));
}

// Whatever ends the process is a failure, with its cause.
TEST_F(Replay, ADeadlyCaseIsJudgedApart) {
    const auto parsed = cases::parse(kGood);
    ASSERT_TRUE(parsed);
    const auto dies = [] { return std::unique_ptr<Subject>((std::abort(), nullptr)); };
    const auto hangs = []() -> std::unique_ptr<Subject> {
        for (;;) {
            ::pause();
        }
    };
    EXPECT_NE(judge_apart(*parsed, dies, 10)->text.find("dies of"), std::string::npos);
    EXPECT_NE(judge_apart(*parsed, hangs, 1)->text.find("hangs"), std::string::npos);
    EXPECT_FALSE(judge_apart(*parsed, make_attest_subject, 10)->failed);
}

TEST_F(Replay, NothingGivenIsUnusable) {
    EXPECT_EQ(run({}).exit_code(), 2);
}

TEST_F(Replay, WhatCannotBeReadIsUnusableEvenBesideGoodCases) {
    const std::string good = write("good.case", kGood);
    fs::create_directories(folder_ / "empty");
    for (const std::string& bad :
         {(folder_ / "missing.case").string(), (folder_ / "empty").string(), write("junk.case", "no case\n"),
          write("law.case", "law = no_such_law\ntype = double\n"), write("nothing.case", "")}) {
        const ReplayCounts counts = run({good, bad});
        EXPECT_EQ(counts.unreadable, 1U) << printed_;
        EXPECT_EQ(counts.right, 1U) << printed_;
        EXPECT_EQ(counts.exit_code(), 2) << printed_;
    }
}

TEST_F(Replay, AFolderIsAllItsFiles) {
    write("a/one.case", kGood);
    write("b/two.case", kGood);
    write("b/.hidden", "no case\n");
    write("safetensors_bytes/three", "no file");
    EXPECT_EQ(run({folder_.string()}).right, 3U) << printed_;
}

TEST_F(Replay, VacuousAloneHasCheckedNothing) {
    std::string nothing = kGood;
    nothing.resize(nothing.find("step = "));
    const std::string path = write("nothing.case", nothing);
    ReplayCounts counts = run({path});
    EXPECT_EQ(counts.vacuous, 1U) << printed_;
    EXPECT_EQ(counts.exit_code(), 2);
    options_.refuse_vacuous = true;
    counts = run({path, write("good.case", kGood)});
    EXPECT_EQ(counts.exit_code(), 1) << printed_;
}

}  // namespace
}  // namespace attest::fuzzing
