// A child process that works on a shared record, watched from outside.
#pragma once

#include "record.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace attest::properties {

struct ChildLimits {
    double stall_seconds = 120;      // without a new case for so long it hangs, and is ended
    std::uint64_t memory_bytes = 0;  // address space; 0: no limit. Sanitizers need it all and have none.
};

class Child {
  public:
    using Clock = std::chrono::steady_clock;

    // Starts `work` in a child process.
    Child(const std::function<void()>& work, const Record& record, const ChildLimits& limits);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    // Looks once, without waiting. False when the child has come to its end, whichever.
    bool running();
    // Waits for the end, looking ever more rarely, and calls `meanwhile` at each look.
    void wait(const std::function<void()>& meanwhile = {});

    double seconds() const;
    // How it ended, when it did not finish its record.
    std::string ending() const;

  private:
    void end_it();

    const Record& record_;
    ChildLimits limits_;
    Clock::time_point start_;
    Clock::time_point moved_;
    Clock::time_point end_;
    std::uint64_t seen_ = 0;
    int pid_ = -1;
    int status_ = 0;
    bool stalled_ = false;
};

}  // namespace attest::properties
