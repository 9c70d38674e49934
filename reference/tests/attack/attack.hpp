// Attacks on the bound: a trial is one kernel, run on one problem, its answer compared with what it is
// allowed. Half of the trials are drawn; the others climb from one of these towards a larger error / bound.
#pragma once

#include "setup.hpp"

#include <cstdint>
#include <string>

namespace attest::reference::attack {

struct Trial {
    double ratio = 0;       // worst error / allowed of all answers
    bool judged = false;    // some element had a bound
    bool violated = false;  // an error beyond the bound, or a NaN where a bound was given
    std::string violation;  // where, and by how much
};

Trial compare_all(const std::vector<Judged>& judged, const Answers& got);

// Climb keeps the worst of what a setup was changed into.
class Climb {
  public:
    using Judge = std::vector<Judged> (*)(const Setup&);

    explicit Climb(Setup setup, Judge judge = judgement_of);

    // step changes the setup a little and keeps the change where error / bound did not fall.
    Trial step(Random& random);

    const Setup& setup() const { return setup_; }
    const Trial& best() const { return best_; }
    const Answers& answers() const { return answers_; }

  private:
    Setup setup_;
    Judge judge_;
    std::vector<Judged> judged_;
    Answers answers_;
    Trial best_;
};

// The outcome of many trials.
struct Campaign {
    std::uint64_t trials = 0, judged = 0, violations = 0;
    double worst = 0;
    std::uint64_t worst_seed = 0;
    std::string worst_description;
    std::string first_violation;
};

Campaign attack_many(Target target, Number number, std::uint64_t first_seed, std::uint64_t count);

}  // namespace attest::reference::attack
