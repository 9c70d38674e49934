#include "child.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTEST_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATTEST_UNDER_SANITIZER 1
#endif
#endif

// There where the program is built to measure coverage.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace attest::properties {

namespace {

double between(Child::Clock::time_point start, Child::Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

void limit_memory([[maybe_unused]] std::uint64_t bytes) {
#ifndef ATTEST_UNDER_SANITIZER
    if (bytes == 0) return;
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

Child::Child(const std::function<void()>& work, const Record& record, const ChildLimits& limits)
    : record_(record), limits_(limits), start_(Clock::now()), moved_(start_), end_(start_) {
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) {
        status_ = -1;
        return;
    }
    if (pid_ != 0) return;
    limit_memory(limits.memory_bytes);
    work();
    std::fflush(nullptr);
    // No destructors and no exit handlers: they belong to the parent. What was covered is the child's own,
    // though.
    if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
    _exit(0);
}

Child::~Child() {
    if (pid_ > 0) end_it();
}

void Child::end_it() {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    pid_ = -1;
}

bool Child::running() {
    if (pid_ <= 0) return false;
    end_ = Clock::now();
    if (waitpid(pid_, &status_, WNOHANG) != 0) {
        pid_ = -1;
        return false;
    }
    if (record_.started != seen_) {
        seen_ = record_.started;
        moved_ = end_;
    }
    if (between(moved_, end_) > limits_.stall_seconds) {
        stalled_ = true;
        end_it();
        return false;
    }
    return true;
}

void Child::wait(const std::function<void()>& meanwhile) {
    auto pause = std::chrono::microseconds(200);
    while (running()) {
        if (meanwhile) meanwhile();
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(20000));
    }
}

double Child::seconds() const {
    return between(start_, end_);
}

std::string Child::ending() const {
    if (stalled_) return fmt::format("hangs: no verdict within {} s", limits_.stall_seconds);
    if (WIFSIGNALED(status_)) return fmt::format("crashes: signal {}", WTERMSIG(status_));
    return fmt::format("ends the process: status {}", WEXITSTATUS(status_));
}

}  // namespace attest::properties
