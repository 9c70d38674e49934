// What was drawn: shares of what a generator is meant to reach, for people who wonder what a run has seen.
#pragma once

#include "attest/case/case.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace attest::properties {

class Distribution {
  public:
    void add(const cases::Case& one);
    // One line a question: "rows: 4-7 61 %, 0-3 12 %, …", the most frequent answer first.
    std::string text() const;

  private:
    std::uint64_t cases_ = 0;
    // question → answer → cases that gave it
    std::map<std::string, std::map<std::string, std::uint64_t>> counts_;
};

}  // namespace attest::properties
