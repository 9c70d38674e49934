#include "interruptions.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace attest::properties {

namespace {

// The first is short beside a row's work, the last long beside a session's.
constexpr long kFirst = 23'000;
constexpr long kSpread = 32'768;

// The one of this thread, if any: a last signal may come late.
thread_local Interruptions* current = nullptr;

}  // namespace

void Interruptions::interrupt(int) {
    if (current == nullptr) return;
    const int kept = errno;
    ::sched_yield();
    // Only now, so that the thread gets on in between, however long it had to wait.
    current->wait_for_next();
    errno = kept;
}

void Interruptions::wait_for_next() {
    if (left_ == 0) return;
    --left_;
    const itimerspec once = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = nanoseconds_}};
    nanoseconds_ += nanoseconds_ * 3 / 4;
    ::timer_settime(timer_, 0, &once, nullptr);
}

// A signal of the process that nobody else uses, or 0.
int Interruptions::signal_of_ours() {
    for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
        struct sigaction before = {};
        if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        struct sigaction ours = {};
        ours.sa_handler = interrupt;
        ours.sa_flags = SA_RESTART;
        if (::sigaction(signal, &ours, nullptr) == 0) return signal;
    }
    return 0;
}

Interruptions::Interruptions() {
    static const int signal = signal_of_ours();
    if (signal == 0) return;
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = ::gettid();
    made_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    if (!made_) return;
    // Another instruction each time, without a choice that a case would have to name.
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    nanoseconds_ = kFirst + now.tv_nsec % kSpread;
    current = this;
    wait_for_next();
}

Interruptions::~Interruptions() {
    current = nullptr;
    if (made_) ::timer_delete(timer_);
}

}  // namespace attest::properties
