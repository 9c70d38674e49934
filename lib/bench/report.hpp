// What a run says at its end: medians as ratios, against limits, peers, threads and element types.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace attest::bench {

/// One measurement: `who` did what `group` names.
struct Row {
    std::string group;
    std::string who;
    double microseconds = 0;  ///< median
    double limit = 0;         ///< of the group; 0: it has none
    double least = 0;         ///< the quickest repetition: nearer to the truth on a machine with neighbours
    double least_limit = 0;   ///< the limit by quickest repetitions
};

/// Times in microseconds of every repetition, by name: group/who.
using Times = std::map<std::string, std::vector<double>>;

/// rows_of takes medians. The fastest probe is a group's limit, or the multiply-adds where they take longer.
[[nodiscard]] std::vector<Row> rows_of(const Times& times);

/// Every row beside its limit, and whether it is within the ratio that is asked of its kind.
void print_table(const std::vector<Row>& rows);
/// The library against the fastest peer of each group, and the geometric mean.
void print_peers(const std::vector<Row>& rows);
/// Two threads against one, beside what two threads gain in reading the same bytes.
void print_threads(const std::vector<Row>& rows);
/// Narrow storage against float.
void print_storage(const std::vector<Row>& rows);
/// The line through time against length, for the shape that is measured at most lengths: a least squares fit
/// of the relative error, since the times span two orders of magnitude. Its points go to `path`, if there is
/// one.
[[nodiscard]] bool write_curve(const std::string& path, const std::vector<Row>& rows);
[[nodiscard]] bool write_json(const std::string& path, const std::vector<Row>& rows);

}  // namespace attest::bench
