// Planted bugs as subjects: modules that hold the subject's sources over a patched library.
#pragma once

#include "run.hpp"

#include <string>

namespace attest::properties {

// Loads a module once and for all. Throws std::runtime_error when it can't be loaded or is none.
SubjectMaker planted_subject(const std::string& path);

}  // namespace attest::properties
