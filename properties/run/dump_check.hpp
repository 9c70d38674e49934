// Dumps in the table: what was published, and what the library makes of the same weights.
#pragma once

#include "run.hpp"

#include "attest/properties/subject.hpp"

#include <functional>
#include <string>
#include <vector>

namespace attest::properties {

// Rows for one dump: the published answers against their bound; and for a layer, in float and in double, the
// subject's own y, keys and values against theirs, and cached rows against the full prefix, by bits.
std::vector<Row> check_dump(const std::string& path, const SubjectMaker& make,
                            const std::function<void(const std::string&)>& progress);

}  // namespace attest::properties
