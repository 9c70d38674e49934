#include "attest/properties/subject.hpp"
#include "attest/properties/scene.hpp"

#include <bit>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

LayerSpec identity_layer(cases::ElementType type) {
    LayerSpec spec;
    spec.type = type;
    spec.width = 2;
    spec.heads = spec.kv_heads = 1;
    spec.head_width = 2;
    spec.rope = {.pairs = cases::Pairs::interleaved, .width = 2, .base = 10000, .positions = 8, .first = 0};
    const Array identity = {1, 0, 0, 1};
    spec.weights = {identity, identity, identity, identity};
    return spec;
}

class AttestSubjectOf : public testing::TestWithParam<cases::ElementType> {
  protected:
    std::unique_ptr<Subject> subject = make_attest_subject();
    std::unique_ptr<Layer> layer = std::move(*subject->make_layer(identity_layer(GetParam())));
    std::unique_ptr<Cache> cache = std::move(*layer->make_cache(1, 4, 0));
    const Array row = {0.5, -2};
    const Input x = {.shape = {1, 1, 2}, .values = row};
};

TEST_P(AttestSubjectOf, AppendsAndReadsBack) {
    Output y;
    y.values = {7, 7};
    ASSERT_TRUE(layer->append(*cache, x, y));
    EXPECT_EQ(y.values, row);
    EXPECT_EQ(cache->length(), 1u);
    EXPECT_EQ(cache->live_values(), row);
    EXPECT_EQ(*cache->keys(), row);
}

TEST_P(AttestSubjectOf, GivesEveryLayoutTheSameNumbers) {
    for (const Layout in : kInputLayouts) {
        for (const Layout out : kOutputLayouts) {
            if (out == Layout::aliased && in == Layout::repeated) continue;
            cache->reset();
            Output y;
            y.values = {7, 7};
            y.layout = out;
            Input strided = x;
            strided.layout = in;
            ASSERT_TRUE(layer->append(*cache, strided, y));
            EXPECT_EQ(y.values, row);
            EXPECT_TRUE(y.gaps_intact);
        }
    }
}

TEST_P(AttestSubjectOf, ShowsAndPoisonsStorage) {
    Output y;
    y.values = {7, 7};
    ASSERT_TRUE(layer->append(*cache, x, y));
    // A signalling NaN of a float keeps its payload on both ways.
    const double poison = std::bit_cast<double>(std::uint64_t{0x7ff0000020000000});
    cache->poison(poison);
    const Storage storage = cache->storage();
    ASSERT_EQ(storage.keys.size(), 8u);
    EXPECT_EQ(storage.keys[0], 0.5);
    EXPECT_TRUE(same_bits(storage.keys[2], poison));
    EXPECT_TRUE(same_bits(storage.values[7], poison));
    EXPECT_EQ(cache->live_keys(), row);
}

TEST_P(AttestSubjectOf, CountsFailsAndLimitsAllocations) {
    const std::uint64_t before = subject->allocations();
    subject->fail_allocation(1);
    const auto refused = layer->make_cache(1, 4, 0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "AllocationFailed");
    EXPECT_EQ(subject->allocations(), before + 1);
    EXPECT_TRUE(layer->make_cache(1, 4, 0));
    subject->limit_allocation(64);
    EXPECT_FALSE(layer->make_cache(8, 8, 0));
    subject->limit_allocation(0);
    EXPECT_TRUE(layer->make_cache(8, 8, 0));
}

TEST_P(AttestSubjectOf, SaysWhyATicketIsStale) {
    Output y;
    y.values = {7, 7};
    const auto ticket = layer->prepare(*cache, x, y);
    ASSERT_TRUE(ticket);
    cache->reset();
    const Outcome<void> done = cache->commit(**ticket);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "StaleTicket");
    EXPECT_EQ(done.error().reason, "moved_on");
}

TEST_P(AttestSubjectOf, OneElementStandsForHugeShapes) {
    Output y;
    const std::array<double, 1> one = {1};
    const Input huge = {.shape = {1, std::uint64_t{1} << 60, 2}, .values = one};
    const Outcome<void> done = layer->prefill(*cache, huge, y);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "CacheFull");
}

INSTANTIATE_TEST_SUITE_P(BothTypes, AttestSubjectOf,
                         testing::Values(cases::ElementType::float32, cases::ElementType::float64));

}  // namespace
}  // namespace attest::properties
