// Blocks that live as long as one input, for drivers under AddressSanitizer: what its heap does for a block
// costs more than most blocks' use, and an input asks for hundreds.
//
// Nothing that the heap would find is lost. Between two blocks lies as much poison as the heap leaves there;
// a block that was given back is poison until its whole chunk was given back and a megabyte was handed out
// since; giving one back twice, as something else or with another size, ends the program with
// AddressSanitizer's report. Its reports of what lies here read use-after-poison. Leaks: see blocks_in_use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attest::fuzzing {

// What operator new was asked for; operator delete must be told the same.
struct Asked {
    std::size_t bytes = 0;
    std::size_t alignment = 0;  // 0: as `new` aligns what asks for nothing
    bool array = false;
    bool sized = true;  // bytes are known
};

// While it exists, what its thread allocates comes from the arena. Not nested.
class InArena {
  public:
    InArena();
    InArena(const InArena&) = delete;
    InArena& operator=(const InArena&) = delete;
    ~InArena();
};

// allocate_in_arena gives nullptr where the heap must be asked: outside, for large blocks, and when the arena
// is full of blocks that stay.
void* allocate_in_arena(const Asked& asked);

// release_to_arena takes a block back, from any thread; false when it is not the arena's.
bool release_to_arena(void* pointer, const Asked& asked);

// Blocks of the arena that were not given back. LeakSanitizer does not see them, so an input that leaves more
// than there were is run again on the heap, where it does.
std::uint64_t blocks_in_use();

}  // namespace attest::fuzzing
