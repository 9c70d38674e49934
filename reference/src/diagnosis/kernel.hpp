// A suspected kernel at work: what it would have answered, compared with what was got.
#pragma once

#include "diagnosis/operands.hpp"
#include "diagnosis/suspect.hpp"

#include <attest/reference/diagnosis.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace attest::reference::diagnosis {

// Yardstick is how near a suspect must come to an answer to explain it.
class Yardstick {
  public:
    explicit Yardstick(const Evidence& evidence);

    const Evidence& evidence() const noexcept { return evidence_; }
    bool refused() const noexcept { return refused_; }  // some element is wrong
    bool wrong(std::size_t index) const noexcept;
    std::size_t worst() const noexcept { return worst_; }  // the most wrong one

    // near gives |got − suspected| over what is allowed, or nothing where it is too much.
    std::optional<double> near(std::size_t index, double suspected) const;

  private:
    const Evidence& evidence_;
    double fallback_ = 0;  // the largest error allowed anywhere: where nothing is allowed, or no bound is
    bool refused_ = false;
    std::size_t worst_ = 0;
};

// Tally compares an answer element by element.
class Tally;

// Fit is how near a suspect came to an answer.
struct Fit {
    double ratio = 0;  // the worst |got − suspected| over what is allowed
    // Of the wrong elements, summed squares: of the error, and of what of it the suspect leaves unexplained.
    double error = 0, left = 0;
};

class Kernel {
  public:
    Kernel(const Problem& problem, const Suspect& suspect, double bias_lowest, Stock& stock);

    // explains compares the suspect's answer with the evidence, the most wrong row first, and gives the fit,
    // or nothing where an element differs or a hundredth of the error is left.
    std::optional<Fit> explains(const Yardstick& yardstick) const;

  private:
    struct Row {
        std::vector<double> weights, mixed;
    };
    void attend(std::size_t b, std::size_t h, std::size_t i, Row& row) const;
    bool sees(std::size_t b, std::size_t h, std::size_t i, std::size_t column, double& bias) const;
    double score(const double* q, const double* k, double bias, bool hidden) const;
    std::optional<Fit> explains_y(const Yardstick& yardstick) const;
    std::optional<Fit> explains_weights(const Yardstick& yardstick) const;
    // Adds a row to the tally; false where it differs.
    bool row_of_y(Tally& tally, std::size_t b, std::size_t i) const;
    std::size_t group_of(std::size_t head, HeadMap map) const;

    const Problem& problem_;
    Suspect suspect_;
    double lowest_;
    Core core_;  // the attention of a layer too
    const Layer* layer_ = nullptr;
    Operands operands_;
    Block turned_;  // of a rotary
    double scale_ = 1;
    std::vector<double> merged_;  // all rows' mixes, where the answer's layout is suspected
};

}  // namespace attest::reference::diagnosis
