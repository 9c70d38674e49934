// What AddressSanitizer finds on the heap it must find in the arena.
#include "../src/arena.hpp"

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace attest::fuzzing {
namespace {

// Lengths around those at which the gaps change; all of them lie in the arena.
constexpr std::size_t kLengths[] = {1, 7, 8, 15, 16, 17, 48, 49, 96, 97, 448, 449, 3968, 3969, 16128, 32768};

// A read that no optimiser leaves out.
void touch(const volatile char* place) {
    static_cast<void>(*place);
}

char* in_arena(std::size_t bytes) {
    const InArena here;
    return new char[bytes];
}

TEST(Arena, HoldsWhatIsAllocatedWhileItIsAskedFor) {
    const std::uint64_t before = blocks_in_use();
    {
        const InArena here;
        const std::unique_ptr<int> one = std::make_unique<int>(1);
        EXPECT_EQ(blocks_in_use(), before + 1);
        std::thread([&] { EXPECT_EQ(*std::make_unique<int>(*one), 1); }).join();
    }
    EXPECT_EQ(blocks_in_use(), before);
    const std::unique_ptr<int> outside = std::make_unique<int>(1);
    EXPECT_EQ(blocks_in_use(), before);
}

TEST(Arena, LargeBlocksAreTheHeaps) {
    const std::uint64_t before = blocks_in_use();
    const std::unique_ptr<char[]> large(in_arena((std::size_t{32} << 10) + 1));
    EXPECT_EQ(blocks_in_use(), before);
}

TEST(Arena, BlocksAreApartAndKeepTheirNumbers) {
    std::vector<std::vector<std::uint64_t>> lists(64);
    for (std::uint64_t round = 0; round < 4000; ++round) {
        const InArena here;
        auto& list = lists[round % lists.size()];
        for (const std::uint64_t number : list) {
            ASSERT_EQ(number, list.front());
        }
        list = std::vector<std::uint64_t>(1 + round * 7 % 600, round);
    }
}

TEST(Arena, BlocksThatAnotherThreadGivesBackAreTakenBack) {
    const std::uint64_t before = blocks_in_use();
    for (int round = 0; round < 100; ++round) {
        std::vector<char*> blocks;
        for (int i = 0; i < 50; ++i) {
            blocks.push_back(in_arena(3000));
        }
        std::thread([&] {
            for (char* const block : blocks) {
                delete[] block;
            }
        }).join();
    }
    EXPECT_EQ(blocks_in_use(), before);
}

TEST(Arena, WhenItIsFullOfBlocksThatStayTheHeapGoesOn) {
    std::vector<std::unique_ptr<char[]>> blocks;
    for (int i = 0; i < 4000; ++i) {
        blocks.emplace_back(in_arena(std::size_t{32} << 10));
        blocks.back()[0] = static_cast<char>(i);
    }
    for (int i = 0; i < 4000; ++i) {
        ASSERT_EQ(blocks[static_cast<std::size_t>(i)][0], static_cast<char>(i));
    }
}

TEST(Arena, AlignedBlocksAreAligned) {
    struct alignas(64) Line {
        char text[100];
    };
    const InArena here;
    for (int i = 0; i < 100; ++i) {
        const auto line = std::make_unique<Line>();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(line.get()) % 64, 0U);
    }
}

TEST(Arena, PoisonLiesAroundABlock) {
    for (const std::size_t bytes : kLengths) {
        SCOPED_TRACE(bytes);
        const std::unique_ptr<char[]> block(in_arena(bytes));
        const std::unique_ptr<char[]> next(in_arena(bytes));
        EXPECT_EQ(::__asan_region_is_poisoned(block.get(), bytes), nullptr);
        for (std::size_t beside = 1; beside <= 16; ++beside) {
            EXPECT_TRUE(::__asan_address_is_poisoned(block.get() - beside));
            EXPECT_TRUE(::__asan_address_is_poisoned(block.get() + bytes - 1 + beside));
        }
    }
}

TEST(Arena, WhatWasGivenBackStaysPoisonForAMegabyte) {
    for (const std::size_t bytes : kLengths) {
        SCOPED_TRACE(bytes);
        const char* const block = in_arena(bytes);
        delete[] block;
        for (std::size_t handed_out = 0; handed_out < (std::size_t{7} << 17); handed_out += 1024) {
            delete[] in_arena(1024);
            ASSERT_TRUE(::__asan_address_is_poisoned(block));
            ASSERT_TRUE(::__asan_address_is_poisoned(block + bytes - 1));
        }
    }
}

TEST(ArenaDeathTest, TouchingPoison) {
    const char* const block = in_arena(10);
    EXPECT_DEATH(touch(block + 10), "use-after-poison");
    delete[] block;
    EXPECT_DEATH(touch(block), "use-after-poison");
}

TEST(ArenaDeathTest, GivingBackInAnotherWay) {
    char* const block = in_arena(10);
    EXPECT_DEATH(delete block, "is \\(not\\) an array");
    EXPECT_DEATH(::operator delete[](block, std::size_t{11}), "has another size");
    EXPECT_DEATH(::operator delete[](block, std::align_val_t{32}), "has another alignment");
    EXPECT_DEATH(::operator delete[](block + 1), "is not where a block begins");
    delete[] block;
    EXPECT_DEATH(delete[] block, "was given back before");
}

}  // namespace
}  // namespace attest::fuzzing
