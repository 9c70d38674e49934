// Two sessions on one layer in two threads: a layer is shared read-only, each cache has its own thread. Run
// under ThreadSanitizer this sees any scratch that they share.

#include "attest/properties/scene.hpp"
#include "attest/properties/subject.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attest::properties {
namespace {

constexpr std::uint64_t kRows = 70;
constexpr std::uint64_t kWidth = 12;

LayerSpec layer_spec(cases::ElementType type) {
    LayerSpec spec;
    spec.type = type;
    spec.width = kWidth;
    spec.heads = 4;
    spec.kv_heads = 2;
    spec.head_width = 6;
    spec.rope = {.pairs = cases::Pairs::half, .width = 4, .base = 10000, .positions = kRows, .first = 0};
    return spec;
}

// Rows that differ from session to session.
Array rows_of_session(std::uint64_t session) {
    Array rows;
    for (std::uint64_t i = 0; i < kRows * kWidth; ++i) {
        rows.push_back(static_cast<double>((i * 37 + session * 101) % 64) / 32 - 1);
    }
    return rows;
}

// Every call that a session makes: rows one by one, a chunk, a prepared row, evidence, a snapshot, a copy.
Array run_session(Layer& layer, std::uint64_t session) {
    const Array rows = rows_of_session(session);
    Array answers;
    auto cache = layer.make_cache(1, kRows, 0);
    if (!cache) return answers;
    const auto keep = [&](const Array& y) { answers.insert(answers.end(), y.begin(), y.end()); };
    for (std::uint64_t t = 0; t < kRows;) {
        const std::uint64_t count = t % 10 == 3 && t + 4 <= kRows ? 4 : 1;
        const Array values = rows_of(rows, 1, kRows, kWidth, t, count);
        const Input x = {.shape = {1, count, kWidth}, .values = values};
        Output y;
        y.values.assign(values.size(), 0);
        if (count > 1) {
            if (!layer.prefill(**cache, x, y)) return {};
            keep(y.values);
        } else if (t % 10 == 7) {
            const auto ticket = layer.prepare(**cache, x, y);
            if (!ticket || !(*cache)->commit(**ticket)) return {};
            keep(y.values);
        } else if (t % 10 == 8) {
            const auto step = layer.append_with_evidence(**cache, x);
            if (!step) return {};
            keep(step->output);
        } else {
            if (!layer.append(**cache, x, y)) return {};
            keep(y.values);
        }
        t += count;
    }
    const auto copy = (*cache)->copy();
    if (!copy || !(*copy)->equals(**cache)) return {};
    keep(*(*cache)->keys());
    const auto full = layer.forward({.shape = {1, kRows, kWidth}, .values = rows}, 0);
    if (full) keep(*full);
    return answers;
}

class Sessions : public testing::TestWithParam<cases::ElementType> {};

TEST_P(Sessions, InThreadsAnswerAsAlone) {
    constexpr std::uint64_t kSessions = 2;
    const std::unique_ptr<Subject> subject = make_attest_subject();
    auto layer = subject->make_seeded_layer(layer_spec(GetParam()), 11);
    ASSERT_TRUE(layer);
    std::vector<Array> alone;
    for (std::uint64_t session = 0; session < kSessions; ++session) {
        alone.push_back(run_session(**layer, session));
        ASSERT_FALSE(alone.back().empty());
    }
    EXPECT_NE(alone[0], alone[1]);
    for (int round = 0; round < 20; ++round) {
        std::vector<Array> together(kSessions);
        std::vector<std::thread> threads;
        for (std::uint64_t session = 0; session < kSessions; ++session) {
            threads.emplace_back([&, session] { together[session] = run_session(**layer, session); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        for (std::uint64_t session = 0; session < kSessions; ++session) {
            EXPECT_TRUE(same_bits(together[session], alone[session])) << "session " << session;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(BothTypes, Sessions,
                         testing::Values(cases::ElementType::float32, cases::ElementType::float64));

}  // namespace
}  // namespace attest::properties
