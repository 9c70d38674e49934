// What a law's child process tells its parent while it runs, in memory that both share: whatever becomes of
// the child, the case it was at survives.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/verdict.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attest::properties {

// Text in a fixed place.
template <std::size_t capacity>
class SharedText {
  public:
    void set(std::string_view text) {
        length_ = text.size() < capacity ? text.size() : capacity;
        text.copy(text_, length_);
    }
    std::string text() const { return std::string(text_, length_); }
    bool empty() const { return length_ == 0; }

  private:
    std::size_t length_ = 0;
    char text_[capacity] = {};
};

struct Reason {
    SharedText<160> text;
    std::uint64_t count = 0;
};

struct Record {
    std::atomic<std::uint64_t> started = 0;  // law calls begun, shrinking included
    std::atomic<std::uint64_t> held = 0;
    std::atomic<std::uint64_t> vacuous = 0;
    std::atomic<std::uint64_t> unable = 0;    // vacuous because the subject has no such thing
    std::atomic<std::uint64_t> replayed = 0;  // corpus cases, not counted with the drawn ones
    std::atomic<std::uint64_t> blind = 0;
    std::atomic<std::uint64_t> checks = 0;
    std::atomic<std::uint64_t> shrinks = 0;  // law calls after the first failure
    std::atomic<bool> failed = false;
    std::atomic<bool> finished = false;  // the child came to its end
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    double failed_seconds = 0;  // from the start to the first failure
    double worst = 0;
    SharedText<256> worst_place;
    SharedText<cases::kMaxTextBytes> running;  // the case being judged
    SharedText<cases::kMaxTextBytes> failing;  // the last that failed: the smallest, while shrinking
    SharedText<8192> verdict;                  // of the failing case
    SharedText<4096> trouble;                  // why the engine itself could not go on
    std::array<Reason, 24> reasons;            // why cases were vacuous
    std::array<Reason, 24> blindness;          // what bounds were blind to
    SharedText<16384> distribution;            // of what was drawn, where it was asked for

    std::uint64_t cases() const { return held + vacuous + blind; }

    void begin(const cases::Case& one);
    void end(const Verdict& verdict);
    void note_failure();
};

// A record in memory that forked children share. Throws std::runtime_error when there is none.
class SharedRecord {
  public:
    SharedRecord();
    SharedRecord(const SharedRecord&) = delete;
    SharedRecord& operator=(const SharedRecord&) = delete;
    ~SharedRecord();
    Record* operator->() const { return record_; }
    Record& operator*() const { return *record_; }

  private:
    Record* record_;
};

}  // namespace attest::properties
