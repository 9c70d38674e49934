// What a call must answer, by plain reasoning from the documented lists of refusals: the model that laws hold
// the subject against. It shares no code with any library.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/few.hpp"
#include "attest/properties/subject.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attest::properties {

// The largest single allocation that a law lets a subject make. Whatever needs more must be refused, so that
// a case with huge geometry costs nothing.
inline constexpr std::uint64_t kAllocationLimit = std::uint64_t{16} << 20;

// The codes that a call may end with; "" stands for success. Mostly there is one. There are several only
// where exact arithmetic can't tell whether a sum overflows on its way, or an allocation is near the limit.
class Prediction {
  public:
    Prediction() = default;
    Prediction(std::initializer_list<std::string_view> codes);

    void add(std::string_view code);
    bool allows(std::string_view code) const;
    bool certain() const { return codes_.size() == 1; }
    bool success() const { return certain() && codes_[0].empty(); }
    std::span<const std::string_view> codes() const { return codes_; }
    // The only code, or the first of several.
    std::string_view code() const { return codes_.empty() ? std::string_view() : codes_[0]; }
    std::string text() const;

  private:
    Few<std::string_view, 16> codes_;
};

// Products that do not fit are empty.
std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors);

std::uint64_t element_bytes(cases::ElementType type);
double largest_of(cases::ElementType type);

// Making rope tables, four parameters and the layer, in this order. `weights` is nullptr for a seeded layer.
Prediction predict_layer(const cases::Case& geometry, const std::array<Array, 4>* weights);

Prediction predict_cache(const cases::Case& geometry, std::uint64_t batch, std::uint64_t capacity,
                         std::uint64_t first);

// Numbers that leave the finite ones while rows [first, first + count) of the prefix x [batch, rows, D] are
// computed; earlier rows were computed before. Row 0 stands at geometry.rope.first. Empty code: all is well.
Prediction predict_numbers(const cases::Case& geometry, const std::array<Array, 4>& weights,
                           std::span<const double> x, std::uint64_t batch, std::uint64_t rows,
                           std::uint64_t first, std::uint64_t count);

// The same rows offered one by one: how the first refusal may read. A later row's projection is not looked at
// before an earlier row's scores.
Prediction predict_rows_one_by_one(const cases::Case& geometry, const std::array<Array, 4>& weights,
                                   std::span<const double> x, std::uint64_t batch, std::uint64_t rows);

// The largest magnitude among numbers; none where one is not finite.
std::optional<double> largest_finite(std::span<const double> values);

// How far the four weights take a number of magnitude 1, each by its own: the largest sum of a row's
// magnitudes.
struct Reach {
    long double q = 0;
    long double k = 0;
    long double v = 0;
    long double o = 0;
};
Reach reach_of(const cases::Case& geometry, const std::array<Array, 4>& weights);

// Whether `rows` rows of numbers no larger than `largest` stay so far from overflow that a product of norms
// shows it, so that predict_numbers has nothing to say.
bool far_from_overflow(const cases::Case& geometry, const Reach& reach, double largest, std::uint64_t rows);

// Whether every order and choice of `rows` of these rows stays so far from overflow that norms show it.
bool far_from_overflow(const cases::Case& geometry, const std::array<Array, 4>& weights,
                       std::span<const double> x, std::uint64_t rows);

// One AdamW step with the default options.
Prediction predict_adamw(const cases::Case& geometry, const std::array<Array, 4>& weights,
                         const std::array<Array, 4>& gradients);

}  // namespace attest::properties
