#include <gtest/gtest.h>

#include <attest/error.hpp>
#include <cmath>
#include <string>

namespace attest {
namespace {

template <std::size_t Index = 0, class Visit>
void for_each_refusal(Visit visit) {
    if constexpr (Index < std::variant_size_v<Error::Refusal>) {
        visit(Error(std::variant_alternative_t<Index, Error::Refusal>{}));
        for_each_refusal<Index + 1>(visit);
    }
}

TEST(Error, EveryRefusalHasANameOfItsOwnAndWords) {
    std::string names;
    for_each_refusal([&](const Error& error) {
        const std::string own = "|" + std::string(name(error)) + "|";
        EXPECT_EQ(names.find(own), std::string::npos) << own;
        names += own;
        const Message message = describe(error);
        EXPECT_GT(message.length, 10U) << own;
        EXPECT_EQ(std::string(message.c_str()).size(), message.length);
    });
}

TEST(Error, SaysWhatDiffered) {
    const Message message = describe(Error(ShapeMismatch{Stage::output, Shape{1, 2, 3}, Shape{1, 2}}));
    EXPECT_EQ(message.view(), "the output must have shape [1, 2, 3], got [1, 2]");
    EXPECT_EQ(describe(Error(NonFiniteInput{7, -HUGE_VAL})).view(),
              "the input at flat index 7 must be finite, got -inf");
}

TEST(Error, FitsItsMessageAtItsWorst) {
    const Shape widest{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const Message shapes = describe(Error(WeightShapeMismatch{3, widest, widest}));
    EXPECT_LT(shapes.length, Message::kCapacity - 1);
    const Message rope =
        describe(Error(CacheRopeMismatch{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, -0x1.123456789abcdp-1000,
                                         -0x1.123456789abcdp-1000, true, true}));
    EXPECT_LT(rope.length, Message::kCapacity - 1);
}

}  // namespace
}  // namespace attest
