// Nodes that several handles share: made through Memory, gone with the last handle.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include <attest/error.hpp>
#include <attest/memory.hpp>

namespace attest::detail {

/// What a node begins with.
struct SharedCount {
    Memory* memory = nullptr;
    std::atomic<std::size_t> handles{1};
};

/// make_node refuses with AllocationFailed naming `stage`. The caller owns the first handle.
template <class Node, class... Arguments>
Result<Node*> make_node(Memory& memory, Stage stage, Arguments&&... arguments) {
    void* const storage = memory.allocate(sizeof(Node), alignof(Node));
    if (storage == nullptr) {
        return std::unexpected(AllocationFailed{stage, 1, sizeof(Node)});
    }
    Node* const node = new (storage) Node(std::forward<Arguments>(arguments)...);
    node->memory = &memory;
    return node;
}

/// For a node with one owner only.
template <class Node>
void destroy_node(Node* node) noexcept {
    if (node != nullptr) {
        Memory& memory = *node->memory;
        node->~Node();
        memory.deallocate(node, sizeof(Node), alignof(Node));
    }
}

template <class Node>
Node* retain(Node* node) noexcept {
    if (node != nullptr) {
        node->handles.fetch_add(1, std::memory_order_relaxed);
    }
    return node;
}

template <class Node>
void release(Node* node) noexcept {
    if (node != nullptr && node->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        destroy_node(node);
    }
}

}  // namespace attest::detail
