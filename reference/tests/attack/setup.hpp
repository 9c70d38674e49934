// A trial made definite: an arithmetic, a problem, a kernel the arithmetic covers, and how its machine errs.
#pragma once

#include "kernel.hpp"

#include <attest/reference/judge.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::reference::attack {

enum class Target { core, layer };

struct Setup {
    Target target = Target::core;
    Arithmetic told{};
    Choices choices{};
    Conduct conduct{};
    Core core{};    // spans are bound when it is run: tensors are q, k, v, bias
    Layer layer{};  // tensors are x, wq, wk, wv, wo
    std::vector<std::vector<double>> tensors;
    bool biased = false;
};

// draw makes one; every draw is covered by its arithmetic.
Setup draw(Target target, Number number, Random& random);

// What a step of a climb changes.
enum class Change { conduct, numbers, choices };
// mutate changes a little, and says what.
Change mutate(Setup& setup, Random& random);

// hold makes a number one that the type can hold.
double hold(Number number, double value);

using Answers = std::vector<std::pair<std::string_view, std::vector<double>>>;
Answers answers_of(const Setup& setup);

// judgement_of gives the tensors of answers_of, in its order; nothing where the problem is refused.
std::vector<Judged> judgement_of(const Setup& setup);

std::string describe(const Setup& setup);

}  // namespace attest::reference::attack
