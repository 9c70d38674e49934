// Subjects behind the C face: a foreign kernel in a shared library.
#pragma once

#include "run.hpp"

#include "attest/properties/attest_subject.h"

#include <string>

namespace attest::properties {

// Loads a library that exports attest_subject(). Throws std::runtime_error when it can't be loaded, when its
// table is of another version, or when a required member is missing.
SubjectMaker foreign_subject(const std::string& path);

// A subject over a table that is there already. The table must outlive it.
std::unique_ptr<Subject> make_foreign_subject(const attest_subject_table& table);

}  // namespace attest::properties
