// What parsing, printing, checking and normalising must agree on.
#pragma once

#include <attest/case/case.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace attest::cases {

// The head width that a text without the key means.
inline std::uint64_t default_head_width(const Case& one) {
    return one.heads == 0 ? 0 : one.width / one.heads;
}

// Which elements `set` can name. A size beyond 64 bits counts as 2^64 − 1: no text can name an index outside
// it.
class SetBounds {
  public:
    explicit SetBounds(const Case& one);
    bool contains(const Set& set) const;

  private:
    std::array<std::uint64_t, 3> x_;
    std::array<std::array<std::uint64_t, 2>, 4> weights_;  // wq wk wv wo
};

// print_may_be_too_long is false for every case whose canonical text surely fits kMaxTextBytes.
bool print_may_be_too_long(const Case& one);

}  // namespace attest::cases
