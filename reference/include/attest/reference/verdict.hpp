// From a dump to a verdict: what `attest-reference` says of a file.
//
//   auto file = attest::dump::read(path);
//   auto task = task_of(*file);           // the dump understood: kind, arithmetic, inputs, answers
//   auto verdict = verdict_on(*task);     // every answer tensor compared with what it is allowed
#pragma once

#include <attest/dump/file.hpp>
#include <attest/reference/bank.hpp>
#include <attest/reference/compare.hpp>
#include <attest/reference/diagnosis.hpp>
#include <attest/reference/judge.hpp>

#include <expected>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace attest::reference {

// Answer is a tensor whose elements are to be judged.
struct Answer {
    std::string name;
    std::vector<double> values;
    Number type = Number::f64;  // what it was stored in
};

// Task is a dump understood. It owns the numbers its problem looks at.
class Task {
  public:
    using Problem = std::variant<Layer, Core, Rotary>;

    Task(std::map<std::string, std::vector<double>> tensors, Problem problem, Arithmetic arithmetic,
         std::vector<Answer> answers)
        : tensors_(std::move(tensors)),
          problem_(std::move(problem)),
          arithmetic_(arithmetic),
          answers_(std::move(answers)) {}
    Task(Task&&) = default;
    Task& operator=(Task&&) = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    const Problem& problem() const noexcept { return problem_; }
    const Arithmetic& arithmetic() const noexcept { return arithmetic_; }
    const std::vector<Answer>& answers() const noexcept { return answers_; }
    const char* kind() const noexcept;

  private:
    std::map<std::string, std::vector<double>> tensors_;  // nodes stay where they are when the map moves
    Problem problem_;
    Arithmetic arithmetic_;
    std::vector<Answer> answers_;
};

// task_of understands a dump. It refuses a missing or unknown key or tensor, a value no key has, an element
// type no tensor of that name has, and shapes that do not fit, in the order in which it meets them: kind, its
// own keys, inputs, answers, arithmetic, then what is left over.
[[nodiscard]] std::expected<Task, Error> task_of(const dump::File& file);

enum class Outcome : std::uint8_t {
    right,
    wrong,
    unproved,  // nothing wrong, but some element has no bound
};
[[nodiscard]] std::string_view name_of(Outcome outcome) noexcept;

struct TensorVerdict {
    std::string name;
    Outcome outcome = Outcome::unproved;
    Comparison comparison;
    NoBound no_bound = NoBound::none;
    std::vector<Wrong> blind;  // wrong kernels that apply here and would have passed
    std::size_t tried = 0;     // wrong kernels that apply here
};

struct Verdict {
    std::string kind;
    Outcome outcome = Outcome::unproved;
    std::vector<TensorVerdict> tensors;
    double disagreement = 0;
    Diagnosis diagnosis;  // of a wrong answer

    // Some answer's bound would have passed a wrong kernel that applies to it.
    [[nodiscard]] bool blind() const noexcept;
};

struct VerdictOptions {
    unsigned threads = 1;
    Progress* progress = nullptr;
};

// verdict_on judges every answer of a task; a task without answers is refused with nothing_to_judge. Beside
// what the judge doubts itself, the last row alone must have the answer it has in its prefix.
[[nodiscard]] std::expected<Verdict, Error> verdict_on(const Task& task, const VerdictOptions& options = {});

// expectation gives what the answers should be: every answer tensor the kind has, whether the dump holds it
// or not, but for the weights, which are formed only where the dump holds them.
[[nodiscard]] std::expected<std::vector<Judged>, Error> expectation(const Task& task);

}  // namespace attest::reference
