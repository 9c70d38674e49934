// How an answer was computed, which decides what error it is allowed.
//
// Each member is one key of the dump format, with that key's default for an answer about which nothing is
// told. `any` covers every value of its key; telling more tightens the bound.
//
//   Arithmetic::attest<float>()     the library's own order of operations, float
//   Arithmetic::attest<double>()    the same in double
//   Arithmetic::foreign(Number::f16)   anybody's kernel answering in f16, nothing told
#pragma once

#include <attest/reference/number.hpp>

#include <cstdint>
#include <type_traits>

namespace attest::reference {

// Summation is the shape of every sum: `any` tree; blocks of `block` terms in order, block sums in order;
// a pairwise tree; or `attest`, which states the library's whole order: dot products over one vector's lanes
// folded in halves, sums over positions in blocks of 64 folded pairwise, weights divided after the mix.
struct Summation {
    enum class Kind : std::uint8_t { any, blocked, pairwise, attest };
    Kind kind = Kind::any;
    std::uint64_t block = 0;  // terms a block, for `blocked` alone
};

// Passes is how the softmax meets its keys: maximum first (`two_pass`); a running maximum, `size` keys at a
// time, walked by index (`online`); or `size` partial results merged by their log-sum-exp (`split`). size 0:
// not told.
struct Passes {
    enum class Kind : std::uint8_t { any, two_pass, online, split };
    Kind kind = Kind::any;
    std::uint64_t size = 0;
};

enum class Exponent : std::uint8_t { any, e, two };        // exp, or exp2 of scores times log2 e
enum class Scaled : std::uint8_t { any, score, q, both };  // what the scale multiplies
enum class WeightsStored : std::uint8_t {
    not_told,
    before,
    after
};  // before or after the denominator sums them
enum class RopeAngles : std::uint8_t { exact, f64, f32 };
enum class Rounding : std::uint8_t { nearest, faithful };
enum class Subnormals : std::uint8_t { kept, flushed };

struct Arithmetic {
    Number arithmetic = Number::f64;         // what is stored between stages
    Number accumulate = Number::f64;         // inside dots and sums
    Number softmax_precision = Number::f64;  // exp, its argument, the division
    Number weights_type = Number::f64;       // what the weights were stored in
    WeightsStored weights_stored = WeightsStored::not_told;
    Summation summation{};
    Passes passes{};
    Exponent exponent = Exponent::any;
    Scaled scaled = Scaled::any;
    double exp_ulps = 32;
    RopeAngles rope_angles = RopeAngles::f64;
    Rounding rounding = Rounding::nearest;
    Subnormals subnormals = Subnormals::kept;
    double answer_error = 0;  // absolute error of the published answer itself

    // foreign is the row of defaults for an answer of type `answer`.
    [[nodiscard]] static Arithmetic foreign(Number answer) noexcept;

    // attest is the library's own arithmetic in float or double.
    template <class T>
    [[nodiscard]] static Arithmetic attest() noexcept {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
        return own(std::is_same_v<T, float> ? Number::f32 : Number::f64);
    }

  private:
    [[nodiscard]] static Arithmetic own(Number number) noexcept;
};

}  // namespace attest::reference
