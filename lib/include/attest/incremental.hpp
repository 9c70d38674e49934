// What one decode step leaves behind on request: tickets for a later commit, and evidence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <attest/tensor.hpp>
#include <attest/work.hpp>

namespace attest {

template <class T>
class LayerKvCache;
template <class T>
class MultiHeadAttention;

/// Ticket stands for one prepared row. It names the cache, its state, its slot and the four revisions the row
/// was computed under; committing checks all of them first and then cannot fail. It is plain data and owns
/// nothing.
class Ticket {
  public:
    Ticket() = default;

    /// The slot the row will fill: the cache's length when it was prepared.
    [[nodiscard]] std::size_t slot() const { return slot_; }

  private:
    template <class T>
    friend class LayerKvCache;
    template <class T>
    friend class MultiHeadAttention;

    std::uint64_t cache_ = 0;
    std::uint64_t state_ = 0;
    std::uint64_t preparation_ = 0;
    std::array<std::uint64_t, 4> revisions_{};
    std::size_t slot_ = 0;
};

/// StepEvidence holds every intermediate tensor of one committed row. B batch, H heads, Hkv key/value heads,
/// d head width, D model width, t the length after the step.
template <class T>
struct StepEvidence {
    Tensor<T> projected_queries;  ///< [B, H, 1, d]
    Tensor<T> projected_keys;     ///< [B, Hkv, 1, d]
    Tensor<T> projected_values;   ///< [B, Hkv, 1, d]
    Tensor<T> rotated_queries;    ///< [B, H, 1, d]
    Tensor<T> rotated_keys;       ///< [B, Hkv, 1, d], the row the cache now holds
    Tensor<T> weights;            ///< [B, H, 1, t], each row summing to one
    Tensor<T> head_outputs;       ///< [B, H, 1, d]
    Tensor<T> merged;             ///< [B, 1, H·d]
    Tensor<T> output;             ///< [B, 1, D]
    Work work;
    std::size_t cache_length = 0;
};

}  // namespace attest
