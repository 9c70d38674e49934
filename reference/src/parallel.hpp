// Loops over independent rows on several threads. Which thread takes which row changes no number.
#pragma once

#include <attest/reference/real.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attest::reference {

// Threads that are joined however their owner ends (libc++ has no std::jthread yet).
struct Helpers {
    std::vector<std::thread> threads;

    Helpers() = default;
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    ~Helpers() {
        for (std::thread& thread : threads)
            thread.join();
    }
};

// parallel calls body(first, last) for parts of [0, count) until all is done, the caller's thread among those
// that work. Every thread has its own copy of the body: what that holds by value is the thread's own. What a
// body throws is thrown here, once every thread has ended.
template <class Body>
void parallel(std::size_t count, unsigned threads, Body body) {
    // Few rows are long ones: no thread waits for a part of another's.
    constexpr std::size_t kMostAtOnce = 8;
    const std::size_t part = std::clamp<std::size_t>(count / (4 * std::max(threads, 1U)), 1, kMostAtOnce);
    const std::size_t useful = (count + part - 1) / part;
    if (threads <= 1 || useful <= 1) {
        if (count != 0) body(std::size_t{0}, count);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr thrown;
    const auto work = [&] {
        try {
            Body own = body;
            for (;;) {
                const std::size_t first = next.fetch_add(part);
                if (first >= count) break;
                own(first, std::min(count, first + part));
            }
        } catch (...) {
            next = count;
            const std::lock_guard lock(mutex);
            if (!thrown) thrown = std::current_exception();
        }
    };
    {
        Helpers helpers;
        const std::size_t wanted = std::min<std::size_t>(threads, useful) - 1;
        helpers.threads.reserve(wanted);
        for (std::size_t n = 0; n < wanted; ++n)
            helpers.threads.emplace_back([&] {
                work();
                // MPFR keeps constants a thread; they would outlive it.
                mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
            });
        work();
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace attest::reference
