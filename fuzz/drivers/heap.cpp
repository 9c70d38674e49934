// The global operators of a driver under AddressSanitizer: the arena while an input runs, and otherwise the
// heap. Compiled without any sanitizer, as the runtime's own are.
#include "../src/arena.hpp"

#include <cstdlib>
#include <new>

namespace {

using attest::fuzzing::Asked;

void* from_heap(const Asked& asked) {
    if (asked.alignment == 0) return std::malloc(asked.bytes);
    void* block = nullptr;
    return ::posix_memalign(&block, asked.alignment < sizeof(void*) ? sizeof(void*) : asked.alignment,
                            asked.bytes) == 0
               ? block
               : nullptr;
}

void* ask(const Asked& asked) {
    void* const block = attest::fuzzing::allocate_in_arena(asked);
    return block != nullptr ? block : from_heap(asked);
}

void* demand(const Asked& asked) {
    void* const block = ask(asked);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

void give_back(void* pointer, const Asked& asked) {
    if (!attest::fuzzing::release_to_arena(pointer, asked)) std::free(pointer);
}

std::size_t of(std::align_val_t alignment) {
    return static_cast<std::size_t>(alignment);
}

}  // namespace

void* operator new(std::size_t bytes) {
    return demand({.bytes = bytes});
}
void* operator new[](std::size_t bytes) {
    return demand({.bytes = bytes, .array = true});
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return ask({.bytes = bytes});
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return ask({.bytes = bytes, .array = true});
}
void* operator new(std::size_t bytes, std::align_val_t to) {
    return demand({.bytes = bytes, .alignment = of(to)});
}
void* operator new[](std::size_t bytes, std::align_val_t to) {
    return demand({.bytes = bytes, .alignment = of(to), .array = true});
}
void* operator new(std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept {
    return ask({.bytes = bytes, .alignment = of(to)});
}
void* operator new[](std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept {
    return ask({.bytes = bytes, .alignment = of(to), .array = true});
}

void operator delete(void* pointer) noexcept {
    give_back(pointer, {.sized = false});
}
void operator delete[](void* pointer) noexcept {
    give_back(pointer, {.array = true, .sized = false});
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
    give_back(pointer, {.sized = false});
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
    give_back(pointer, {.array = true, .sized = false});
}
void operator delete(void* pointer, std::size_t bytes) noexcept {
    give_back(pointer, {.bytes = bytes});
}
void operator delete[](void* pointer, std::size_t bytes) noexcept {
    give_back(pointer, {.bytes = bytes, .array = true});
}
void operator delete(void* pointer, std::align_val_t to) noexcept {
    give_back(pointer, {.alignment = of(to), .sized = false});
}
void operator delete[](void* pointer, std::align_val_t to) noexcept {
    give_back(pointer, {.alignment = of(to), .array = true, .sized = false});
}
void operator delete(void* pointer, std::align_val_t to, const std::nothrow_t&) noexcept {
    give_back(pointer, {.alignment = of(to), .sized = false});
}
void operator delete[](void* pointer, std::align_val_t to, const std::nothrow_t&) noexcept {
    give_back(pointer, {.alignment = of(to), .array = true, .sized = false});
}
void operator delete(void* pointer, std::size_t bytes, std::align_val_t to) noexcept {
    give_back(pointer, {.bytes = bytes, .alignment = of(to)});
}
void operator delete[](void* pointer, std::size_t bytes, std::align_val_t to) noexcept {
    give_back(pointer, {.bytes = bytes, .alignment = of(to), .array = true});
}
