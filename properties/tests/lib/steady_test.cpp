// A step in its steady state: no page fault over a thousand, and memory that the geometry accounts for.
#include <gtest/gtest.h>

#include <algorithm>
#include <attest/attest.hpp>
#include <cstdint>
#include <limits>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "counting_memory.hpp"
#include "fixture.hpp"

namespace attest {
namespace {

#if defined(__linux__)
TEST(Steady, AThousandStepsTakeNoPageFault) {
    constexpr std::size_t steps = 1000;
    const auto layer =
        *MultiHeadAttention<float>::from_seed(1, {256, 4, 2, 64}, test::rotary<float>({64, 2 * steps}));
    // Large enough for huge pages: keys and values take 1 MiB each a thousand rows.
    auto warm = *LayerKvCache<float>::make(layer, 2, 2 * steps);
    auto y = *Tensor<float>::zeros(Shape{2, 1, 256});
    auto pool = *ThreadPool::make(2);
    const auto step = [&](LayerKvCache<float>& to) {
        return layer.forward_incremental(y.view(), to, y.view(), pool).has_value();
    };
    // Another cache's steps touch the code and the threads' stacks; the one that counts was only ever made.
    for (std::size_t count = 0; count < steps; ++count)
        ASSERT_TRUE(step(warm));
    const auto faults = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt + usage.ru_majflt;
    };
    // The kernel may take a page from anybody at any time. What a step itself meets for the first time it
    // meets in every cache that was only made.
    long fewest = std::numeric_limits<long>::max();
    for (int attempt = 0; attempt < 5 && fewest != 0; ++attempt) {
        auto cache = *LayerKvCache<float>::make(layer, 2, 2 * steps);
        const long before = faults();
        for (std::size_t count = 0; count < steps; ++count)
            ASSERT_TRUE(step(cache));
        fewest = std::min(fewest, faults() - before);
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's shadow takes its own page faults";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    GTEST_SKIP() << "a sanitizer's shadow takes its own page faults";
#endif
#endif
    EXPECT_EQ(fewest, 0);
}
#endif

// What a cache takes: its keys and values, a score a query head and position, and the same whatever the
// capacity but for the rows of partial sums, of which there is one more each time the capacity doubles.
TEST(Steady, MemoryIsWhatTheGeometrySays) {
    const AttentionGeometry geometry{128, 8, 2, 16};
    const auto bytes = [&](std::size_t batch, std::size_t capacity) {
        test::CountingMemory memory;
        const auto layer =
            *MultiHeadAttention<float>::from_seed(1, geometry, test::rotary<float>({16, 4096}));
        const auto cache = *LayerKvCache<float>::make(layer, batch, capacity, 0, memory);
        const std::size_t stored = 2 * batch * geometry.kv_heads * capacity * geometry.head_width;
        const std::size_t scores = batch * geometry.heads * capacity;
        return memory.live_bytes - (stored + scores) * sizeof(float);
    };
    const std::size_t fixed = bytes(1, 64);
    RecordProperty("fixed_bytes", static_cast<int>(fixed));
    // 32 slots of 4 queries by 16 features: one more row for each doubling of the blocks.
    const std::size_t row = 32 * 4 * 16 * sizeof(float);
    EXPECT_EQ(bytes(1, 128), fixed + row);
    EXPECT_EQ(bytes(1, 4096), fixed + 6 * row);
    EXPECT_LT(fixed, 32768U);
}

}  // namespace
}  // namespace attest
