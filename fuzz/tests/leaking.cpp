// A target that leaks as its input says, behind the driver's own main, memory and options.
#include "../drivers/name.hpp"
#include "../src/target.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace {

using attest::properties::Verdict;

// Each leak is of several blocks: one may be forgotten in a register and pass for one that is still in use.
constexpr std::size_t kBlocks = 8;

// The sizes that the arena takes, and one that it leaves to the heap.
constexpr std::size_t kSmall = 24;
constexpr std::size_t kLarge = std::size_t{1} << 17;

// What is reached from here is no leak.
std::array<void*, kBlocks> kept = {};

// As the library asks for numbers.
constexpr std::align_val_t kLine{64};

[[gnu::noinline]] void* take(std::byte how) {
    switch (static_cast<char>(how)) {
        case 'n':
            return ::operator new(kSmall);
        case 'a':
            return ::operator new(kSmall, kLine, std::nothrow);
        case 'l':
            return ::operator new(kLarge);
        case 'm':
            return std::malloc(kSmall);
        case 'k':
            return ::operator new(kSmall);
        default:
            return nullptr;
    }
}

[[gnu::noinline]] Verdict leak(std::span<const std::byte> input) {
    const std::byte how = input.empty() ? std::byte{} : input.front();
    for (void*& block : kept) {
        void* volatile taken = take(how);
        if (how == std::byte{'k'}) {
            ::operator delete(block);
            block = taken;
        }
        taken = nullptr;
    }
    return attest::properties::vacuous("leaked as it was told");
}

}  // namespace

std::unique_ptr<attest::fuzzing::Target> attest::fuzzing::make_this_target(MakeSubject) {
    return make_reader_target(leak);
}
