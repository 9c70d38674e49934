// What a run says at its end: medians as ratios, against limits, peers, threads and element types.
#pragma once

#include <string>
#include <vector>

#include "asked.hpp"
#include "rounds.hpp"

namespace attest::bench {

/// Every median beside its limit, with the quartiles of the rounds' ratios and how many rounds were
/// undisturbed, and whether it is within the ratio that is asked of its kind.
void print_table(const std::vector<Group>& groups);
/// The library against the fastest peer of each group, and the geometric mean.
void print_peers(const std::vector<Group>& groups);
/// Two threads against one, beside what two threads gain in reading the same bytes.
void print_threads(const std::vector<Group>& groups);
/// Narrow storage against float.
void print_storage(const std::vector<Group>& groups);
/// How far the probes were from their own best, and how many rounds that disturbed.
void print_host(const std::vector<Group>& groups);
/// Loudly, what could not be judged; and, of a check, every miss in a line.
void print_findings(const Findings& found, bool check);
/// The line through time against length, for the shape that is measured at most lengths: a least squares fit
/// of the relative error, since the times span two orders of magnitude. Its points go to `path`, if there is
/// one.
[[nodiscard]] bool write_curve(const std::string& path, const std::vector<Group>& groups);
[[nodiscard]] bool write_json(const std::string& path, const std::vector<Group>& groups);
/// Every round, as it is reckoned with: group, round, who, microseconds, tab separated.
[[nodiscard]] bool write_readings(const std::string& path, const std::vector<Group>& groups);

}  // namespace attest::bench
