// The queries, keys and values an attention reads, vector by vector.
//
// A layer forms them in N and keeps them. Attention alone is given doubles, of which a long context has
// hundreds of megabytes and would have gigabytes in N: they stay what they are and become N where they are
// read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attest::reference {

// Heads holds one vector of `width` features for every batch, head and row, in C order.
template <class N>
struct Heads {
    std::size_t batch = 0, heads = 0, rows = 0, width = 0;
    std::vector<N> data;

    Heads() = default;
    Heads(std::size_t b, std::size_t h, std::size_t r, std::size_t w)
        : batch(b), heads(h), rows(r), width(w), data(b * h * r * w) {}
    N* at(std::size_t b, std::size_t h, std::size_t r) {
        return data.data() + ((b * heads + h) * rows + r) * width;
    }
    const N* at(std::size_t b, std::size_t h, std::size_t r) const {
        return data.data() + ((b * heads + h) * rows + r) * width;
    }
};

// Lent is borrowed vectors of doubles: for every batch and head the rows [first, first + rows) of its past
// rows and its given ones, one after the other.
struct Lent {
    std::size_t batch = 0, heads = 0, rows = 0, width = 0;
    std::span<const double> past, given;
    std::size_t past_rows = 0, given_rows = 0, first = 0;

    std::size_t size() const noexcept { return batch * heads * rows; }
    std::span<const double> operator[](std::size_t index) const {
        const std::size_t outer = index / rows, row = first + index % rows;
        return row < past_rows ? past.subspan((outer * past_rows + row) * width, width)
                               : given.subspan((outer * given_rows + row - past_rows) * width, width);
    }
};

// finite_or_0 is what a number is where it is computed with: a hidden key that is not finite takes no part,
// and is 0 for whoever looks beyond what is seen.
[[nodiscard]] inline double finite_or_0(double value) noexcept {
    return std::isfinite(value) ? value : 0;
}

// Vectors are either kept in N or lent as doubles; index (b·heads + h)·rows + r names one.
template <class N>
class Vectors {
  public:
    Vectors() = default;
    explicit Vectors(const Heads<N>& kept)
        : batch(kept.batch), heads(kept.heads), rows(kept.rows), width(kept.width), kept_(kept.data.data()) {}
    explicit Vectors(const Lent& doubles)
        : batch(doubles.batch),
          heads(doubles.heads),
          rows(doubles.rows),
          width(doubles.width),
          lent_(doubles),
          are_lent_(true) {}

    std::size_t batch = 0, heads = 0, rows = 0, width = 0;

    std::size_t index(std::size_t b, std::size_t h, std::size_t r) const noexcept {
        return (b * heads + h) * rows + r;
    }
    const Lent* lent() const noexcept { return are_lent_ ? &lent_ : nullptr; }
    const N* kept(std::size_t index) const noexcept { return kept_ + index * width; }

  private:
    const N* kept_ = nullptr;
    Lent lent_;
    bool are_lent_ = false;
};

// Window reads vectors as N. The first rows of one head stay converted while that head is read, as many as a
// few megabytes hold, where rows are read `again`; each thread has its own.
template <class N>
class Window {
  public:
    Window(const Vectors<N>& vectors, bool again) : vectors_(&vectors) {
        if (vectors.lent() == nullptr) return;
        constexpr std::size_t kBytes = std::size_t{4} << 20;
        const std::size_t bytes = std::max<std::size_t>(vectors.width * sizeof(N), 1);
        const std::size_t slots = again ? std::clamp<std::size_t>(kBytes / bytes, 1, vectors.rows + 1) : 1;
        held_.resize(slots, kNone);
        numbers_.resize(slots * vectors.width);
    }

    // read gives a vector; it holds until the next is read.
    const N* read(std::size_t index) {
        const Lent* const lent = vectors_->lent();
        if (lent == nullptr) return vectors_->kept(index);
        const std::size_t slot = std::min(index % vectors_->rows, held_.size() - 1);
        N* const numbers = numbers_.data() + slot * vectors_->width;
        if (held_[slot] == index) return numbers;
        const std::span<const double> doubles = (*lent)[index];
        for (std::size_t f = 0; f < doubles.size(); ++f)
            numbers[f] = static_cast<N>(finite_or_0(doubles[f]));
        held_[slot] = index;
        return numbers;
    }

  private:
    static constexpr std::size_t kNone = SIZE_MAX;
    const Vectors<N>* vectors_;
    std::vector<std::size_t> held_;
    std::vector<N> numbers_;
};

}  // namespace attest::reference
