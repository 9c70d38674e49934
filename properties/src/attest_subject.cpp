#include "attest_subject_parts.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <map>

namespace attest::properties {

namespace detail {

namespace {

// Laws know these words; the library's own texts may be reworded.
std::string_view reason_word(Stage stage) {
    switch (stage) {
        case Stage::query_projection:
            return "query projection";
        case Stage::key_projection:
            return "key projection";
        case Stage::value_projection:
            return "value projection";
        case Stage::query_rotation:
            return "query rotation";
        case Stage::key_rotation:
            return "key rotation";
        default:
            return attest::name(stage);
    }
}

std::string_view reason_word(StaleReason reason) {
    switch (reason) {
        case StaleReason::another_cache:
            return "another_cache";
        case StaleReason::moved_on:
            return "moved_on";
        case StaleReason::superseded:
            return "superseded";
        case StaleReason::updated:
            return "updated";
    }
    return "unknown";
}

}  // namespace

Refusal refusal_of(const Error& error) {
    Refusal refusal;
    refusal.code = std::string(attest::name(error));
    refusal.text = std::string(describe(error).view());
    std::visit(
        [&](const auto& one) {
            if constexpr (requires { one.stage; }) {
                refusal.reason = reason_word(one.stage);
            } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, StaleTicket>) {
                refusal.reason = reason_word(one.reason);
            }
        },
        error.refusal());
    return refusal;
}

Outcome<Shape> shape_of(std::span<const std::uint64_t> lengths) {
    static_assert(std::is_same_v<std::size_t, std::uint64_t>);
    const std::optional<Shape> shape = Shape::of(lengths);
    if (!shape) return refused(RankUnsupported{lengths.size()});
    return *shape;
}

}  // namespace detail

namespace {

using detail::LibCache;
using detail::LibLayer;
using detail::LibTicket;
using detail::refused;

// Several workers, played by the calling thread: every piece meets another worker's workspace, and what a
// piece needs from one before it is not there yet.
class PlayedWorkers final : public Executor {
  public:
    explicit PlayedWorkers(const Workers& workers) : workers_(workers) {}
    std::size_t workers() const noexcept override { return workers_.count; }
    void run(std::size_t pieces, Task task, void* context) noexcept override {
        for (std::size_t n = 0; n < pieces; ++n) {
            const std::size_t piece = workers_.backwards ? pieces - 1 - n : n;
            task(context, piece, piece % workers_.count);
        }
    }

  private:
    Workers workers_;
};

// Pools stay for the next subject: starting threads takes longer than most laws. Each thread has its own, as
// a pool does one call at a time, and a forked child makes new ones, as it has none of its parent's threads.
class KeptPools {
  public:
    KeptPools() = default;
    KeptPools(const KeptPools&) = delete;
    KeptPools& operator=(const KeptPools&) = delete;
    ~KeptPools() { give_up(::getpid() != owner_); }

    ThreadPool* of(std::size_t workers) {
        if (const pid_t here = ::getpid(); here != owner_) {
            give_up(true);
            owner_ = here;
        }
        std::unique_ptr<ThreadPool>& pool = pools_[workers];
        if (pool == nullptr) {
            Result<ThreadPool> made = ThreadPool::make(workers);
            if (!made) return nullptr;
            pool = std::make_unique<ThreadPool>(std::move(*made));
        }
        return pool.get();
    }

  private:
    // Ending a pool waits for its threads, and a parent's are not here.
    void give_up(bool inherited) {
        for (auto& [workers, pool] : pools_) {
            if (inherited) static_cast<void>(pool.release());
        }
        pools_.clear();
    }

    pid_t owner_ = ::getpid();
    std::map<std::size_t, std::unique_ptr<ThreadPool>> pools_;
};

ThreadPool* kept_pool(std::size_t workers) {
    static thread_local KeptPools pools;
    return pools.of(workers);
}

class AttestSubject final : public Subject {
  public:
    std::string_view name() const override { return "attest"; }
    bool can(Capability) const override { return true; }

    Outcome<std::unique_ptr<Layer>> make_layer(const LayerSpec& spec) override {
        return spec.type == cases::ElementType::float32 ? LibLayer<float>::make(spec, memory_)
                                                        : LibLayer<double>::make(spec, memory_);
    }

    Outcome<std::unique_ptr<Layer>> make_seeded_layer(const LayerSpec& spec, std::uint64_t seed) override {
        return spec.type == cases::ElementType::float32 ? LibLayer<float>::make_seeded(spec, seed, memory_)
                                                        : LibLayer<double>::make_seeded(spec, seed, memory_);
    }

    Outcome<void> commit_all(std::span<const Pending> pending) override {
        if (pending.empty()) return commit_all_of<double>(pending);
        return dynamic_cast<LibCache<float>*>(pending[0].cache) != nullptr ? commit_all_of<float>(pending)
                                                                           : commit_all_of<double>(pending);
    }

    Outcome<History> history(std::span<const Evidence> steps) override {
        std::vector<StepRecord> records;
        for (const Evidence& step : steps) {
            records.push_back({.work = {.position = step.position,
                                        .full_prefix_rows = step.full_prefix_rows,
                                        .incremental_rows = step.incremental_rows,
                                        .reused_key_value_rows = step.reused_key_value_rows},
                               .key_rows = step.key_rows,
                               .cache_length = step.cache_length});
        }
        const Result<HistoryContrast> sums = history_contrast(records);
        if (!sums) return refused(sums.error());
        return History{.complete_prefix_rows = sums->complete_prefix_rows_per_projection,
                       .incremental_rows = sums->incremental_rows_per_projection,
                       .reused_key_rows = sums->reused_key_rows,
                       .reused_value_rows = sums->reused_value_rows};
    }

    bool work_with(const Workers& workers) override {
        memory_.work_with(serial_executor());
        played_.reset();
        if (workers.threads) {
            ThreadPool* const pool = kept_pool(workers.count);
            if (pool == nullptr) return false;
            memory_.work_with(*pool);
        } else if (workers.count > 1 || workers.backwards) {
            memory_.work_with(played_.emplace(workers));
        }
        return true;
    }

    std::uint64_t allocations() const override { return memory_.count(); }
    void fail_allocation(std::uint64_t nth) override { memory_.fail(nth); }
    void limit_allocation(std::uint64_t bytes) override { memory_.limit(bytes); }

  private:
    template <class T>
    Outcome<void> commit_all_of(std::span<const Pending> pending) {
        std::vector<PendingCommit<T>> commits;
        for (const Pending& one : pending) {
            commits.push_back({&static_cast<LibCache<T>*>(one.cache)->cache,
                               static_cast<const LibTicket*>(one.ticket)->ticket});
        }
        const Result<void> done = LayerKvCache<T>::commit_all(commits);
        if (!done) return refused(done.error());
        return {};
    }

    detail::CountedMemory memory_;
    std::optional<PlayedWorkers> played_;
};

}  // namespace

std::unique_ptr<Subject> make_attest_subject() {
    return std::make_unique<AttestSubject>();
}

}  // namespace attest::properties
