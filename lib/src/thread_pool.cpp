// The one source built with exceptions: std::thread has no other way to say that there is no thread.
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <attest/executor.hpp>

namespace attest {
namespace {

class SerialExecutor final : public Executor {
  public:
    [[nodiscard]] std::size_t workers() const noexcept override { return 1; }
    void run(std::size_t pieces, Task task, void* context) noexcept override {
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            task(context, piece, 0);
        }
    }
};

constinit SerialExecutor serial;

void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// About how often a thread looks again before it sleeps or yields: some tens of microseconds, longer than
// what lies between two pieces of work of one decode step.
constexpr int kSpins = 2000;

// The gate, one word that threads sleep on: 15 bits of the job's number, one that says the job takes no more
// threads, 16 that count the threads inside. A thread enters by counting itself in, so the caller need not
// wait for one that the system has not woken yet.
constexpr std::uint32_t kInside = 0xffffU;
constexpr std::uint32_t kClosed = 0x10000U;
constexpr unsigned kJobShift = 17;
constexpr std::size_t kMaxWorkers = kInside;

// The pieces, all neighbours, that one worker begins with; whoever is done with his own goes on with others'.
// So a worker meets the same heads from step to step, whose keys and values its core's own cache may hold.
struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
};

}  // namespace

Executor& serial_executor() noexcept {
    return serial;
}

struct ThreadPool::State {
    Memory& memory;
    std::thread* threads = nullptr;
    std::size_t started = 0;
    Share* shares = nullptr;  // one a worker

    alignas(64) std::atomic<std::uint32_t> gate{kClosed};
    std::atomic<bool> stopping{false};
    // The job; written while nobody is inside.
    Task task = nullptr;
    void* context = nullptr;

    explicit State(Memory& from) : memory(from) {}

    void work(std::size_t worker) noexcept {
        const std::size_t workers = started + 1;
        for (std::size_t turn = 0; turn < workers; ++turn) {
            Share& share = shares[(worker + turn) % workers];
            for (std::size_t piece = share.next.fetch_add(1, std::memory_order_relaxed); piece < share.end;
                 piece = share.next.fetch_add(1, std::memory_order_relaxed)) {
                task(context, piece, worker);
            }
        }
    }

    void open(std::size_t pieces) noexcept {
        const std::size_t workers = started + 1;
        std::size_t end = 0;
        for (std::size_t worker = 0; worker < workers; ++worker) {
            shares[worker].next.store(end, std::memory_order_relaxed);
            end += pieces / workers + (worker < pieces % workers ? 1 : 0);
            shares[worker].end = end;
        }
        const std::uint32_t job = (gate.load(std::memory_order_relaxed) >> kJobShift) + 1;
        gate.store(job << kJobShift, std::memory_order_release);
        gate.notify_all();
    }

    void close() noexcept {
        gate.fetch_or(kClosed, std::memory_order_acq_rel);
        for (int spins = 0; (gate.load(std::memory_order_acquire) & kInside) != 0; ++spins) {
            if (spins < kSpins) {
                pause();
            } else {
                std::this_thread::yield();
            }
        }
    }

    void serve(std::size_t worker) noexcept {
        // No job has been there before: threads are started by make, and the first job may be open, or gone,
        // when the system gets to them.
        std::uint32_t done = 0;
        for (int spins = 0;;) {
            std::uint32_t now = gate.load(std::memory_order_acquire);
            if (now >> kJobShift == done || (now & kClosed) != 0) {
                if (stopping.load(std::memory_order_relaxed)) {
                    return;
                }
                if (++spins < kSpins) {
                    pause();
                } else {
                    gate.wait(now, std::memory_order_relaxed);
                    spins = 0;
                }
                continue;
            }
            if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
                work(worker);
                done = now >> kJobShift;
                gate.fetch_sub(1, std::memory_order_release);
                spins = 0;
            }
        }
    }

    void stop() noexcept {
        stopping.store(true, std::memory_order_relaxed);
        // Any change of the word wakes those who sleep on it; a closed job takes nobody in.
        gate.fetch_add(1U << kJobShift, std::memory_order_release);
        gate.notify_all();
        for (std::size_t thread = 0; thread < started; ++thread) {
            threads[thread].join();
            threads[thread].~thread();
        }
    }

    static void destroy(State* state, std::size_t workers) noexcept {
        Memory& memory = state->memory;
        state->stop();
        if (state->threads != nullptr) {
            memory.deallocate(state->threads, (workers - 1) * sizeof(std::thread), alignof(std::thread));
        }
        if (state->shares != nullptr) {
            memory.deallocate(state->shares, workers * sizeof(Share), alignof(Share));
        }
        state->~State();
        memory.deallocate(state, sizeof(State), alignof(State));
    }
};

Result<ThreadPool> ThreadPool::make(std::size_t workers, Memory& memory) {
    if (workers == 0) {
        return std::unexpected(ZeroWorkers{});
    }
    if (workers > kMaxWorkers) {
        return std::unexpected(ThreadsUnavailable{workers, 0});
    }
    void* const storage = memory.allocate(sizeof(State), alignof(State));
    if (storage == nullptr) {
        return std::unexpected(AllocationFailed{Stage::workspace, 1, sizeof(State)});
    }
    State* const state = new (storage) State(memory);
    if (workers > 1) {
        const std::size_t bytes = (workers - 1) * sizeof(std::thread);
        state->threads = static_cast<std::thread*>(memory.allocate(bytes, alignof(std::thread)));
        if (state->threads == nullptr) {
            State::destroy(state, workers);
            return std::unexpected(AllocationFailed{Stage::workspace, workers - 1, bytes});
        }
        const std::size_t shares = workers * sizeof(Share);
        state->shares = static_cast<Share*>(memory.allocate(shares, alignof(Share)));
        if (state->shares == nullptr) {
            State::destroy(state, workers);
            return std::unexpected(AllocationFailed{Stage::workspace, workers, shares});
        }
        std::uninitialized_default_construct_n(state->shares, workers);
    }
    try {
        for (; state->started < workers - 1; ++state->started) {
            const std::size_t worker = state->started + 1;
            new (state->threads + state->started) std::thread([state, worker] { state->serve(worker); });
        }
    } catch (...) {  // std::system_error, or no memory for the thread's own start
        const std::size_t started = state->started;
        State::destroy(state, workers);
        return std::unexpected(ThreadsUnavailable{workers, started + 1});
    }
    return ThreadPool(state);
}

ThreadPool::ThreadPool(ThreadPool&& other) noexcept
    : Executor(), state_(std::exchange(other.state_, nullptr)) {}

ThreadPool& ThreadPool::operator=(ThreadPool&& other) noexcept {
    ThreadPool moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
}

ThreadPool::~ThreadPool() {
    if (state_ != nullptr) {
        State::destroy(state_, workers());
    }
}

std::size_t ThreadPool::workers() const noexcept {
    return state_->started + 1;
}

void ThreadPool::run(std::size_t pieces, Task task, void* context) noexcept {
    if (pieces <= 1 || state_->started == 0) {
        serial.run(pieces, task, context);
        return;
    }
    state_->task = task;
    state_->context = context;
    state_->open(pieces);
    state_->work(0);
    state_->close();
}

}  // namespace attest
