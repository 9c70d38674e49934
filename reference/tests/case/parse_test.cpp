#include <attest/case/number.hpp>
#include <attest/case/parse.hpp>
#include <attest/case/print.hpp>
#include <attest/case/words.hpp>

#include "random.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace attest::cases {
namespace {

constexpr std::string_view kCanonical =
    "# The revision moved between two rows, and the next row must say so.\n"
    "law = update_or_rebuild_unbinds\n"
    "type = float\n"
    "batch = 2\n"
    "width = 12\n"
    "heads = 3\n"
    "kv_heads = 1\n"
    "rope = interleaved width 4 base 0x1.388p+13 positions 64 first 0\n"
    "capacity = 5\n"
    "values = normal seed 7\n"
    "fill = wq identity\n"
    "fill = x needle seed 18446744073709551615\n"
    "set = x[0,2,5] nan:0x7fc00001\n"
    "set = gradient.wk[3,11] -inf\n"
    "step = prefill 2\n"
    "step = update wk\n"
    "step = append expect CacheLayerRevisionMismatch\n"
    "step = append rank 2 rows 0 batch 3 width 7 expect X\n"
    "step = prefill 0 batch 18446744073709551615\n"
    "step = layer rope_pairs\n"
    "step = cache 7\n"
    "step = prepare\n"
    "step = commit\n"
    "step = commit 1 expect StaleTicket\n"
    "step = commit_all\n"
    "step = skip 1\n"
    "step = rewind 2\n"
    "step = fail 3\n"
    "step = update_nonfinite wo\n"
    "step = adamw\n"
    "step = copy\n"
    "step = snapshot\n"
    "step = discard\n"
    "step = reset\n";

// The canonical text with every line that starts with `key` replaced (or, for an empty text, left out).
std::string with(std::string_view key, std::string_view line) {
    std::string out;
    bool done = false;
    for (std::string_view rest = kCanonical; !rest.empty();) {
        const auto stop = rest.find('\n') + 1;
        if (!rest.starts_with(std::string(key) + " =")) {
            out += rest.substr(0, stop);
        } else if (!done) {
            out += line;
            done = true;
        }
        rest.remove_prefix(stop);
    }
    EXPECT_TRUE(done) << key;
    return out;
}

std::string verdict(std::string_view text) {
    const auto one = parse(text);
    return one ? "accepted" : one.error().text();
}

// The code, the line and the key that a text must be refused with.
#define EXPECT_REFUSED(text, want_code, want_line, want_key)                  \
    do {                                                                      \
        const auto one = parse(text);                                         \
        ASSERT_FALSE(one) << (text);                                          \
        EXPECT_EQ(to_text(one.error().code), want_code) << verdict(text);     \
        EXPECT_EQ(one.error().line, std::size_t{want_line}) << verdict(text); \
        EXPECT_EQ(one.error().key, want_key) << verdict(text);                \
    } while (false)

TEST(Parse, CanonicalTextIsAFixedPoint) {
    const auto one = parse(kCanonical);
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(print(*one), kCanonical);
    EXPECT_FALSE(check(*one));
}

TEST(Parse, ReadsEveryField) {
    const auto one = parse(kCanonical);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->comments.size(), 1U);
    EXPECT_EQ(one->law, "update_or_rebuild_unbinds");
    EXPECT_EQ(one->type, ElementType::float32);
    EXPECT_EQ(one->batch, 2U);
    EXPECT_EQ(one->width, 12U);
    EXPECT_EQ(one->heads, 3U);
    EXPECT_EQ(one->kv_heads, 1U);
    EXPECT_EQ(one->head_width, 4U);
    EXPECT_EQ(one->rope, (Rope{Pairs::interleaved, 4, 10000.0, 64, 0}));
    EXPECT_EQ(one->capacity, 5U);
    EXPECT_EQ(one->values, (Values{Filling::normal, 7}));
    ASSERT_EQ(one->fills.size(), 2U);
    EXPECT_EQ(one->fills[0], (Fill{Tensor::wq, Filling::identity, std::nullopt}));
    EXPECT_EQ(one->fills[1], (Fill{Tensor::x, Filling::needle, UINT64_MAX}));
    ASSERT_EQ(one->sets.size(), 2U);
    EXPECT_EQ(one->sets[0], (Set{Tensor::x, Tensor::wq, {0, 2, 5}, widen(0x7fc00001)}));
    EXPECT_EQ(one->sets[1], (Set{Tensor::gradient, Tensor::wk, {3, 11, 0}, 0xfff0000000000000}));
    ASSERT_EQ(one->steps.size(), 20U);
    EXPECT_EQ(one->steps[0], (Step{.verb = Verb::prefill, .count = 2}));
    EXPECT_EQ(one->steps[1], (Step{.verb = Verb::update, .tensor = Tensor::wk}));
    EXPECT_EQ(one->steps[2], (Step{.verb = Verb::append, .expect = "CacheLayerRevisionMismatch"}));
    EXPECT_EQ(one->steps[3],
              (Step{.verb = Verb::append, .rank = 2, .rows = 0, .batch = 3, .width = 7, .expect = "X"}));
    EXPECT_EQ(one->steps[5], (Step{.verb = Verb::layer, .variant = Variant::rope_pairs}));
    EXPECT_EQ(one->steps[9], (Step{.verb = Verb::commit, .count = 1, .expect = "StaleTicket"}));
}

