// One row's softmax and mix, on a Machine.
#pragma once

#include "kernel.hpp"

#include <cstddef>
#include <vector>

namespace attest::reference::attack {

class Row {
  public:
    Row(Machine& machine, const Choices& choices) : machine_(machine), choices_(choices) {}

    std::vector<double> weights;  // as answered
    std::vector<double> mixed;

    // `values` holds a vector of `width` features for each score.
    void run(std::vector<double> scores, const std::vector<const double*>& values, std::size_t width);

  private:
    struct Part {
        double maximum = 0, denominator = 0;
        std::vector<double> mixed;  // divided
    };

    Number softmax() const { return machine_.told().softmax_precision; }
    Number accumulate() const { return machine_.told().accumulate; }
    Number weights_type() const { return machine_.told().weights_type; }

    double weight(std::size_t key, double score, double maximum);
    double shrink(double from, double to);
    double argument(double score, double maximum, bool shrinks);
    double narrowed(std::size_t key, double weight);
    double divided(double value, double denominator);
    Part two_pass(std::size_t first, std::size_t last, bool answer_weights);
    void online();
    void split();

    Machine& machine_;
    const Choices& choices_;
    std::vector<double> scores_;
    std::vector<const double*> values_;
    std::size_t width_ = 0;
};

}  // namespace attest::reference::attack
