// Rows of numbers as integers, so that a dot product is a sum of integer products and rounds nothing.
//
// A row of doubles spans few enough binary places to be held in one or two limbs of 55 bits over one exponent
// a row: then its dot products are exact, whatever cancels. A row of Reals is cut below its last limb, and
// the cut is bounded. The error of both is derived in PROOF.md, section 7. A row that does not fit is told,
// and its caller sums it in Real.
#pragma once

#include <attest/reference/real.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attest::reference {

inline constexpr int kLimbBits = 55;
// 2^14 products of 110 bits stay inside 127 bits, two such sums as well.
inline constexpr std::size_t kMostTerms = std::size_t{1} << 14;

// Fixed is a matrix, row by row: element i of a row is 2^exponent · Σ_l limb_l[i]·2^(55·l), all limbs of an
// element of one sign.
class Fixed {
  public:
    struct Row {
        const std::int64_t* limbs = nullptr;  // [count, width]
        std::size_t count = 0;                // 0: does not fit
        std::int64_t exponent = 0;
        std::int64_t top = 0;  // every |element| < 2^top
        bool zero = false;     // every element is 0
        bool cut = false;      // some element was cut: off by less than 2^exponent
    };

    // exact takes rows of doubles as they are; a row that needs more than two limbs does not fit.
    static Fixed exact(std::span<const double> values, std::size_t width);

    // cut_to takes rows of Reals, cut to `count` limbs below the largest element of the row.
    template <class N>
    static Fixed cut_to(const N* values, std::size_t rows, std::size_t width, std::size_t count);

    std::size_t width() const noexcept { return width_; }
    Row row(std::size_t index) const {
        Row row = rows_[index];
        row.limbs = limbs_.data() + offsets_[index];
        return row;
    }

  private:
    std::size_t width_ = 0;
    std::vector<std::int64_t> limbs_;
    std::vector<std::size_t> offsets_;
    std::vector<Row> rows_;
};

// limbs_for is how many limbs a Real of this type is cut to: its own digits and some forty more.
template <class N>
[[nodiscard]] std::size_t limbs_for();

// Residues holds doubles modulo 2^61 − 1: sums of their products tell whether an exact dot product is right
// by another way to it.
class Residues {
  public:
    Residues(std::span<const double> values, std::size_t width);
    const std::uint64_t* row(std::size_t index) const { return values_.data() + index * width_; }

  private:
    std::size_t width_;
    std::vector<std::uint64_t> values_;
};

// exact_dot gives Σ a·b of two rows that fit and were not cut, rounded once to N. `agrees`, where asked for,
// becomes false when the residues of the products, summed from the last, are not the residue of the result.
template <class N>
[[nodiscard]] N exact_dot(const Fixed::Row& a, const Fixed::Row& b, std::size_t width,
                          const std::uint64_t* a_residues = nullptr,
                          const std::uint64_t* b_residues = nullptr, bool* agrees = nullptr);

// cut_dot gives Σ a·b where b was cut, or nothing where what the cut may have lost is more than a few units
// of N's last place.
template <class N>
[[nodiscard]] std::optional<N> cut_dot(const Fixed::Row& a, const Fixed::Row& b, std::size_t width);

}  // namespace attest::reference
