#include "ledger.hpp"

#include "attest/case/words.hpp"
#include "attest/properties/draw.hpp"
#include "attest/properties/play.hpp"

#include <bit>

#include <fmt/format.h>

namespace attest::properties {

namespace {

constexpr std::uint64_t kCases = 200;

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

int print_ledger(const SubjectMaker& make) {
    bool good = true;
    std::uint64_t answers = 0;
    const std::unique_ptr<Subject> subject = make();
    for (std::uint64_t seed = 0; seed < kCases; ++seed) {
        for (const auto type : {cases::ElementType::float32, cases::ElementType::float64}) {
            SeededChoices choices(seed);
            cases::Case one = draw(choices, "cached_equals_full_prefix", static_cast<unsigned>(seed % 101));
            one.sets.clear();
            one.type = type;
            Hash hash;
            const bool played = play_into(hash, one, *subject, answers);
            good = good && played;
            fmt::print("{} {} {:016x}{}\n", seed, cases::to_text(type), hash.value(),
                       played ? "" : " NOT PLAYED");
        }
    }
    // A ledger of refusals alone would be equal everywhere.
    if (answers == 0) fmt::print("no answer was hashed\n");
    return good && answers > 0 ? 0 : 1;
}

}  // namespace attest::properties
