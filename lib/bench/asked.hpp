// What is asked of the library, and whether a run's ratios meet it.
#pragma once

#include <string>
#include <vector>

#include "rounds.hpp"

namespace attest::bench {

enum class Bound { none, at_most, at_least };
enum class Verdict { nothing_asked, met, missed, none };

/// One ratio of a group beside what is asked of it.
struct Comparison {
    std::string group;
    std::string who;
    Spread ratio;
    Bound bound = Bound::none;
    double asked = 0;
};

/// None where something is asked and the ratio is not to be trusted.
[[nodiscard]] Verdict verdict(const Comparison& comparison);

/// Everybody's time in limits. At most: 1.2 limits for attention inside the caches (grouped heads 1.7), 1.25
/// beyond (2.5), 1.15 for a whole layer's step, and of the multiply-adds' peak 75 % for projections, 60 % for
/// a prefill.
[[nodiscard]] std::vector<Comparison> against_limits(const std::vector<Group>& groups);

/// The fastest peer's time in the library's: nowhere less than 1 (0.97 beyond the caches), but for
/// projections.
[[nodiscard]] std::vector<Comparison> against_peers(const std::vector<Group>& groups);
/// The geometric mean of those of which something is asked: at least 2. Nothing of nothing.
[[nodiscard]] std::vector<Comparison> mean_of_peers(const std::vector<Comparison>& peers);

/// One thread's time in two threads': 1 is asked, and 1.7 where two threads also read the same bytes 1.9
/// times as fast as one, or where nobody read them.
[[nodiscard]] std::vector<Comparison> against_threads(const std::vector<Group>& groups);
/// What two threads gain in reading the group's bytes, one for each row of against_threads that can say so.
[[nodiscard]] std::vector<Comparison> readings_of_threads(const std::vector<Group>& groups);

/// Float's time in narrow storage's: 1.6 for bf16 at 16,384 positions.
[[nodiscard]] std::vector<Comparison> against_float(const std::vector<Group>& groups);

/// What a run has found, in words.
struct Findings {
    std::vector<std::string> missed;
    std::vector<std::string> undecided;
    std::size_t met = 0;
    /// 1: something was missed; 3: nothing was, as far as a busy host let it be seen; 2: nothing was even
    /// asked.
    [[nodiscard]] int exit_code() const {
        return !missed.empty() ? 1 : !undecided.empty() ? 3 : met == 0 ? 2 : 0;
    }
};

/// findings looks through all of the above.
[[nodiscard]] Findings findings(const std::vector<Group>& groups);

/// What of a run's groups takes more than 16 MiB.
[[nodiscard]] bool beyond_caches(const std::string& group);

}  // namespace attest::bench
