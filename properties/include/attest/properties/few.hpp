// A short list kept in place: shapes and codes are made millions of times, and an allocation costs more than
// they do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <span>

namespace attest::properties {

// What a span can look at.
template <class Range, class T>
concept SpanOf = std::is_convertible_v<const Range&, std::span<const T>>;

// At most N elements, with as much of std::vector as its users need. One element too many ends the program.
template <class T, std::size_t N>
class Few {
  public:
    Few() = default;
    Few(std::initializer_list<T> elements) : Few(std::span<const T>(elements.begin(), elements.size())) {}
    template <SpanOf<T> Range>
    Few(const Range& elements) {
        for (const T& element : std::span<const T>(elements)) {
            push_back(element);
        }
    }

    void push_back(const T& element) {
        if (size_ == N) std::abort();
        elements_[size_++] = element;
    }
    void erase_first(std::size_t count) {
        std::copy(begin() + count, end(), begin());
        size_ -= count;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](std::size_t index) { return elements_[index]; }
    const T& operator[](std::size_t index) const { return elements_[index]; }
    T& back() { return elements_[size_ - 1]; }
    T* data() { return elements_.data(); }
    const T* data() const { return elements_.data(); }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }

    friend bool operator==(const Few& a, const Few& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    std::array<T, N> elements_ = {};
    std::size_t size_ = 0;
};

}  // namespace attest::properties
