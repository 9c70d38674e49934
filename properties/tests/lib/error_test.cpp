#include <gtest/gtest.h>

#include <attest/error.hpp>
#include <cmath>
#include <set>
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

TEST(Error, NamesWhatItSpeaksOf) {
    std::set<std::string_view> names;
    for (auto stage = Stage::input; stage <= Stage::tensor;
         stage = static_cast<Stage>(static_cast<int>(stage) + 1))
        names.insert(name(stage));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(Stage::tensor) + 1);
    EXPECT_EQ(name(Stage::tensor), "tensor");
    for (const auto which : {Hyperparameter::learning_rate, Hyperparameter::beta1, Hyperparameter::beta2,
                             Hyperparameter::epsilon, Hyperparameter::weight_decay}) {
        EXPECT_EQ(describe(Error(HyperparameterInvalid{which, 2})).view(),
                  std::string(name(which)) + " 2 lies outside its domain");
    }
    EXPECT_EQ(describe(Error(CacheLayerMismatch{2})).view().substr(0, 34),
              "the cache was made for another wv;");
    EXPECT_EQ(describe(Error(CacheLayerMismatch{4})).view().substr(0, 33),
              "the cache was made for another ?;");
    EXPECT_EQ(describe(Error(StaleTicket{StaleReason::updated, 1})).view(),
              "ticket 1 is stale (a parameter was updated); nothing was committed, prepare the row again");
}

}  // namespace
}  // namespace attest
