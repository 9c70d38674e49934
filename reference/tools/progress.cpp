#include "progress.hpp"

#include "escape.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace attest::reference::tool {

std::string progress_line(std::uint64_t done, std::uint64_t total, double seconds, bool bar) {
    constexpr std::size_t kWidth = 30;
    // Before the first key is attended nothing is known.
    if (total == 0 || done == 0) return "reading and projecting";
    if (done >= total) return "all keys attended, showing wrong kernels to the bound";
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const double left = part > 0 ? seconds * (1 - part) / part : 0;
    const auto filled = static_cast<std::size_t>(part * kWidth);
    const std::string drawn =
        bar ? "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " : std::string();
    return fmt::format("{}{:.0f} %, {:.3g} features/s, {:.0f} s left", drawn, 100 * part, rate, left);
}

Watch::Watch(std::string label, const Progress& progress)
    : label_(escape(label)),
      progress_(progress),
      terminal_(isatty(STDERR_FILENO) == 1),
      thread_([this] { run(); }) {}

Watch::~Watch() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
    if (terminal_ && drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Watch::run() {
    const auto begin = std::chrono::steady_clock::now();
    const auto first = terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(10);
    const auto step = terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10);
    std::unique_lock lock(mutex_);
    for (auto wait = first; !wake_.wait_for(lock, wait, [this] { return stop_; }); wait = step)
        draw(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

void Watch::draw(double seconds) {
    const std::string line = progress_line(progress_.done, progress_.total, seconds, terminal_);
    if (terminal_) {
        fmt::print(stderr, "\r\x1b[K{} {}", line, label_);
    } else {
        fmt::print(stderr, "{}: {}\n", label_, line);
    }
    std::fflush(stderr);
    drawn_ = true;
}

}  // namespace attest::reference::tool
