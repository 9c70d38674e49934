// run(x) ‖ run(x') = run(x); run(x'): two sessions on one layer, each in a thread and with a cache of its
// own, answer as they do alone, by bits.
//
// Kills scratch that sessions share (B21): a static row, a workspace that belongs to the layer.

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

// All sessions at a time: nobody starts a round before everybody is there.
void run_together(std::array<Session, kSessions>& sessions, Layer& layer, const Scene& scene) {
    std::atomic<std::size_t> ready = 0;
    const auto run = [&](Session& session) {
        ++ready;
        while (ready < kSessions)
            std::this_thread::yield();
        session.run(layer, scene);
    };
    std::thread other([&] { run(sessions[1]); });
    run(sessions[0]);
    other.join();
}

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
    for (std::size_t round = 0; round < kRounds && !checks.failed(); ++round) {
        run_together(sessions, *scene.layer, scene);
        checks.tested();
        for (std::size_t i = 0; i < kSessions && !checks.failed(); ++i) {
            const std::string place = fmt::format("session {}, round {}", i, round);
            if (!checks.equal(place + ": rows", sessions[i].codes.size(), alone[i].codes.size())) break;
            for (std::size_t t = 0; t < alone[i].codes.size() && !checks.failed(); ++t) {
                checks.equal(fmt::format("{}, row {}: refusal", place, t), sessions[i].codes[t],
                             alone[i].codes[t]);
                checks.bits(fmt::format("{}, row {}: answer", place, t), sessions[i].answers[t],
                            alone[i].answers[t]);
            }
            checks.bits(place + ": keys", sessions[i].cache->live_keys(), alone[i].cache->live_keys());
            checks.bits(place + ": values", sessions[i].cache->live_values(), alone[i].cache->live_values());
        }
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
