#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <attest/attest.hpp>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__GLIBC__)
#include <pthread.h>
#endif

#include "counting_memory.hpp"
#include "fixture.hpp"

namespace attest {
namespace {

using test::refusal;

constexpr std::size_t kWorkers[] = {1, 2, 3, 7};

// Runs pieces from the last to the first, and claims to be several workers at once, the last of them first.
class Backwards final : public Executor {
  public:
    explicit Backwards(std::size_t workers) : workers_(workers) {}
    [[nodiscard]] std::size_t workers() const noexcept override { return workers_; }
    void run(std::size_t pieces, Task task, void* context) noexcept override {
        most_ = std::max(most_, pieces);
        ++runs_;
        for (std::size_t piece = pieces; piece-- > 0;)
            task(context, piece, workers_ - 1 - piece % workers_);
    }
    [[nodiscard]] std::size_t most() const { return most_; }
    [[nodiscard]] std::size_t runs() const { return runs_; }

  private:
    std::size_t workers_;
    std::size_t most_ = 0;
    std::size_t runs_ = 0;
};

TEST(ThreadPool, RunsEveryPieceOnceAndNoWorkerTwiceAtOnce) {
    for (const std::size_t workers : kWorkers) {
        auto pool = *ThreadPool::make(workers);
        EXPECT_EQ(pool.workers(), workers);
        for (std::size_t pieces = 0; pieces < 300; pieces += 1 + pieces / 3) {
            std::vector<int> runs(pieces, 0);
            std::vector<std::atomic<int>> busy(workers);
            std::atomic<int> clashes = 0;
            auto body = [&](std::size_t piece, std::size_t worker) {
                if (worker >= workers || busy[worker].fetch_add(1) != 0) ++clashes;
                ++runs[piece];
                busy[worker].fetch_sub(1);
            };
            run_pieces(pool, pieces, body);
            EXPECT_EQ(std::ranges::count(runs, 1), static_cast<std::ptrdiff_t>(pieces));
            EXPECT_EQ(clashes, 0);
        }
    }
}

TEST(ThreadPool, ManyShortJobsAndLongPauses) {
    auto pool = *ThreadPool::make(3);
    std::size_t total = 0;
    for (int job = 0; job < 3000; ++job) {
        std::vector<std::size_t> found(5, 0);
        auto body = [&](std::size_t piece, std::size_t) { found[piece] = piece; };
        run_pieces(pool, found.size(), body);
        total += std::accumulate(found.begin(), found.end(), std::size_t{0});
        if (job % 1000 == 0) {
            timespec pause{0, 3'000'000};
            nanosleep(&pause, nullptr);
        }
    }
    EXPECT_EQ(total, 3000U * 10U);
}

// Threads that the system has not started yet when a pool's first job opens still come to it: every piece
// waits for all others, as no one thread could do them.
TEST(ThreadPool, TheFirstJobIsForThreadsThatComeLate) {
    for (int made = 0; made < 60; ++made) {
        const std::size_t workers = kWorkers[1 + made % 3];
        auto pool = *ThreadPool::make(workers);
        std::atomic<std::size_t> arrived = 0;
        std::atomic<bool> late = false;
        std::atomic<int> strangers = 0;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        auto body = [&](std::size_t piece, std::size_t worker) {
            ++arrived;
            // Everyone begins with what is his from job to job.
            if (piece != worker) ++strangers;
            while (arrived < workers && !late) {
                if (std::chrono::steady_clock::now() > deadline) late = true;
                std::this_thread::yield();
            }
        };
        run_pieces(pool, workers, body);
        ASSERT_FALSE(late) << "pool " << made << " of " << workers;
        ASSERT_EQ(strangers, 0) << "pool " << made << " of " << workers;
    }
}

// The first piece waits for all others, and so whoever is done with his own does those of the worker who is
// stuck in it.
TEST(ThreadPool, NoPieceIsLeftToAWorkerWhoIsBusy) {
    for (const std::size_t workers : {std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
        auto pool = *ThreadPool::make(workers);
        for (std::size_t pieces = workers; pieces < 60; pieces += 5) {
            std::atomic<std::size_t> others = 0;
            std::atomic<bool> late = false;
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            auto body = [&](std::size_t piece, std::size_t) {
                if (piece != 0) ++others;
                while (piece == 0 && others < pieces - 1 && !late) {
                    if (std::chrono::steady_clock::now() > deadline) late = true;
                    std::this_thread::yield();
                }
            };
            run_pieces(pool, pieces, body);
            ASSERT_FALSE(late) << pieces << " pieces, " << workers << " workers";
        }
    }
}

TEST(ThreadPool, MovesAndGoesAway) {
    test::CountingMemory memory;
    {
        auto pool = *ThreadPool::make(2, memory);
        ThreadPool moved = std::move(pool);
        moved = *ThreadPool::make(3, memory);
        EXPECT_EQ(moved.workers(), 3U);
        auto body = [](std::size_t, std::size_t) {};
        const std::size_t before = memory.calls;
        run_pieces(moved, 10, body);
        EXPECT_EQ(memory.calls, before);
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(ThreadPool, RefusesWhatItCannotDo) {
    EXPECT_EQ(refusal(ThreadPool::make(0)), "ZeroWorkers");
    EXPECT_EQ(refusal(ThreadPool::make(SIZE_MAX)), "ThreadsUnavailable");
    test::CountingMemory memory;
    for (std::size_t failing = 1; failing <= 3; ++failing) {
        memory.fail_at(failing);
        EXPECT_EQ(refusal(ThreadPool::make(2, memory)), "AllocationFailed");
    }
    EXPECT_EQ(memory.live, 0U);
}

#if defined(__GLIBC__) && !ATTEST_TEST_SANITIZED
// A thread that wants more address space for its stack than there is can't be started.
TEST(ThreadPool, SaysWhenThereAreNoThreads) {
    pthread_attr_t usual;
    ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
    pthread_attr_t greedy = usual;
    ASSERT_EQ(pthread_attr_setstacksize(&greedy, std::size_t{1} << 47), 0);
    ASSERT_EQ(pthread_setattr_default_np(&greedy), 0);
    test::CountingMemory memory;
    const auto refused = ThreadPool::make(4, memory);
    ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
    ASSERT_EQ(refusal(refused), "ThreadsUnavailable");
    EXPECT_EQ(refused.error().get_if<ThreadsUnavailable>()->workers, 4U);
    EXPECT_EQ(refused.error().get_if<ThreadsUnavailable>()->started, 1U);
    EXPECT_EQ(memory.live, 0U);
}
#endif

// The caller finds nothing left to do, and waits for a piece that takes long.
TEST(ThreadPool, WaitsForThePieceThatTakesLongest) {
    auto pool = *ThreadPool::make(3);
    for (int job = 0; job < 4; ++job) {
        std::atomic<int> done = 0;
        auto body = [&](std::size_t, std::size_t worker) {
            if (worker != 0) {
                timespec pause{0, 5'000'000};
                nanosleep(&pause, nullptr);
            }
            ++done;
        };
        run_pieces(pool, 50, body);
        EXPECT_EQ(done, 50);
    }
}

template <class T>
class Executors : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Executors, Types);

template <class T>
struct Outputs {
    std::vector<T> all;
    void add(const Tensor<T>& tensor) { all.insert(all.end(), tensor.span().begin(), tensor.span().end()); }
    friend bool operator==(const Outputs& left, const Outputs& right) {
        return left.all.size() == right.all.size() &&
               std::memcmp(left.all.data(), right.all.data(), left.all.size() * sizeof(T)) == 0;
    }
};

// A prefill, a chunk after it, decode steps, evidence, and the whole prefix: everything a cache can be asked.
template <class T>
Outputs<T> everything(const AttentionGeometry& geometry, std::size_t batch, std::size_t rows,
                      Executor& executor) {
    const auto layer = *MultiHeadAttention<T>::from_seed(
        7, geometry, test::rotary<T>({2, rows, 10000.0, RotaryPairs::half}));
    const std::size_t width = geometry.model_width;
    const auto x = test::values<T>(batch * rows * width, 11);
    const auto all = *TensorView<const T>::over(x, Shape{batch, rows, width});
    Outputs<T> outputs;
    outputs.add(*layer.forward(all, 0, default_memory(), executor));
    auto cache = *LayerKvCache<T>::make(layer, batch, rows);
    auto y = *Tensor<T>::zeros(Shape{batch, rows, width});
    const auto prefill = [&](std::size_t first, std::size_t count) {
        return layer.prefill(*all.slice(1, first, count), cache, *y.view().slice(1, first, count),
                             default_memory(), executor);
    };
    EXPECT_TRUE(prefill(0, rows / 2));
    EXPECT_TRUE(prefill(rows / 2, rows / 4));
    std::size_t row = rows / 2 + rows / 4;
    for (; row + 1 < rows; ++row) {
        EXPECT_TRUE(
            layer.forward_incremental(*all.slice(1, row, 1), cache, *y.view().slice(1, row, 1), executor));
    }
    const auto evidence =
        *layer.forward_incremental_with_evidence(*all.slice(1, row, 1), cache, default_memory(), executor);
    outputs.add(evidence.weights);
    outputs.add(evidence.output);
    outputs.add(y);
    return outputs;
}

TYPED_TEST(Executors, GiveTheSameBits) {
    using T = TypeParam;
    struct Case {
        AttentionGeometry geometry;
        std::size_t batch;
        std::size_t rows;
    };
    // The first two have fewer key/value heads than workers and a long prefix: they are cut by position.
    const Case cases[] = {
        {{6, 4, 1, 4}, 1, 1200}, {{4, 1, 1, 3}, 1, 330}, {{6, 6, 3, 5}, 2, 140}, {{40, 8, 8, 16}, 1, 100}};
    for (const Case& each : cases) {
        SCOPED_TRACE(each.rows);
        const auto serial = everything<T>(each.geometry, each.batch, each.rows, serial_executor());
        for (const std::size_t workers : kWorkers) {
            SCOPED_TRACE(workers);
            Backwards backwards(workers);
            EXPECT_TRUE(everything<T>(each.geometry, each.batch, each.rows, backwards) == serial);
            auto pool = *ThreadPool::make(workers);
            EXPECT_TRUE(everything<T>(each.geometry, each.batch, each.rows, pool) == serial);
        }
    }
}

// A worker's number says nothing of how many pieces there are: what a step keeps for a worker is of the room
// that its heads have.
TYPED_TEST(Executors, MayHaveMoreWorkersThanAStepHasRoomFor) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    const auto x = test::values<T>(2 * 10, 11);
    const auto row = *TensorView<const T>::over(x, Shape{2, 1, 10});
    Outputs<T> serial, crowded;
    Backwards crowd(std::size_t{1} << 32);
    for (const bool many : {false, true}) {
        auto cache = *LayerKvCache<T>::make(layer, 2, 5);
        auto y = *Tensor<T>::zeros(Shape{2, 1, 10});
        for (int step = 0; step < 5; ++step) {
            Executor& executor = many ? static_cast<Executor&>(crowd) : serial_executor();
            ASSERT_TRUE(layer.forward_incremental(row, cache, y.view(), executor));
            (many ? crowded : serial).add(y);
        }
    }
    EXPECT_TRUE(crowded == serial);
}

TYPED_TEST(Executors, FewHeadsAreCutByPosition) {
    using T = TypeParam;
    const auto layer = *MultiHeadAttention<T>::from_seed(7, {4, 2, 1, 4}, test::rotary<T>({2, 900, 10000.0}));
    auto cache = *LayerKvCache<T>::make(layer, 1, 900);
    auto x = *Tensor<T>::zeros(Shape{1, 899, 4});
    ASSERT_TRUE(layer.prefill(x.view(), cache, x.view()));
    Backwards executor(2);
    const auto one = *x.view().slice(1, 0, 1);
    ASSERT_TRUE(layer.forward_incremental(one, cache, one, executor));
    EXPECT_GE(executor.most(), 4U);
}

// Whether a step is cut by position, by workers, key/value heads of the whole batch and rows it sees. Cut,
// scores and mix are a job each.
TEST(Splits, AreWorthTheirWhile) {
    struct Case {
        std::size_t workers;
        std::size_t lanes;
        std::size_t rows;
        bool cut;
    };
    const Case cases[] = {{2, 1, 512, true},   {1, 1, 512, false}, {2, 2, 512, false}, {2, 9, 512, false},
                          {9, 33, 512, false}, {7, 16, 512, true}, {2, 1, 192, false}, {2, 1, 193, true}};
    for (const Case& each : cases) {
        SCOPED_TRACE(each.workers * 100000 + each.lanes * 1000 + each.rows);
        const auto layer =
            *MultiHeadAttention<float>::from_seed(7, {1, 1, 1, 1}, test::rotary<float>({0, 600}));
        auto cache = *LayerKvCache<float>::make(layer, each.lanes, 600);
        auto x = *Tensor<float>::zeros(Shape{each.lanes, each.rows, 1});
        const auto one = *x.view().slice(1, 0, 1);
        ASSERT_TRUE(
            layer.prefill(*x.view().slice(1, 1, each.rows - 1), cache, *x.view().slice(1, 1, each.rows - 1)));
        Backwards executor(each.workers);
        ASSERT_TRUE(layer.forward_incremental(one, cache, one, executor));
        EXPECT_EQ(executor.runs(), each.cut ? 4U : 3U);
    }
}

TYPED_TEST(Executors, TheFirstRefusalIsTheSerialOne) {
    using T = TypeParam;
    const auto layer = test::layer<T>();
    auto x = test::values<T>(2 * 9 * 10, 3);
    // Scores of two rows overflow, of many heads.
    for (const std::size_t row : {std::size_t{4}, std::size_t{13}})
        std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(row * 10), 10,
                    std::sqrt(std::numeric_limits<T>::max()));
    const auto view = *TensorView<const T>::over(x, Shape{2, 9, 10});
    const auto serial = layer.forward(view);
    ASSERT_EQ(refusal(serial), "NonFiniteScore");
    const std::size_t index = serial.error().template get_if<NonFiniteScore>()->index;
    for (const std::size_t workers : {std::size_t{2}, std::size_t{5}}) {
        Backwards backwards(workers);
        const auto refused = layer.forward(view, 0, default_memory(), backwards);
        ASSERT_EQ(refusal(refused), "NonFiniteScore");
        EXPECT_EQ(refused.error().template get_if<NonFiniteScore>()->index, index);
    }
}

TYPED_TEST(Executors, AStepAllocatesNothing) {
    using T = TypeParam;
    test::CountingMemory memory;
    const auto layer = test::layer<T>();
    auto cache = *LayerKvCache<T>::make(layer, 2, 30, 0, memory);
    auto y = *Tensor<T>::zeros(Shape{2, 1, 10});
    auto pool = *ThreadPool::make(3, memory);
    const std::size_t before = memory.calls;
    for (int step = 0; step < 30; ++step)
        ASSERT_TRUE(layer.forward_incremental(y.view(), cache, y.view(), pool));
    EXPECT_EQ(memory.calls, before);
}

}  // namespace
}  // namespace attest