TEST(Parse, FreedomsOfTheTextDisappear) {
    EXPECT_REFUSED("#no space\n#   \n  # not in the first column = 1\n", "TrailingText", 3, "");
    const auto one = parse(
        "#no space\n#\n#  two\n\n  values=normal   seed 7 \ncapacity =5\nheads=3\nkv_heads= 1\n"
        "set = x[0,0,0] 1\nstep = append\nhead_width = 4\nwidth = 12\nbatch = 1\ntype = double\n"
        "rope = half width 2 base 100 positions 9 first 1\nlaw = a");
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(
        print(*one),
        "# no space\n#\n#  two\nlaw = a\ntype = double\nbatch = 1\nwidth = 12\nheads = 3\nkv_heads = 1\n"
        "rope = half width 2 base 0x1.9p+6 positions 9 first 1\ncapacity = 5\nvalues = normal seed 7\n"
        "set = x[0,0,0] 0x1p+0\nstep = append\n");
}

TEST(Parse, HeadWidthIsPrintedWhereItIsNotWidthOverHeads) {
    const auto one = parse(with("heads", "heads = 3\nhead_width = 5\nexpect = HeadWidthMismatch\n"));
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(one->head_width, 5U);
    EXPECT_NE(print(*one).find("head_width = 5\n"), std::string::npos);
    EXPECT_EQ(parse(print(*one)), *one);
    const auto none =
        parse(with("set", "").replace(0, 0, "").replace(with("set", "").find("heads = 3"), 9, "heads = 0"));
    ASSERT_TRUE(none) << none.error().text();
    EXPECT_EQ(none->head_width, 0U);
}

