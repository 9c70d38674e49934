// run(x) by one worker = run(x) by any number of workers, in any order, by bits: rows one by one, at once, in
// chunks, and as a full prefix. Workers played by one thread take the pieces in order and backwards, so that
// a piece that needs another's result is found without luck; then real threads do the same.
//
// Kills an order of summation by thread (B08), shared scratch (B21), and a piece that is done twice or never.

#include "support.hpp"

#include <array>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

// Whatever comes of the law, the subject works alone afterwards.
class WorkingWith {
  public:
    WorkingWith(Subject& subject, const Workers& workers)
        : subject_(subject), there_(subject.work_with(workers)) {}
    WorkingWith(const WorkingWith&) = delete;
    WorkingWith& operator=(const WorkingWith&) = delete;
    ~WorkingWith() { subject_.work_with({}); }
    explicit operator bool() const { return there_; }

  private:
    Subject& subject_;
    bool there_;
};

constexpr std::array kWorkers = {Workers{.count = 1, .threads = false, .backwards = true},
                                 Workers{.count = 2, .threads = false, .backwards = true},
                                 Workers{.count = 3, .threads = false, .backwards = false},
                                 Workers{.count = 7, .threads = false, .backwards = true},
                                 Workers{.count = 2, .threads = true, .backwards = false},
                                 Workers{.count = 3, .threads = true, .backwards = false},
                                 Workers{.count = 7, .threads = true, .backwards = false}};

std::string text_of(const Workers& workers) {
    return fmt::format("{} {}{}", workers.count, workers.threads ? "threads" : "workers",
                       workers.backwards ? ", backwards" : "");
}

// Of a long prefix the last rows are appended one by one, the others at once.
constexpr std::uint64_t kSingly = 12;

// The same rows in each way they can be computed.
struct Everything {
    Run singly, at_once, chunked;
    std::string forward_code;
    Array forward;
};

std::optional<Everything> everything(Scene& scene, std::uint64_t rows) {
    Everything all;
    const std::array<std::uint64_t, 1> whole = {rows};
    std::vector<std::uint64_t> chunks, ones;
    if (rows > kSingly) ones.push_back(rows - kSingly);
    ones.resize(ones.size() + std::min(rows, kSingly), 1);
    for (std::uint64_t left = rows, chunk = 1; left > 0; left -= chunk, chunk = std::min(chunk + 1, left))
        chunks.push_back(chunk);
    const auto run = [&](Run& into, auto compute) {
        const std::unique_ptr<Cache> cache = scene.make_cache();
        if (cache == nullptr) return false;
        into = compute(*cache);
        return true;
    };
    if (!run(all.singly, [&](Cache& cache) { return run_chunks(scene, *scene.layer, cache, ones, true); }) ||
        !run(all.at_once,
             [&](Cache& cache) { return run_chunks(scene, *scene.layer, cache, whole, false); }) ||
        !run(all.chunked, [&](Cache& cache) { return run_chunks(scene, *scene.layer, cache, chunks, true); }))
        return std::nullopt;
    const Array x = scene.x_rows(0, rows);
    const Outcome<Array> forward = scene.layer->forward(scene.input(x, rows), scene.one.rope.first);
    if (forward) {
        all.forward = *forward;
    } else {
        all.forward_code = forward.error().code;
    }
    return all;
}

}  // namespace

Verdict executors_do_not_matter(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks,
                {Capability::same_bits, Capability::executors, Capability::prefill, Capability::full_prefix},
                6);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::optional<Everything> want = everything(scene, rows);
    if (!want) return scene.verdict();
    for (const Workers& workers : kWorkers) {
        if (checks.failed()) break;
        const WorkingWith working(subject, workers);
        if (!working) continue;
        const std::string who = text_of(workers);
        const std::optional<Everything> got = everything(scene, rows);
        if (!got) return scene.verdict();
        checks.tested();
        same_run(checks, who + ", row by row", got->singly, want->singly);
        same_run(checks, who + ", all rows at once", got->at_once, want->at_once);
        same_run(checks, who + ", in chunks", got->chunked, want->chunked);
        checks.equal(who + ", full prefix: refusal", got->forward_code, want->forward_code);
        checks.bits(who + ", full prefix", got->forward, want->forward);
    }
    return checks.verdict("there are no other workers here");
}

}  // namespace attest::properties::law
