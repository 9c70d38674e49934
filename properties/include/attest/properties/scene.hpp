// What most laws start with: the case's numbers, its layer, and the answer to geometry that can't be played.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/predict.hpp"
#include "attest/properties/subject.hpp"
#include "attest/properties/verdict.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace attest::properties {

// Multiply-adds that a law may ask of the subject, or of the oracle, for one case.
inline constexpr std::uint64_t kSubjectWork = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kOracleWork = std::uint64_t{1} << 21;

// What storage for answers holds before a call; a refused call must leave it.
inline constexpr double kUntouched = -0x1.5p+9;

// multiply_adds of one full prefix of `rows` rows. Saturates.
std::uint64_t multiply_adds(const cases::Case& geometry, std::uint64_t batch, std::uint64_t rows);
inline std::uint64_t multiply_adds(const cases::Case& geometry, std::uint64_t rows) {
    return multiply_adds(geometry, geometry.batch, rows);
}

LayerSpec spec_of(const cases::Case& geometry);

// The numbers of a case, filled. Empty where a tensor is too large to fill.
std::optional<std::array<Array, 4>> weights_of(const cases::Case& geometry);

// rows_of copies rows [first, first + count) out of x [batch, rows, width].
Array rows_of(std::span<const double> x, std::uint64_t batch, std::uint64_t rows, std::uint64_t width,
              std::uint64_t first, std::uint64_t count);

// joined puts rows of one batch behind each other: each part is [batch, its rows, width].
Array joined(std::span<const Array> parts, std::uint64_t batch, std::uint64_t width);

// Whether an outcome has a code that was predicted. A subject without typed refusals may use any code.
template <class T>
std::string_view code_of(const Outcome<T>& outcome) {
    return outcome ? std::string_view() : std::string_view(outcome.error().code);
}
bool as_predicted(Checks& checks, const Subject& subject, Text place, std::string_view code,
                  const Prediction& prediction);

// Whether memory decides a call: only a subject that can be limited is asked then.
bool asks_for_too_much(const Prediction& prediction);

// A vacuous verdict because the subject has no such thing. No other verdict reads so.
inline constexpr std::string_view kUnable = " can't do: ";
Verdict unable(const Subject& subject, Capability capability);

// Scene makes the layer of a case under an allocation limit, and says why if there is none:
// a geometry that the documented lists refuse must be refused with that code; then, or when the case is too
// large for the law, the verdict is vacuous. The subject is left without limits and armed failures.
class Scene {
  public:
    // `times` is how often the law runs the whole prefix; `budget` bounds all of that.
    Scene(const cases::Case& one, Subject& subject, Checks& checks, std::initializer_list<Capability> needed,
          std::uint64_t times = 1, std::uint64_t budget = kSubjectWork);
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
    ~Scene();

    // When false, verdict says why.
    explicit operator bool() const { return layer != nullptr; }
    Verdict verdict() const { return verdict_; }

    // A cache of this or another capacity, batch or layer. nullptr when it is refused, as it should be or
    // not; verdict says which.
    std::unique_ptr<Cache> make_cache() { return make_cache(*layer, one.batch, one.capacity); }
    std::unique_ptr<Cache> make_cache(Layer& of, std::uint64_t batch, std::uint64_t capacity);

    // Rows of x as an input: [batch, count, D].
    Array x_rows(std::uint64_t first, std::uint64_t count) const;
    Input input(std::span<const double> values, std::uint64_t count, Layout layout = Layout::dense) const;

    // How many rows the law can append to a fresh cache.
    std::uint64_t playable_rows() const;

    const cases::Case& one;
    Subject& subject;
    Checks& checks;
    std::uint64_t rows = 0;  // T, or fewer where a case offers more rows than can be filled
    Array x;                 // [B, T, D]
    std::array<Array, 4> weights;
    std::unique_ptr<Layer> layer;

  private:
    void refuse_or_make(std::initializer_list<Capability> needed, std::uint64_t times, std::uint64_t budget);

    Verdict verdict_;
};

// One appended row or several, with the answer [batch, count, D] in `y`. The refusal, if any, stays in code.
struct Answer {
    std::string code;
    Array y;
    bool refused() const { return !code.empty(); }
};

Answer append(Layer& layer, Cache& cache, const Input& x);
Answer prefill(Layer& layer, Cache& cache, const Input& x);

}  // namespace attest::properties
