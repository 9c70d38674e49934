// Compiled without any sanitizer: it reads and writes between the blocks.
#include "arena.hpp"

#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace attest::fuzzing {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} << 10;
constexpr std::size_t kChunks = 512;
constexpr std::size_t kChunksAtFirst = 8;  // the heap's quarantine is as large
constexpr std::size_t kLargest = kChunkBytes / 4;
constexpr std::size_t kGranule = 16;

constexpr std::uint32_t kInUse = 0x1eaf;
constexpr std::uint32_t kGivenBack = 0xdead;

// Lies in the poison before its block.
struct Header {
    std::uint64_t bytes;
    std::uint32_t state;
    std::uint16_t alignment;
    std::uint16_t array;
};
static_assert(sizeof(Header) == kGranule);

struct Arena {
    std::byte* memory;  // kChunks chunks; null until the first block

    // Blocks in use of each chunk, and one more for the chunk that blocks are taken from.
    std::array<std::atomic<std::uint32_t>, kChunks> uses;
    std::atomic<std::uint64_t> in_use;

    // The chunk that blocks are taken from; only the thread that runs the inputs does.
    std::byte* top;
    std::byte* end;
    std::size_t gap;  // poison that the last block wants behind it
    std::size_t current;

    // Chunks whose blocks were all given back, the longest ago first.
    std::mutex lock;
    std::array<std::size_t, kChunks> empty;
    std::size_t first_empty;
    std::size_t empty_count;
    std::size_t chunks_used;
};
constinit Arena arena = {};

constinit thread_local bool inside = false;

constexpr std::size_t up(std::size_t value, std::size_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

// AddressSanitizer's own measure for its heap.
std::size_t gap_of(std::size_t bytes) {
    if (bytes <= 64 - 16) return 16;
    if (bytes <= 128 - 32) return 32;
    if (bytes <= 512 - 64) return 64;
    if (bytes <= 4096 - 128) return 128;
    return bytes <= (std::size_t{1} << 14) - 256 ? 256 : 512;
}

std::size_t chunk_of(const void* pointer) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - arena.memory) / kChunkBytes;
}

void leave(std::size_t chunk) {
    if (arena.uses[chunk].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard held(arena.lock);
    arena.empty[(arena.first_empty + arena.empty_count++) % kChunks] = chunk;
}

bool make_memory() {
    void* const memory = ::mmap(nullptr, kChunks * kChunkBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena.memory = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    return arena.memory != nullptr;
}

bool next_chunk() {
    if (arena.memory == nullptr && !make_memory()) return false;
    if (arena.end != nullptr) leave(arena.current);
    arena.end = nullptr;
    const std::lock_guard held(arena.lock);
    if (arena.empty_count != 0 && arena.chunks_used >= kChunksAtFirst) {
        // All of it is poison: every block was given back.
        arena.current = arena.empty[arena.first_empty];
        arena.first_empty = (arena.first_empty + 1) % kChunks;
        --arena.empty_count;
    } else if (arena.chunks_used < kChunks) {
        arena.current = arena.chunks_used++;
        std::byte* const chunk = arena.memory + arena.current * kChunkBytes;
        ::__asan_poison_memory_region(chunk, kChunkBytes);
        // What is reachable from a block is no leak.
        ::__lsan_register_root_region(chunk, kChunkBytes);
    } else {
        return false;
    }
    arena.uses[arena.current].store(1, std::memory_order_relaxed);
    arena.top = arena.memory + arena.current * kChunkBytes;
    arena.end = arena.top + kChunkBytes;
    arena.gap = 0;
    return true;
}

Header* header_of(void* pointer) {
    return reinterpret_cast<Header*>(static_cast<std::byte*>(pointer) - sizeof(Header));
}

[[noreturn]] void refuse(void* pointer, const char* why) {
    std::fprintf(stderr, "operator delete: %p %s\n", pointer, why);
    std::free(pointer);  // not the heap's: AddressSanitizer says where
    std::abort();
}

}  // namespace

InArena::InArena() {
    inside = true;
}

InArena::~InArena() {
    inside = false;
}

void* allocate_in_arena(const Asked& asked) {
    if (!inside || asked.bytes > kLargest || asked.alignment > kLargest / 4) return nullptr;
    const std::size_t gap = gap_of(asked.bytes);
    const std::size_t alignment = std::max(asked.alignment, kGranule);
    const auto fits = [&] {
        if (arena.end == nullptr) return static_cast<std::byte*>(nullptr);
        const auto top = reinterpret_cast<std::uintptr_t>(arena.top);
        const std::uintptr_t start = up(top + std::max(gap, arena.gap), alignment);
        const std::uintptr_t behind = start + up(std::max<std::size_t>(asked.bytes, 1), kGranule) + gap;
        return behind <= reinterpret_cast<std::uintptr_t>(arena.end) ? reinterpret_cast<std::byte*>(start)
                                                                     : nullptr;
    };
    std::byte* start = fits();
    if (start == nullptr) {
        if (!next_chunk()) return nullptr;
        start = fits();
    }
    arena.top = start + up(std::max<std::size_t>(asked.bytes, 1), kGranule);
    arena.gap = gap;
    arena.uses[arena.current].fetch_add(1, std::memory_order_relaxed);
    arena.in_use.fetch_add(1, std::memory_order_relaxed);
    *header_of(start) = {.bytes = asked.bytes,
                         .state = kInUse,
                         .alignment = static_cast<std::uint16_t>(asked.alignment),
                         .array = asked.array};
    ::__asan_unpoison_memory_region(start, asked.bytes);
    return start;
}

bool release_to_arena(void* pointer, const Asked& asked) {
    const auto place = reinterpret_cast<std::uintptr_t>(pointer);
    const auto memory = reinterpret_cast<std::uintptr_t>(arena.memory);
    if (arena.memory == nullptr || place - memory >= kChunks * kChunkBytes) return false;
    Header& header = *header_of(pointer);
    const bool at_a_block = place % kGranule == 0;
    if (at_a_block && header.state == kGivenBack) refuse(pointer, "was given back before");
    if (!at_a_block || header.state != kInUse) refuse(pointer, "is not where a block begins");
    if (header.array != static_cast<std::uint16_t>(asked.array)) refuse(pointer, "is (not) an array");
    if (header.alignment != asked.alignment) refuse(pointer, "has another alignment");
    if (asked.sized && header.bytes != asked.bytes) refuse(pointer, "has another size");
    header.state = kGivenBack;
    ::__asan_poison_memory_region(pointer, up(header.bytes, kGranule));
    arena.in_use.fetch_sub(1, std::memory_order_relaxed);
    leave(chunk_of(pointer));
    return true;
}

std::uint64_t blocks_in_use() {
    return arena.in_use.load(std::memory_order_relaxed);
}

}  // namespace attest::fuzzing
