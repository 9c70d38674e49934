// Threads that meet anywhere. A kernel switches threads every few milliseconds, and where there is one core
// only then: two short sessions in two threads would run one after the other, whatever they share.
#pragma once

#include <ctime>

namespace attest::properties {

// Interruptions makes the thread that creates it yield its core a few times, at whatever instruction it is
// then: first after microseconds, then ever later. It ends when the same thread destroys it. A yield may cost
// the turns of all who wait for the core, so there are no more than kMost. Where the system has no timers
// left nothing is interrupted.
class Interruptions {
  public:
    static constexpr int kMost = 8;

    Interruptions();
    Interruptions(const Interruptions&) = delete;
    Interruptions& operator=(const Interruptions&) = delete;
    ~Interruptions();

  private:
    static int signal_of_ours();
    static void interrupt(int);
    void wait_for_next();

    timer_t timer_{};
    bool made_ = false;
    int left_ = kMost;
    long nanoseconds_ = 0;  // until the next one
};

}  // namespace attest::properties