TEST(Parse, EveryRefusalNamesLineAndKey) {
    EXPECT_REFUSED("", "MissingKey", 0, "law");
    EXPECT_REFUSED(with("law", ""), "MissingKey", 0, "law");
    EXPECT_REFUSED(with("values", ""), "MissingKey", 0, "values");
    EXPECT_REFUSED(with("rope", ""), "MissingKey", 0, "rope");
    EXPECT_REFUSED("a\tb", "BadCharacter", 1, "");
    EXPECT_REFUSED("law = a\r\n", "BadCharacter", 1, "");
    EXPECT_REFUSED(std::string("law = a\0", 8), "BadCharacter", 1, "");
    EXPECT_REFUSED("law = a\n# late", "MisplacedComment", 2, "#");
    EXPECT_REFUSED("law", "NotAssignment", 1, "");
    EXPECT_REFUSED(" = 3", "NotAssignment", 1, "");
    EXPECT_REFUSED("the law = a", "TrailingText", 1, "");
    EXPECT_REFUSED("laws = a", "UnknownKey", 1, "laws");
    EXPECT_REFUSED("\n\nlaw = a\nlaw = a", "DuplicateKey", 4, "law");
    EXPECT_REFUSED("law = ", "MissingValue", 1, "law");
    EXPECT_REFUSED("law = a b", "TrailingText", 1, "law");
    EXPECT_REFUSED("law = 1a", "BadName", 1, "law");
    EXPECT_REFUSED("law = a-b", "BadName", 1, "law");
    EXPECT_REFUSED("law = ../a", "BadName", 1, "law");
    EXPECT_REFUSED("law = " + std::string(101, 'a'), "BadName", 1, "law");
    EXPECT_REFUSED("type = half", "UnknownWord", 1, "type");
    EXPECT_REFUSED("batch = -1", "BadNumber", 1, "batch");
    EXPECT_REFUSED("batch = +1", "BadNumber", 1, "batch");
    EXPECT_REFUSED("batch = 01", "BadNumber", 1, "batch");
    EXPECT_REFUSED("batch = 0x1", "BadNumber", 1, "batch");
    EXPECT_REFUSED("batch = 18446744073709551616", "CountOutOfRange", 1, "batch");
    EXPECT_REFUSED("batch = 99999999999999999999999", "CountOutOfRange", 1, "batch");
    EXPECT_REFUSED("batch = 9x999999999999999999999", "BadNumber", 1, "batch");
    EXPECT_REFUSED("rope = both", "UnknownWord", 1, "rope");
    EXPECT_REFUSED("rope = half base", "UnknownWord", 1, "rope");
    EXPECT_REFUSED("rope = half width 2 base 1.5 positions 3 first 0", "BadFloat", 1, "rope");
    EXPECT_REFUSED("rope = half width 2 base 0x1p1024 positions 3 first 0", "FloatOutOfRange", 1, "rope");
    EXPECT_REFUSED("rope = half width 2 base 0x1p-1075 positions 3 first 0", "NotRepresentable", 1, "rope");
    EXPECT_REFUSED("rope = half width 2 base 1 positions 3", "MissingValue", 1, "rope");
    EXPECT_REFUSED("rope = half width 2 base 1 positions 3 first 0 0", "TrailingText", 1, "rope");
    EXPECT_REFUSED("values = random seed 1", "UnknownWord", 1, "values");
    EXPECT_REFUSED("values = normal", "MissingValue", 1, "values");
    EXPECT_REFUSED("values = normal seed 1 2", "TrailingText", 1, "values");
    EXPECT_REFUSED("fill = wz ones", "UnknownWord", 1, "fill");
    EXPECT_REFUSED("fill = wq one", "UnknownWord", 1, "fill");
    EXPECT_REFUSED("fill = wq ones 3", "TrailingText", 1, "fill");
    EXPECT_REFUSED("fill = wq ones seed", "MissingValue", 1, "fill");
    EXPECT_REFUSED("fill = wq ones seed 3 4", "TrailingText", 1, "fill");
    EXPECT_REFUSED("fill = wq ones\nfill = wq zeros", "DuplicateKey", 2, "fill");
}

TEST(Parse, RefusesBadSets) {
    for (const char* set : {"x", "x[", "x]", "x[0,0,0", "q[0,0]", "gradient[0,0]", "wq.wk[0,0]",
                            "update.x[0,0]", "update.[0,0]", "[0,0]", ".wq[0,0]", "x[0,0,0]]x"})
        EXPECT_REFUSED(std::string("set = ") + set + " 1", "UnknownWord", 1, "set");
    for (const char* set : {"x[]", "x[0,0]", "x[0,0,0,0]", "wq[0]", "wq[0,0,0]", "wq[a,0]", "wq[,0]",
                            "wq[-1,0]", "wq[0,0]]", "wq[00,0]"})
        EXPECT_REFUSED(std::string("set = ") + set + " 1", "BadNumber", 1, "set");
    EXPECT_REFUSED("set = wq[18446744073709551616,0] 1", "CountOutOfRange", 1, "set");
    // The values of sets are read last, on their own lines.
    EXPECT_REFUSED(with("set", "set = wk[0,0]\n"), "MissingValue", 13, "set");
    EXPECT_REFUSED(with("set", "set = wk[0,0] 1 2\n"), "TrailingText", 13, "set");
    EXPECT_REFUSED(with("set", "set = wk[0,0] 0x1.000001p0\n"), "NotRepresentable", 13, "set");
    EXPECT_REFUSED(with("set", "set = wk[0,0] nan:0x7ff8000000000001\n"), "BadFloat", 13, "set");
    for (const char* set : {"wk[4,0]", "wk[0,12]", "wq[12,0]", "wo[12,0]", "wo[0,12]", "update.wv[4,0]",
                            "x[2,0,0]", "x[0,3,0]", "x[0,0,12]"})
        EXPECT_REFUSED(with("set", std::string("set = ") + set + " 1\n"), "IndexOutOfRange", 13, "set");
    for (const char* set : {"wk[3,11]", "wq[11,11]", "wo[11,11]", "update.wv[3,11]", "x[1,2,11]"})
        EXPECT_EQ(verdict(with("set", std::string("set = ") + set + " 1\n")), "accepted") << set;
}

