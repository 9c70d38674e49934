#include "attest/properties/play.hpp"
#include "attest/case/parse.hpp"
#include "attest/properties/laws.hpp"

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

cases::Case parsed(const std::string& steps) {
    const auto one = cases::parse(
        "law = cached_equals_full_prefix\ntype = double\nbatch = 2\nwidth = 6\nheads = 2\nkv_heads = 1\n"
        "head_width = 4\nrope = interleaved width 4 base 0x1.388p+13 positions 16 first 3\ncapacity = 4\n"
        "values = normal seed 5\n" +
        steps);
    EXPECT_TRUE(one.has_value()) << one.error().text();
    return one.value_or(cases::Case());
}

using Codes = std::vector<std::string>;

struct Played {
    std::vector<std::string> codes;
    Verdict verdict;
    std::uint64_t length = 0;
};

Played play(const std::string& steps) {
    const cases::Case one = parsed(steps);
    const std::unique_ptr<Subject> subject = make_attest_subject();
    Checks checks;
    Played played;
    Scene scene(one, *subject, checks, {});
    EXPECT_TRUE(scene) << scene.verdict().text();
    if (!scene) return played;
    Player player(scene);
    while (player.next()) {
        played.codes.push_back(player.last().code);
    }
    checks.tested();
    played.verdict = player.verdict("");
    played.length = player.cache()->cache->length();
    EXPECT_EQ(player.cache()->rows.size(), played.length);
    return played;
}

TEST(Player, PlaysEveryVerb) {
    const Played played = play(
        "step = append\nstep = prefill 2\nstep = snapshot\nstep = prepare\nstep = commit\nstep = copy\n"
        "step = reset\nstep = rewind 2\nstep = append\nstep = skip 1\nstep = append\nstep = prepare\n"
        "step = discard\nstep = commit expect StaleTicket\nstep = cache 1\nstep = prepare\nstep = "
        "commit_all\n");
    EXPECT_EQ(played.verdict.kind, VerdictKind::holds) << played.verdict.text();
    // commit_all takes the discarded ticket of cache 0 along.
    EXPECT_EQ(played.codes, (Codes{"", "", "", "", "", "", "", "", "", "", "", "", "", "StaleTicket", "", "",
                                   "StaleTicket"}));
}

TEST(Player, FollowsTheModel) {
    const Played played = play(
        "step = append\nstep = prefill 2\nstep = prepare\nstep = commit\nstep = append\nstep = reset\n"
        "step = append\n");
    EXPECT_EQ(played.verdict.kind, VerdictKind::holds) << played.verdict.text();
    EXPECT_EQ(played.codes, (Codes{"", "", "", "", "CacheFull", "", ""}));
    EXPECT_EQ(played.length, 1u);
}

TEST(Player, PredictsRefusalsOfEveryKind) {
    const Played played = play(
        "step = append rank 2\nstep = append rows 2\nstep = append batch 5\nstep = append width 7\n"
        "step = prefill 0\nstep = prefill 5\nstep = prefill 288230376151711744\nstep = layer wider\nstep = "
        "append\n"
        "step = append width 7\nstep = layer heads\nstep = append\nstep = layer rebuilt\nstep = append\n"
        "step = layer rope_base\nstep = append\nstep = layer positions\nstep = append\nstep = layer "
        "original\n"
        "step = update_nonfinite wq\nstep = append\nstep = update wk\nstep = append\nstep = reset\nstep = "
        "append\n");
    EXPECT_EQ(played.verdict.kind, VerdictKind::holds) << played.verdict.text();
    EXPECT_EQ(played.codes, (Codes{"InputRank",
                                   "SingleTokenRequired",
                                   "InputBatchMismatch",
                                   "InputWidthMismatch",
                                   "ZeroRows",
                                   "CacheFull",
                                   "CacheFull",
                                   "",
                                   "InputWidthMismatch",
                                   "CacheModelWidthMismatch",
                                   "",
                                   "CacheHeadCountMismatch",
                                   "",
                                   "CacheLayerMismatch",
                                   "",
                                   "CacheRopeMismatch",
                                   "",
                                   "CacheRopeMismatch",
                                   "",
                                   "NonFiniteUpdate",
                                   "",
                                   "",
                                   "CacheLayerRevisionMismatch",
                                   "",
                                   "CacheLayerRevisionMismatch"}));
}

TEST(Player, FailsTheNthAllocation) {
    const Played played = play(
        "step = fail 1\nstep = prefill 2\nstep = prefill 2\nstep = fail 2\nstep = copy\n"
        "step = fail 1\nstep = append\n");
    EXPECT_EQ(played.verdict.kind, VerdictKind::holds) << played.verdict.text();
    EXPECT_EQ(played.codes, (Codes{"", "AllocationFailed", "", "", "AllocationFailed", "", ""}));
}

TEST(Player, StopsWhereTheCaseContradictsItself) {
    const Played played = play("step = append expect CacheFull\n");
    EXPECT_EQ(played.verdict.kind, VerdictKind::vacuous);
}

// The model is what refuses a library that lies: here the lie is the case's own, told to the checks.
TEST(Player, WrongCodeIsAFailure) {
    const std::unique_ptr<Subject> subject = make_attest_subject();
    Checks checks;
    as_predicted(checks, *subject, "here", "CacheFull", {""});
    EXPECT_TRUE(checks.failed());
    EXPECT_EQ(checks.verdict().got, "CacheFull");
    EXPECT_EQ(checks.verdict().want, "no refusal");
}

TEST(Scene, RefusesVirtualGeometryWithoutAllocatingIt) {
    cases::Case one = parsed("step = append\n");
    const std::unique_ptr<Subject> subject = make_attest_subject();
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1} << 62, UINT64_MAX, std::uint64_t{1} << 32}) {
        for (const auto member : {&cases::Case::batch, &cases::Case::width, &cases::Case::heads,
                                  &cases::Case::kv_heads, &cases::Case::head_width, &cases::Case::capacity}) {
            cases::Case spoilt = one;
            spoilt.*member = count;
            spoilt.rope.width = 0;
            if (member == &cases::Case::capacity) spoilt.rope.positions = UINT64_MAX;
            Checks checks;
            Scene scene(spoilt, *subject, checks, {});
            if (scene) {
                Player player(scene);
                EXPECT_TRUE(player.stopped().has_value());
            }
            EXPECT_FALSE(checks.failed()) << checks.verdict().text();
        }
    }
}

}  // namespace
}  // namespace attest::properties
