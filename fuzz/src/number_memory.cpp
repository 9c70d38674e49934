#include "number_memory.hpp"

#include <gmp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace attest::fuzzing {
namespace {

constexpr std::size_t kStep = 64;
constexpr std::size_t kLists = 8;

// A block that was given back; its room holds the next one's address.
struct Block {
    Block* next;
};

thread_local std::array<Block*, kLists> free_blocks = {};

// The list for blocks of so many bytes; kLists for those that are not kept.
std::size_t list_of(std::size_t bytes) {
    return bytes == 0 ? 0 : std::min((bytes - 1) / kStep, kLists);
}

// GMP can't go on without memory, and says so: neither may this.
void* from_heap(std::size_t bytes) {
    void* const block = std::malloc(std::max<std::size_t>(bytes, 1));
    if (block == nullptr) std::abort();
    return block;
}

void* allocate(std::size_t bytes) {
    const std::size_t list = list_of(bytes);
    if (list == kLists) return from_heap(bytes);
    Block* const block = free_blocks[list];
    if (block == nullptr) return from_heap((list + 1) * kStep);
    free_blocks[list] = block->next;
    return block;
}

void give_back(void* pointer, std::size_t bytes) {
    const std::size_t list = list_of(bytes);
    if (list == kLists) {
        std::free(pointer);
        return;
    }
    free_blocks[list] = new (pointer) Block{free_blocks[list]};
}

void* reallocate(void* pointer, std::size_t before, std::size_t after) {
    void* const block = allocate(after);
    std::memcpy(block, pointer, std::min(before, after));
    give_back(pointer, before);
    return block;
}

}  // namespace

void keep_blocks_of_numbers() {
    ::mp_set_memory_functions(allocate, reallocate, give_back);
}

}  // namespace attest::fuzzing
