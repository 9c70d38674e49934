#include "trace.hpp"

#include <attest/case/parse.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace attest::properties {
namespace {

cases::Case fixture() {
    return *cases::parse(fixture_case());
}

std::string both(const cases::Case& one) {
    const auto trace = trace_case(one);
    return trace ? print_trace(*trace) + print_evidence(*trace) : "refused: " + trace.error();
}

std::string published() {
    return std::string(published_trace()) + std::string(published_evidence());
}

std::size_t differing_lines(const std::string& left, const std::string& right) {
    std::istringstream a(left), b(right);
    std::string x, y;
    std::size_t count = 0;
    while (std::getline(a, x) && std::getline(b, y))
        count += x != y ? 1U : 0U;
    return count;
}

TEST(Trace, PrintsThePublishedBytes) {
    const auto trace = trace_case(fixture());
    ASSERT_TRUE(trace) << trace.error();
    EXPECT_EQ(print_trace(*trace), published_trace());
    EXPECT_EQ(print_evidence(*trace), published_evidence());
}

// Nothing printed is a constant: another input moves the digits, another geometry the shapes and counts.
TEST(Trace, FollowsItsInput) {
    cases::Case moved = fixture();
    moved.sets.push_back(
        {.tensor = cases::Tensor::x, .index = {0, 1, 0}, .bits = std::bit_cast<std::uint64_t>(0.25)});
    cases::normalise(moved);
    // Step 1 and 2 of the trace; in the evidence rows and outputs from position 1 on.
    EXPECT_GE(differing_lines(both(moved), published()), 8U);
    EXPECT_EQ(both(moved).substr(0, 100), published().substr(0, 100));

    cases::Case longer = fixture();
    longer.steps.push_back({.verb = cases::Verb::append});
    const std::string text = both(longer);
    EXPECT_NE(text.find("step=position:3 cache:3->4 shape:[1,2,4,2]"), std::string::npos) << text;
    EXPECT_NE(text.find("cards=full_prefix:1+2+3+4=10 incremental:1+1+1+1=4 avoided_across_kv:2x6=12"),
              std::string::npos);

    cases::Case far = fixture();
    far.rope.first = 2;
    EXPECT_NE(both(far).find("step=position:4 "), std::string::npos);
}

// Turning a page back: every refusal is looked at, so a case that cannot be refused shows it.
TEST(Trace, ShowsRefusalsThatDidNotHappen) {
    const auto trace = trace_case(fixture());
    ASSERT_TRUE(trace);
    Trace changed = *trace;
    changed.refusals.full_cache = false;
    changed.reset.replay_identical = false;
    EXPECT_NE(print_trace(changed).find("full_cache:false"), std::string::npos);
    EXPECT_NE(print_trace(changed).find("replay_identical:false"), std::string::npos);
}

TEST(Trace, TakesGroupedHeadsBatchesAndFloat) {
    cases::Case one = fixture();
    one.type = cases::ElementType::float32;
    one.batch = 2;
    one.kv_heads = 1;
    one.sets.clear();
    one.fills.clear();
    one.values = {cases::Filling::normal, 3};
    cases::normalise(one);
    const std::string text = both(one);
    EXPECT_NE(text.find("batch=1 head=1 row=2 new"), std::string::npos) << text;
    EXPECT_NE(text.find("unchanged:true"), std::string::npos);
    EXPECT_EQ(text.find("false"), std::string::npos) << text;
}

TEST(Trace, SaysWhatTheLibraryRefused) {
    cases::Case one = fixture();
    one.capacity = 2;
    EXPECT_EQ(both(one).substr(0, 18), "refused: CacheFull");
    one.kv_heads = 0;
    EXPECT_EQ(both(one).substr(0, 20), "refused: ZeroKvHeads");
}

}  // namespace
}  // namespace attest::properties
