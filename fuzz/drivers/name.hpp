// Which target a driver drives: defined in name.cpp, once for each binary.
#pragma once

#include "../src/target.hpp"

#include <memory>

namespace attest::fuzzing {

std::unique_ptr<Target> make_this_target(MakeSubject make_subject);

}  // namespace attest::fuzzing
