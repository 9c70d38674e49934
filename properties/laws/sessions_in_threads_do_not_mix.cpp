// run(x) ‖ run(x') = run(x); run(x'): two sessions on one layer, each in a thread and with a cache of its
// own, answer as they do alone, by bits. Both are put off now and again, wherever they are, so that they meet
// on one core as well.
//
// Kills scratch that sessions share (B21): a static row, a workspace that belongs to the layer.

#include "interruptions.hpp"
#include "support.hpp"

#include <atomic>
#include <thread>

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

constexpr std::size_t kSessions = 2;
constexpr std::size_t kRounds = 4;

// One session: the rows of x, in its own order, appended to its own cache again and again.
struct Session {
    std::unique_ptr<Cache> cache;
    std::vector<Array> rows;
    std::vector<std::string> codes;
    std::vector<Array> answers;

    void run(Layer& layer, const Scene& scene) {
        cache->reset();
        codes.clear();
        answers.clear();
        for (const Array& row : rows) {
            Answer answer = append(layer, *cache, scene.input(row, 1));
            codes.push_back(std::move(answer.code));
            answers.push_back(std::move(answer.y));
            if (!codes.back().empty()) return;
        }
    }
};

// All sessions at a time: nobody starts a round before everybody is there. The second session's thread stays
// for all rounds.
class Together {
  public:
    Together(std::array<Session, kSessions>& sessions, Layer& layer, const Scene& scene)
        : sessions_(sessions), layer_(layer), scene_(scene), other_([this] { accompany(); }) {}
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
    ~Together() {
        stopping_ = true;
        ++there_;
        other_.join();
    }

    void run() {
        ++round_;
        meet(round_);
        {
            const Interruptions interruptions;
            sessions_[0].run(layer_, scene_);
        }
        while (done_ < round_)
            std::this_thread::yield();
    }

  private:
    void meet(std::size_t round) {
        ++there_;
        while (there_ < kSessions * round)
            std::this_thread::yield();
    }

    void accompany() {
        for (std::size_t round = 1;; ++round) {
            meet(round);
            if (stopping_) return;
            {
                const Interruptions interruptions;
                sessions_[1].run(layer_, scene_);
            }
            done_ = round;
        }
    }

    std::array<Session, kSessions>& sessions_;
    Layer& layer_;
    const Scene& scene_;
    std::size_t round_ = 0;
    std::atomic<std::size_t> there_ = 0;
    std::atomic<std::size_t> done_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread other_;
};

}  // namespace

Verdict sessions_in_threads_do_not_mix(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::threads, Capability::same_bits}, 2 * kSessions * kRounds);
    if (!scene) return scene.verdict();
    const std::uint64_t count = scene.playable_rows();
    if (count == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    std::array<Session, kSessions> sessions;
    std::array<Session, kSessions> alone;
    for (std::size_t i = 0; i < kSessions; ++i) {
        for (Session* const session : {&sessions[i], &alone[i]}) {
            session->cache = scene.make_cache();
            if (session->cache == nullptr) return scene.verdict();
            for (std::uint64_t t = 0; t < count; ++t) {
                session->rows.push_back(scene.x_rows(i == 0 ? t : count - 1 - t, 1));
            }
        }
        alone[i].run(*scene.layer, scene);
    }
    Together together(sessions, *scene.layer, scene);
    for (std::size_t round = 0; round < kRounds && !checks.failed(); ++round) {
        together.run();
        checks.tested();
        for (std::size_t i = 0; i < kSessions && !checks.failed(); ++i) {
            const auto place = [&] { return fmt::format("session {}, round {}", i, round); };
            if (!checks.equal([&] { return place() + ": rows"; }, sessions[i].codes.size(),
                              alone[i].codes.size()))
                break;
            for (std::size_t t = 0; t < alone[i].codes.size() && !checks.failed(); ++t) {
                checks.equal([&] { return fmt::format("{}, row {}: refusal", place(), t); },
                             sessions[i].codes[t], alone[i].codes[t]);
                checks.bits([&] { return fmt::format("{}, row {}: answer", place(), t); },
                            sessions[i].answers[t], alone[i].answers[t]);
            }
            checks.bits([&] { return place() + ": keys"; }, sessions[i].cache->live_keys(),
                        alone[i].cache->live_keys());
            checks.bits([&] { return place() + ": values"; }, sessions[i].cache->live_values(),
                        alone[i].cache->live_values());
        }
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
