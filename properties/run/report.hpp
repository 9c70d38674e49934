// The rows of a table for programs: JSON, one object a line.
#pragma once

#include "run.hpp"

#include <string>
#include <vector>

namespace attest::properties {

// Writes name, outcome, verdict, cases and seconds of each row; where a case failed also failed_seconds, its
// steps, the case and why. False when the file can't be written.
bool write_report(const std::string& path, const std::vector<Row>& rows);

}  // namespace attest::properties
