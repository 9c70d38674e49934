// How far a long judgement has come: a bar on a terminal, a plain line now and then elsewhere.
#pragma once

#include <attest/reference/progress.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace attest::reference::tool {

// progress_line says how much is done, at what rate, and how long the rest takes: "[####....] 43 %, 1.2e+06
// features/s, 12 s left". Without a bar: "43 %, …".
[[nodiscard]] std::string progress_line(std::uint64_t done, std::uint64_t total, double seconds, bool bar);

// Watch prints to stderr while it lives. On a terminal it draws a bar after half a second and clears it at
// the end; elsewhere it prints a line every ten seconds, so that a short run prints nothing.
class Watch {
  public:
    Watch(std::string label, const Progress& progress);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    void run();
    void draw(double seconds);

    std::string label_;
    const Progress& progress_;
    bool terminal_;
    bool drawn_ = false;
    bool stop_ = false;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::thread thread_;
};

}  // namespace attest::reference::tool
