// Rotary position embedding (RoPE; Su et al. 2021, section 3.2.2): tables of rotations, shared between
// layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <attest/error.hpp>
#include <attest/memory.hpp>

namespace attest {

/// Which two features of a head turn together: (2i, 2i + 1), as the paper pairs them, or (i, i + width/2).
enum class RotaryPairs : std::uint8_t { interleaved, half };

/// RotaryConfig: pair i turns by position · base^(−2i/width). Features at and beyond `width` pass through;
/// width 0 rotates nothing.
struct RotaryConfig {
    std::size_t width = 0;
    std::size_t max_positions = 0;
    double base = 10000.0;
    RotaryPairs pairs = RotaryPairs::interleaved;

    /// Exact: bases are compared by bits.
    friend bool operator==(const RotaryConfig& left, const RotaryConfig& right);
};

namespace detail {
template <class T>
struct RotaryTable;
}

/// Rotary is a handle on one immutable table of cosines and sines [max_positions, width/2]; copies share it.
///
/// Error bound: every entry is the exact cosine or sine, at every position, rounded to within 0.5001 ulp.
/// Cost: max_positions · width elements; about fifty additions and multiplications an entry to make.
template <class T>
class Rotary {
  public:
    /// make refuses with RopeWidthOdd, RopeBaseInvalid (not finite, or ≤ 0), RopeZeroPositions,
    /// ElementCountOverflow, AllocationFailed, in this order.
    [[nodiscard]] static Result<Rotary> make(const RotaryConfig& config, Memory& memory = default_memory());

    Rotary(const Rotary& other) noexcept;
    Rotary(Rotary&& other) noexcept;
    Rotary& operator=(Rotary other) noexcept;
    ~Rotary();

    [[nodiscard]] const RotaryConfig& config() const;
    /// [max_positions, width/2], row-major.
    [[nodiscard]] std::span<const T> cosines() const;
    [[nodiscard]] std::span<const T> sines() const;
    [[nodiscard]] bool same_table(const Rotary& other) const { return table_ == other.table_; }

  private:
    explicit Rotary(detail::RotaryTable<T>* table) : table_(table) {}
    detail::RotaryTable<T>* table_;
};

extern template class Rotary<float>;
extern template class Rotary<double>;

}  // namespace attest
