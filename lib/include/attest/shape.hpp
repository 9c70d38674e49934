// Shapes: how long a tensor is along each axis, slowest axis first, inline and trivially copyable.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>

namespace attest {

/// The highest rank a tensor, a view or an error's shape can have.
inline constexpr std::size_t kMaxRank = 4;

/// Shape holds up to four axis lengths. A shape of rank 0 is a scalar and counts one element; a length of 0
/// is allowed and makes the count 0.
class Shape {
  public:
    constexpr Shape() = default;

    /// One argument an axis, slowest first: `Shape{batch, rows, width}`. More than four do not compile.
    template <std::convertible_to<std::size_t>... Lengths>
    constexpr Shape(std::convertible_to<std::size_t> auto first, Lengths... others)
        : lengths_{static_cast<std::size_t>(first), static_cast<std::size_t>(others)...},
          rank_(1 + sizeof...(Lengths)) {
        static_assert(sizeof...(Lengths) < kMaxRank, "a shape has at most four axes");
    }

    /// of reads a shape whose rank is known only at run time. It is empty when the rank exceeds kMaxRank.
    [[nodiscard]] static constexpr std::optional<Shape> of(std::span<const std::size_t> lengths) {
        if (lengths.size() > kMaxRank) {
            return std::nullopt;
        }
        Shape shape;
        for (const std::size_t length : lengths) {
            shape.lengths_[shape.rank_++] = length;
        }
        return shape;
    }

    [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
    [[nodiscard]] constexpr std::size_t operator[](std::size_t axis) const { return lengths_[axis]; }
    [[nodiscard]] constexpr std::span<const std::size_t> lengths() const { return {lengths_.data(), rank_}; }

    /// count is the number of elements, or empty when the product does not fit std::size_t.
    [[nodiscard]] constexpr std::optional<std::size_t> count() const {
        std::size_t product = 1;
        bool overflow = false;
        for (std::size_t axis = 0; axis < rank_; ++axis) {
            if (lengths_[axis] == 0) {
                return std::size_t{0};
            }
            overflow = __builtin_mul_overflow(product, lengths_[axis], &product) || overflow;
        }
        return overflow ? std::nullopt : std::optional(product);
    }

    /// with returns the same shape but for one axis.
    [[nodiscard]] constexpr Shape with(std::size_t axis, std::size_t length) const {
        Shape changed = *this;
        changed.lengths_[axis] = length;
        return changed;
    }

    friend constexpr bool operator==(const Shape& left, const Shape& right) {
        return left.rank_ == right.rank_ && left.lengths_ == right.lengths_;
    }

  private:
    std::array<std::size_t, kMaxRank> lengths_{};
    std::size_t rank_ = 0;
};

}  // namespace attest
