#include <gtest/gtest.h>

#include <attest/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "counting_memory.hpp"
#include "fixture.hpp"
#include "view_walk.hpp"

namespace attest {
namespace {

std::vector<double> numbers(std::size_t count) {
    std::vector<double> storage(count);
    std::iota(storage.begin(), storage.end(), 0.0);
    return storage;
}

std::vector<double> elements(const TensorView<const double>& view) {
    std::vector<double> seen;
    detail::walk(view, [&](std::size_t index, const double& value) {
        EXPECT_EQ(index, seen.size());
        seen.push_back(value);
    });
    return seen;
}

TEST(Shape, CountsAndRefusesToOverflow) {
    EXPECT_EQ(Shape().count(), 1U);
    EXPECT_EQ((Shape{2, 3, 4}.count()), 24U);
    EXPECT_EQ((Shape{SIZE_MAX, SIZE_MAX, 0}.count()), 0U);
    EXPECT_EQ((Shape{SIZE_MAX / 2, 2}.count()), SIZE_MAX - 1);
    EXPECT_FALSE((Shape{SIZE_MAX / 2 + 1, 2}.count()));
    // What wrapped once does not fit, however small the rest is.
    EXPECT_FALSE((Shape{SIZE_MAX / 2 + 1, 2, 3}.count()));
    EXPECT_NE(Shape(), Shape{0});
    EXPECT_NE((Shape{1, 2}), (Shape{2, 1}));
    EXPECT_EQ((Shape{2, 3}).lengths().size(), 2U);
    EXPECT_EQ((Shape{2, 3}).lengths()[1], 3U);
    const std::size_t five[] = {1, 1, 1, 1, 1};
    EXPECT_FALSE(Shape::of(five));
    EXPECT_EQ(Shape::of(std::span(five).first(2)), (Shape{1, 1}));
}

TEST(TensorView, ReadsDenseStorageInOrder) {
    std::vector<double> storage = numbers(24);
    const auto view = *TensorView<double>::over(storage, Shape{2, 3, 4});
    EXPECT_EQ(view(1, 2, 3), 23.0);
    EXPECT_TRUE(view.is_dense());
    EXPECT_EQ(elements(view), storage);
}

TEST(TensorView, TransposesSlicesAndBroadcasts) {
    std::vector<double> storage = numbers(6);
    const auto view = *TensorView<double>::over(storage, Shape{2, 3});
    const auto turned = *view.transpose(0, 1);
    EXPECT_EQ(turned.shape(), (Shape{3, 2}));
    EXPECT_FALSE(turned.is_dense());
    EXPECT_EQ(elements(turned), (std::vector<double>{0, 3, 1, 4, 2, 5}));
    const auto sliced = *view.slice(1, 1, 2);
    EXPECT_EQ(elements(sliced), (std::vector<double>{1, 2, 4, 5}));
    const auto row = *view.slice(0, 1, 1);
    const auto repeated = *row.broadcast(0, 3);
    EXPECT_EQ(elements(repeated), (std::vector<double>{3, 4, 5, 3, 4, 5, 3, 4, 5}));
    EXPECT_TRUE(detail::can_write(turned));
    EXPECT_TRUE(detail::can_write(sliced));
    EXPECT_FALSE(detail::can_write(repeated));
}

TEST(TensorView, WalksBackwards) {
    std::vector<double> storage = numbers(6);
    const auto view = *TensorView<double>::over(storage, Shape{2, 3}, Strides{3, -1}, 2);
    EXPECT_EQ(elements(view), (std::vector<double>{2, 1, 0, 5, 4, 3}));
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{2, 3}, Strides{3, -1}, 1)),
              "ViewOutOfStorage");
}

TEST(TensorView, RefusesWhatLeavesItsStorage) {
    std::vector<double> storage = numbers(6);
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{7})), "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{SIZE_MAX, 2})), "ElementCountOverflow");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{2}, Strides{6})), "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{2}, Strides{PTRDIFF_MAX}, 1)),
              "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{3}, Strides{PTRDIFF_MIN}, 1)),
              "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{1}, Strides{0}, SIZE_MAX)),
              "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{(std::size_t{1} << 63) + 1}, Strides{0})),
              "ViewOutOfStorage");
    EXPECT_TRUE(TensorView<double>::over(storage, Shape{std::size_t{1} << 62}, Strides{0}));
    // Each axis fits an offset, both together do not.
    EXPECT_EQ(
        test::refusal(TensorView<double>::over(storage, Shape{2, 2}, Strides{PTRDIFF_MAX, PTRDIFF_MAX})),
        "ViewOutOfStorage");
    EXPECT_EQ(
        test::refusal(TensorView<double>::over(storage, Shape{2, 2}, Strides{PTRDIFF_MIN, PTRDIFF_MIN})),
        "ViewOutOfStorage");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{SIZE_MAX})), "ElementCountOverflow");
    EXPECT_EQ(test::refusal(TensorView<double>::over(storage, Shape{SIZE_MAX, 2}, Strides{0, 0})),
              "ElementCountOverflow");
    EXPECT_TRUE(TensorView<double>::over(storage, Shape{5, 0}, Strides{SIZE_MAX / 4, 1}, SIZE_MAX));
    EXPECT_TRUE(TensorView<double>::over({}, Shape{0, 5}));
}

