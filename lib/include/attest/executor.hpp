// Who does the work of a call: the calling thread, or several threads of the caller's choice.
#pragma once

#include <cstddef>
#include <type_traits>

#include <attest/error.hpp>
#include <attest/memory.hpp>

namespace attest {

/// Executor runs the independent pieces of a call. The library cuts work by index alone and adds in an order
/// that no cut can change, so the bits of a result are the same under every executor, thread count and
/// schedule. Implement it over a pool you already have; no call allocates or throws.
class Executor {
  public:
    /// task(context, piece, worker).
    using Task = void (*)(void* context, std::size_t piece, std::size_t worker) noexcept;

    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    /// workers is how many pieces can run at the same time, at least 1 and always the same.
    [[nodiscard]] virtual std::size_t workers() const noexcept = 0;

    /// run calls task for every piece in [0, pieces), each once, in any order, and returns when all have
    /// returned. Pieces that run at the same time get different workers, below workers(). What a piece wrote
    /// is visible to the caller after run.
    virtual void run(std::size_t pieces, Task task, void* context) noexcept = 0;
};

/// serial_executor does everything in the calling thread, piece by piece. Any number of threads may use it.
[[nodiscard]] Executor& serial_executor() noexcept;

/// ThreadPool keeps threads waiting for work. The calling thread works too, so a pool of n workers has n − 1
/// threads of its own. One call at a time: two threads with a pool each, not two threads with one.
class ThreadPool final : public Executor {
  public:
    /// make starts workers − 1 threads. Errors, in order: ZeroWorkers, AllocationFailed, ThreadsUnavailable.
    [[nodiscard]] static Result<ThreadPool> make(std::size_t workers, Memory& memory = default_memory());

    ThreadPool(ThreadPool&& other) noexcept;
    ThreadPool& operator=(ThreadPool&& other) noexcept;
    ~ThreadPool() override;

    [[nodiscard]] std::size_t workers() const noexcept override;
    void run(std::size_t pieces, Task task, void* context) noexcept override;

  private:
    struct State;
    explicit ThreadPool(State* state) : state_(state) {}
    State* state_;
};

/// run_pieces calls body(piece, worker) for every piece.
template <class Body>
void run_pieces(Executor& executor, std::size_t pieces, Body& body) noexcept {
    executor.run(
        pieces,
        [](void* context, std::size_t piece, std::size_t worker) noexcept {
            (*static_cast<Body*>(context))(piece, worker);
        },
        &body);
}

}  // namespace attest
