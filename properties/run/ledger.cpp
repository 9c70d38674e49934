#include "ledger.hpp"

#include "attest/case/words.hpp"
#include "attest/properties/play.hpp"

#include <array>
#include <bit>

#include <fmt/format.h>

namespace attest::properties {

namespace {

// The grid of the ledger is written down here and is nobody else's: a generator that learns to draw better
// must not change it. Widths on both sides of the lanes of both types (8 and 16), lengths on both sides of
// the blocks of 64, grouped heads, every kind of rotation, far positions.
struct Shape {
    std::uint64_t batch, width, heads, kv_heads, head_width;
    cases::Rope rope;
    std::uint64_t rows;
};

constexpr auto kHalf = cases::Pairs::half;
constexpr auto kInterleaved = cases::Pairs::interleaved;

constexpr std::array kShapes = {
    Shape{1, 8, 2, 2, 4, {kInterleaved, 4, 1e4, 64, 0}, 3},
    Shape{2, 12, 3, 1, 4, {kInterleaved, 2, 1e4, 64, 5}, 7},
    Shape{1, 1, 1, 1, 1, {kHalf, 0, 1e4, 8, 0}, 5},
    Shape{3, 7, 2, 1, 7, {kHalf, 6, 100, 64, 1}, 9},
    Shape{1, 16, 2, 2, 8, {kHalf, 8, 5e6, 128, 64}, 63},
    Shape{1, 15, 4, 2, 9, {kInterleaved, 8, 5e5, 128, 0}, 64},
    Shape{2, 17, 2, 1, 15, {kHalf, 14, 2, 128, 0}, 65},
    Shape{1, 33, 1, 1, 17, {kInterleaved, 16, 1e4, 1 << 18, 1 << 17}, 66},
    Shape{1, 24, 3, 3, 16, {kInterleaved, 16, 1e6, 4224, 4096}, 127},
    Shape{1, 9, 6, 2, 5, {kHalf, 4, 1e4, 256, 0}, 128},
    Shape{2, 13, 2, 2, 32, {kInterleaved, 32, 1e4, 256, 100}, 129},
    Shape{1, 64, 4, 1, 16, {kHalf, 16, 1e4, 2304, 2048}, 193},
};

std::string text_of(const Shape& shape) {
    return fmt::format("B={} D={} H={}/{} d={} {} {} base {} first {} T={}", shape.batch, shape.width,
                       shape.heads, shape.kv_heads, shape.head_width, cases::to_text(shape.rope.pairs),
                       shape.rope.width, shape.rope.base, shape.rope.first, shape.rows);
}

// What is computed in and, for float, what keys and values are rounded to.
struct Precision {
    cases::ElementType type;
    cases::KvStorage storage;
};

constexpr std::array kPrecisions = {
    Precision{cases::ElementType::float32, cases::KvStorage::computing},
    Precision{cases::ElementType::float64, cases::KvStorage::computing},
    Precision{cases::ElementType::float32, cases::KvStorage::bf16},
    Precision{cases::ElementType::float32, cases::KvStorage::f16},
};

std::string text_of(const Precision& precision) {
    const std::string type(cases::to_text(precision.type));
    return precision.storage == cases::KvStorage::computing
               ? type
               : fmt::format("{} stored as {}", type, cases::to_text(precision.storage));
}

// Half of the rows at once, then one by one, then what is left at once.
cases::Case case_of(const Shape& shape, cases::Filling filling, const Precision& precision,
                    std::uint64_t seed) {
    cases::Case one;
    one.type = precision.type;
    one.storage = precision.storage;
    one.batch = shape.batch;
    one.width = shape.width;
    one.heads = shape.heads;
    one.kv_heads = shape.kv_heads;
    one.head_width = shape.head_width;
    one.rope = shape.rope;
    one.capacity = shape.rows;
    one.values = {filling, seed};
    const std::uint64_t at_once = shape.rows / 2, singly = std::min<std::uint64_t>(5, shape.rows - at_once);
    const auto prefill = [&](std::uint64_t rows) {
        cases::Step step;
        step.verb = cases::Verb::prefill;
        step.count = rows;
        if (rows > 0) one.steps.push_back(step);
    };
    prefill(at_once);
    one.steps.insert(one.steps.end(), singly, cases::Step{});
    prefill(shape.rows - at_once - singly);
    return one;
}

// FNV-1a over patterns and codes.
class Hash {
  public:
    void add(std::span<const double> values) {
        for (const double value : values) {
            add(std::bit_cast<std::uint64_t>(value));
        }
    }
    void add(std::string_view text) {
        for (const char c : text) {
            mix(static_cast<unsigned char>(c));
        }
    }
    void add(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            mix(static_cast<unsigned char>(value >> (8 * byte)));
        }
    }
    std::uint64_t value() const { return state_; }

  private:
    void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3; }
    std::uint64_t state_ = 0xcbf29ce484222325;
};

// Every answer, refusal, key, value and storage of a case's steps. False when it could not be played to its
// end.
bool play_into(Hash& hash, const cases::Case& one, Subject& subject, std::uint64_t& answers) {
    Checks checks;
    Scene scene(one, subject, checks, {});
    if (!scene) {
        hash.add(scene.verdict().why);
        return !checks.failed();
    }
    Player player(scene);
    while (player.next()) {
        hash.add(player.last().code);
        hash.add(player.last().y);
        answers += player.last().y.size();
    }
    for (const auto& track : player.caches()) {
        if (track == nullptr) continue;
        const Storage storage = track->cache->storage();
        hash.add(storage.keys);
        hash.add(storage.values);
        hash.add(track->cache->length());
    }
    return !checks.failed();
}

}  // namespace

int print_ledger(Subject& subject) {
    bool good = true;
    std::uint64_t answers = 0, seed = 0;
    for (const Shape& shape : kShapes) {
        for (const cases::Filling filling : cases::all_fillings()) {
            ++seed;
            for (const Precision& precision : kPrecisions) {
                Hash hash;
                const bool played =
                    play_into(hash, case_of(shape, filling, precision, seed), subject, answers);
                good = good && played;
                fmt::print("{} {} {} {:016x}{}\n", text_of(shape), cases::to_text(filling),
                           text_of(precision), hash.value(), played ? "" : " NOT PLAYED");
            }
        }
    }
    // A ledger of refusals alone would be equal everywhere.
    if (answers == 0) fmt::print("no answer was hashed\n");
    return good && answers > 0 ? 0 : 1;
}

}  // namespace attest::properties