TEST(TensorView, RefusesAxesThatAreNotThere) {
    std::vector<double> storage = numbers(6);
    const auto view = *TensorView<double>::over(storage, Shape{2, 3});
    EXPECT_EQ(test::refusal(view.slice(2, 0, 1)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal(view.slice(1, 2, 2)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal(view.slice(1, SIZE_MAX, 2)), "ViewAxisInvalid");
    EXPECT_TRUE(view.slice(1, 3, 0));
    EXPECT_EQ(test::refusal(view.transpose(0, 2)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal(view.transpose(2, 0)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal(view.broadcast(2, 1)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal(view.broadcast(0, 2)), "ViewAxisInvalid");
    EXPECT_EQ(test::refusal((*view.slice(1, 0, 1)).broadcast(1, SIZE_MAX)), "ViewAxisInvalid");
}

// Random strides against the definition: every index evaluated, by brute force.
TEST(TensorView, CanWriteNeverAcceptsASharedElement) {
    SplitMix64 random = SplitMix64::from_seed(1);
    std::size_t accepted = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        const auto draw = [&](std::uint64_t below) { return random.next() % below; };
        const Shape shape{draw(3) + 1, draw(3) + 1, draw(3) + 1};
        const Strides strides{static_cast<std::ptrdiff_t>(draw(20)) - 10,
                              static_cast<std::ptrdiff_t>(draw(20)) - 10,
                              static_cast<std::ptrdiff_t>(draw(20)) - 10};
        std::vector<double> storage(200);
        const auto view = *TensorView<double>::over(storage, shape, strides, 100);
        detail::walk(view, [](std::size_t, double& element) { element += 1.0; });
        bool shared = false;
        for (const double touched : storage)
            shared = shared || touched > 1.0;
        if (detail::can_write(view)) {
            ++accepted;
            ASSERT_FALSE(shared);
        }
    }
    EXPECT_GT(accepted, 1000U);
}

TEST(Tensor, OwnsWhatItCopies) {
    test::CountingMemory memory;
    {
        std::vector<double> storage = numbers(6);
        const auto view = *TensorView<double>::over(storage, Shape{2, 3});
        const auto copy = *Tensor<double>::copy_of(*view.transpose(0, 1), memory);
        storage.assign(6, -1.0);
        EXPECT_EQ(elements(copy.view()), (std::vector<double>{0, 3, 1, 4, 2, 5}));
        EXPECT_EQ(memory.live, 1U);
        memory.fail_at(1);
        EXPECT_EQ(test::refusal(Tensor<double>::zeros(Shape{2}, memory)), "AllocationFailed");
        memory.fail_at(1);
        EXPECT_EQ(test::refusal(Tensor<double>::copy_of(view, memory)), "AllocationFailed");
        EXPECT_EQ(memory.live, 1U);
        EXPECT_EQ(test::refusal(Tensor<double>::zeros(Shape{SIZE_MAX, 2}, memory)), "ElementCountOverflow");
        EXPECT_EQ(test::refusal(Tensor<double>::zeros(Shape{SIZE_MAX / 8}, memory)), "AllocationFailed");
        EXPECT_EQ(test::refusal(Tensor<double>::zeros(Shape{SIZE_MAX / 8 + 1}, memory)),
                  "ElementCountOverflow");
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(TensorView, WithoutElementsIsDenseAndWritableWhateverItsStrides) {
    std::vector<double> storage = numbers(6);
    const auto none = *TensorView<double>::over(storage, Shape{3, 0}, Strides{0, 5});
    EXPECT_TRUE(none.is_dense());
    EXPECT_TRUE(detail::can_write(none));
    EXPECT_EQ(elements(none), std::vector<double>());
    // An axis of length one is never stepped along.
    EXPECT_TRUE((*TensorView<double>::over(storage, Shape{1, 6}, Strides{-3, 1})).is_dense());
    EXPECT_FALSE((*TensorView<double>::over(storage, Shape{2, 3}, Strides{0, 1})).is_dense());
    EXPECT_EQ(Tensor<double>::zeros(Shape{3, 0})->size(), 0U);
}

// Where memory comes from: as aligned as it was asked for, huge pages included, and nullptr when there is
// none.
TEST(Memory, KeepsItsAlignmentAndSaysWhenItHasNone) {
    const std::size_t huge = std::size_t{2} << 20;
    for (const std::size_t bytes : {std::size_t{24}, huge, huge + 1}) {
        for (const std::size_t alignment : {kBufferAlignment, 2 * huge}) {
            void* const pointer = default_memory().allocate(bytes, alignment);
            ASSERT_NE(pointer, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0U);
            if (bytes >= huge) {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % huge, 0U);
            }
            static_cast<char*>(pointer)[bytes - 1] = 1;
            default_memory().deallocate(pointer, bytes, alignment);
        }
    }
    EXPECT_EQ(default_memory().allocate(SIZE_MAX, 64), nullptr);
    // A caller's own may be destroyed by its base.
    const std::unique_ptr<Memory> counting = std::make_unique<test::CountingMemory>();
    EXPECT_EQ(Tensor<float>::zeros(Shape{2}, *counting)->size(), 2U);
#if !ATTEST_TEST_SANITIZED  // it would end the process
    EXPECT_EQ(default_memory().allocate(std::size_t{1} << 62, 64), nullptr);
#endif
}

}  // namespace
}  // namespace attest