TEST(Parse, RefusesBadSteps) {
    for (const char* step :
         {"apend", "Append", "append1", "update x", "update gradient", "update w", "layer other"})
        EXPECT_REFUSED(std::string("step = ") + step, "UnknownWord", 1, "step");
    for (const char* step : {"", "prefill", "skip", "rewind", "fail", "cache", "update", "update_nonfinite",
                             "layer", "append expect", "append rank"})
        EXPECT_REFUSED(std::string("step = ") + step, "MissingValue", 1, "step");
    for (const char* step : {"append 1",         "append rows 1 rank 2", "append batch 1 batch 1",
                             "append Expect X",  "append expect X Y",    "append expect X expect X",
                             "prefill 2 rows 2", "prefill 2 2",          "reset 1",
                             "reset rows 1",     "skip 1 expect X",      "rewind 1 expect X",
                             "fail 1 expect X",  "update wk wv",         "commit x",
                             "commit 1 2",       "commit_all 1",         "adamw wk",
                             "layer wider 2",    "snapshot width 3"})
        EXPECT_REFUSED(std::string("step = ") + step, "TrailingText", 1, "step");
    for (const char* step : {"prefill x", "prefill -1", "append rank two", "commit 1x", "skip 1.0"})
        EXPECT_REFUSED(std::string("step = ") + step, "BadNumber", 1, "step");
    for (const char* step : {"fail 0", "cache 8", "append rank 5", "prefill 18446744073709551616",
                             "commit 18446744073709551616"})
        EXPECT_REFUSED(std::string("step = ") + step, "CountOutOfRange", 1, "step");
    EXPECT_REFUSED("step = append expect 9x", "BadName", 1, "step");
}

std::string repeated(std::string_view line, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
        out += line;
    return out;
}

TEST(Parse, LimitsAreExact) {
    EXPECT_EQ(verdict(with("step", repeated("step = append\n", kMaxSteps))), "accepted");
    EXPECT_REFUSED(with("step", repeated("step = append\n", kMaxSteps + 1)), "TooMany", 4111, "step");
    EXPECT_EQ(verdict(with("set", repeated("set = wk[0,0] 1\n", kMaxSets))), "accepted");
    EXPECT_REFUSED(with("set", repeated("set = wk[0,0] 1\n", kMaxSets + 1)), "TooMany", 4109, "set");
    const std::string canonical(kCanonical);
    EXPECT_EQ(verdict(repeated("# c\n", kMaxComments - 1) + canonical), "accepted");
    EXPECT_REFUSED(repeated("# c\n", kMaxComments) + canonical, "TooMany", 4097, "#");
    EXPECT_EQ(verdict("# " + std::string(kMaxLineBytes - 2, 'c') + "\n" + canonical), "accepted");
    EXPECT_REFUSED("# " + std::string(kMaxLineBytes - 1, 'c') + "\n" + canonical, "LineTooLong", 1, "");
    EXPECT_REFUSED("#" + std::string(kMaxLineBytes - 1, 'c') + "\n" + canonical, "LineTooLong", 1, "#");
    EXPECT_EQ(verdict(std::string(kMaxTextBytes - canonical.size(), '\n') + canonical), "accepted");
    EXPECT_REFUSED(std::string(kMaxTextBytes - canonical.size() + 1, '\n') + canonical, "TextTooLong", 0, "");
    // 255 full lines without the space after #: 1 MiB as it stands, 255 bytes more in canonical form.
    const std::string full = "#" + std::string(kMaxLineBytes - 2, 'c') + "\n";
    EXPECT_REFUSED(repeated(full, 255) + "#" +
                       std::string(kMaxTextBytes - 255 * kMaxLineBytes - canonical.size() - 2, 'c') + "\n" +
                       canonical,
                   "TextTooLong", 0, "");
}

TEST(Parse, PrintThenParseGivesTheCaseAgain) {
    testing::Random random(4);
    for (int i = 0; i < 20'000; ++i) {
        const Case one = testing::random_case(random);
        ASSERT_FALSE(check(one)) << check(one)->text() << "\n" << print(one);
        const std::string text = print(one);
        const auto back = parse(text);
        ASSERT_TRUE(back) << back.error().text() << "\n" << text;
        ASSERT_EQ(*back, one) << text;
        ASSERT_EQ(print(*back), text);
    }
}

// What comes out of any bytes is a case that prints and parses to itself; nothing crashes and nothing is
// misplaced.
TEST(Parse, MutatedTextsAreReadOrRefused) {
    testing::Random random(5);
    std::size_t accepted = 0;
    std::size_t refused = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string text = i % 2 == 0 ? std::string(kCanonical) : print(testing::random_case(random));
        text = testing::mutate(std::move(text), random);
        const auto one = parse(text);
        if (one) {
            ++accepted;
            ASSERT_FALSE(check(*one)) << check(*one)->text() << "\n" << text;
            const auto back = parse(print(*one));
            ASSERT_TRUE(back) << back.error().text() << "\n" << text;
            ASSERT_EQ(*back, *one) << text;
        } else {
            ++refused;
            ASSERT_FALSE(one.error().text().empty());
        }
    }
    EXPECT_GT(accepted, 5'000U);
    EXPECT_GT(refused, 20'000U);
}

// Each list alone fits 1 MiB; together they do not.
TEST(Check, RefusesWhatWouldPrintTooLong) {
    Case one;
    one.steps.assign(3500, {.rank = 3,
                            .rows = UINT64_MAX,
                            .batch = UINT64_MAX,
                            .width = UINT64_MAX,
                            .expect = std::string(kMaxNameBytes, 'b')});
    one.heads = one.width = UINT64_MAX;
    one.head_width = 1;
    EXPECT_FALSE(check(one));
    const Set longest = {
        Tensor::gradient, Tensor::wq, {UINT64_MAX - 1, UINT64_MAX - 1, 0}, 0xbff123456789abcd};
    one.sets.assign(kMaxSets, longest);
    ASSERT_GT(print(one).size(), kMaxTextBytes);
    ASSERT_TRUE(check(one));
    EXPECT_EQ(check(one)->code, ErrorCode::TextTooLong);
    one.steps.clear();
    EXPECT_FALSE(check(one));
}

// A feature count beyond 64 bits must not wrap round to a small one.
TEST(Check, SetsOfAVirtualTensorStayInside) {
    Case one;
    one.heads = one.head_width = 1ULL << 32;
    one.sets = {{Tensor::wq, Tensor::wq, {UINT64_MAX - 1, 7, 0}, 0}};
    EXPECT_FALSE(check(one));
    EXPECT_EQ(parse(print(one)), one);
}

TEST(Check, RefusesWhatNoTextSays) {
    const auto code = [](const Case& one) {
        const auto error = check(one);
        return error ? std::string(to_text(error->code)) : std::string("fine");
    };
    const auto with_step = [](const Step& step) {
        Case one;
        one.steps.push_back(step);
        return one;
    };
    EXPECT_EQ(code(Case{}), "fine");
    EXPECT_EQ(code({.comments = {"a\nlaw = b"}}), "BadCharacter");
    EXPECT_EQ(code({.comments = {"a "}}), "BadCharacter");
    EXPECT_EQ(code({.comments = {std::string(kMaxLineBytes - 1, 'a')}}), "BadCharacter");
    EXPECT_EQ(code({.comments = std::vector<std::string>(kMaxComments + 1)}), "TooMany");
    EXPECT_EQ(code({.comments = std::vector<std::string>(400, std::string(4000, 'a'))}), "TextTooLong");
    EXPECT_EQ(code({.law = ""}), "BadName");
    EXPECT_EQ(code({.law = "a b"}), "BadName");
    EXPECT_EQ(code({.expect = "9"}), "BadName");
    EXPECT_EQ(code({.type = static_cast<ElementType>(2)}), "UnknownWord");
    EXPECT_EQ(code({.values = {static_cast<Filling>(200), 0}}), "UnknownWord");
    EXPECT_EQ(code({.fills = {{Tensor::x, Filling::ones, 1}, {Tensor::x, Filling::ones, 1}}}),
              "DuplicateKey");
    EXPECT_EQ(code({.sets = {{Tensor::wq, Tensor::wq, {8, 0, 0}, 0}}}), "IndexOutOfRange");
    EXPECT_EQ(code({.sets = {{Tensor::wq, Tensor::wk, {0, 0, 0}, 0}}}), "UnusedField");
    EXPECT_EQ(code({.sets = {{Tensor::wq, Tensor::wq, {0, 0, 1}, 0}}}), "UnusedField");
    EXPECT_EQ(code({.sets = {{Tensor::update, Tensor::x, {0, 0, 0}, 0}}}), "UnknownWord");
    EXPECT_EQ(code({.type = ElementType::float32, .sets = {{Tensor::wq, Tensor::wq, {0, 0, 0}, 1}}}),
              "NotRepresentable");
    EXPECT_EQ(code({.sets = std::vector<Set>(kMaxSets + 1, {Tensor::wq, Tensor::wq, {0, 0, 0}, 0})}),
              "TooMany");
    EXPECT_EQ(code({.steps = std::vector<Step>(kMaxSteps + 1)}), "TooMany");
    EXPECT_EQ(code(with_step({.verb = Verb::reset, .count = 1})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::append, .tensor = Tensor::wk})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::append, .variant = Variant::wider})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::commit, .rank = 3})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::prefill, .count = 1, .rows = 3})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::skip, .count = 1, .expect = "X"})), "UnusedField");
    EXPECT_EQ(code(with_step({.verb = Verb::fail})), "CountOutOfRange");
    EXPECT_EQ(code(with_step({.verb = Verb::cache, .count = 8})), "CountOutOfRange");
    EXPECT_EQ(code(with_step({.verb = Verb::append, .rank = 5})), "CountOutOfRange");
    EXPECT_EQ(code(with_step({.verb = Verb::update, .tensor = Tensor::x})), "UnknownWord");
    EXPECT_EQ(code(with_step({.verb = static_cast<Verb>(99)})), "UnknownWord");
    EXPECT_EQ(code(with_step({.verb = Verb::append, .expect = "a b"})), "BadName");
}

// A case wrecked field by field, as a mutator does.
Case wrecked(testing::Random& random) {
    Case one = testing::random_case(random);
    const auto byte = [&] { return static_cast<std::uint8_t>(random.next()); };
    one.type = static_cast<ElementType>(byte() % 4);
    one.values.filling = static_cast<Filling>(byte() % 20);
    one.rope.pairs = static_cast<Pairs>(byte() % 3);
    if (random.coin()) one.law = testing::mutate(one.law, random);
    if (random.coin()) one.expect = testing::mutate(one.expect, random);
    for (std::string& comment : one.comments)
        comment = testing::mutate(comment, random);
    for (Step& step : one.steps) {
        step.verb = static_cast<Verb>(byte() % 20);
        step.variant = static_cast<Variant>(byte() % 12);
        step.tensor = static_cast<Tensor>(byte() % 9);
        step.count = random.next() >> random.below(64);
        if (random.coin()) step.rank = random.below(9);
        if (random.coin()) step.expect = testing::mutate(step.expect, random);
    }
    for (Set& set : one.sets) {
        set.tensor = static_cast<Tensor>(byte() % 9);
        set.of = static_cast<Tensor>(byte() % 9);
        set.index[2] = random.below(3);
        set.bits = random.next();
    }
    one.fills.push_back({static_cast<Tensor>(byte() % 9), static_cast<Filling>(byte() % 20), std::nullopt});
    return one;
}

TEST(Normalise, MakesAnyCaseGoodAndLeavesAGoodOneAlone) {
    testing::Random random(6);
    std::size_t bad = 0;
    for (int i = 0; i < 20'000; ++i) {
        Case one = wrecked(random);
        if (check(one)) ++bad;
        normalise(one);
        const auto error = check(one);
        ASSERT_FALSE(error) << error->text();
        const auto back = parse(print(one));
        ASSERT_TRUE(back) << back.error().text() << "\n" << print(one);
        ASSERT_EQ(*back, one);
        Case again = one;
        normalise(again);
        ASSERT_EQ(again, one);
    }
    EXPECT_GT(bad, 15'000U);
}

TEST(Normalise, CutsWhatIsTooLong) {
    Case one;
    one.comments.assign(kMaxComments + 5, std::string(9000, 'a'));
    one.steps.assign(kMaxSteps + 5, {.rank = 3,
                                     .rows = UINT64_MAX,
                                     .batch = UINT64_MAX,
                                     .width = UINT64_MAX,
                                     .expect = std::string(300, 'b')});
    one.sets.assign(kMaxSets + 5, {Tensor::update, Tensor::wk, {0, 0, 0}, 0x3ff123456789abcd});
    normalise(one);
    EXPECT_FALSE(check(one));
    EXPECT_EQ(parse(print(one)), one);
    EXPECT_FALSE(one.steps.empty());
}

TEST(ErrorText, EscapesWhatATerminalWouldObey) {
    const auto one = parse("\xc2\x9bJ = 1");
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().text(), "line 1: \\xc2\\x9bJ: UnknownKey: no key of a case");
}

}  // namespace
}  // namespace attest::cases
