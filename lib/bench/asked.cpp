#include "asked.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "shapes.hpp"

namespace attest::bench {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{16} << 20;

const AttentionShape* shape_of(const std::string& group) {
    const auto* const found = std::ranges::find_if(
        kAttentionShapes, [&](const AttentionShape& shape) { return group.ends_with("/" + shape.name()); });
    return found == std::end(kAttentionShapes) ? nullptr : found;
}

// The most that the library may take, in limits; 0 where nothing is asked.
double most_limits(const std::string& group, const std::string& who) {
    if (who != "attest") return 0;
    if (group.starts_with("layer/")) return 1.15;
    if (group.starts_with("projections/")) return 1 / 0.75;
    if (group.starts_with("prefill/")) return 1 / 0.6;
    const AttentionShape* const shape = shape_of(group);
    if (!group.starts_with("attention/") || shape == nullptr) return 0;
    const bool grouped = shape->kv_heads != shape->heads;
    return beyond_caches(group) ? (grouped ? 2.5 : 1.25) : grouped ? 1.7 : 1.2;
}

std::string in_words(const Comparison& c, const char* unit) {
    char text[256];
    std::snprintf(
        text, sizeof text, "%s, %s: %.3f %s [%.3f, %.3f], %s %.2f asked, %zu of %zu rounds undisturbed",
        c.group.c_str(), c.who.c_str(), c.ratio.value.median, unit, c.ratio.value.lower, c.ratio.value.upper,
        c.bound == Bound::at_most ? "at most" : "at least", c.asked, c.ratio.undisturbed, c.ratio.rounds);
    return text;
}

}  // namespace

bool beyond_caches(const std::string& group) {
    const AttentionShape* const shape = shape_of(group);
    return shape != nullptr && 2 * shape->elements() * sizeof(float) > kCacheBytes;
}

Verdict verdict(const Comparison& comparison) {
    if (comparison.bound == Bound::none) return Verdict::nothing_asked;
    if (!comparison.ratio.trusted) return Verdict::none;
    const double ratio = comparison.ratio.value.median;
    const bool met =
        comparison.bound == Bound::at_most ? ratio <= comparison.asked : ratio >= comparison.asked;
    return met ? Verdict::met : Verdict::missed;
}

std::vector<Comparison> against_limits(const std::vector<Group>& groups) {
    std::vector<Comparison> all;
    for (const Group& group : groups) {
        for (const std::string& who : members_of(group)) {
            const auto ratio = ratio_of(group, who, kLimit);
            if (!ratio) continue;
            const double most = most_limits(group.name, who);
            all.push_back({group.name, who, *ratio, most == 0 ? Bound::none : Bound::at_most, most});
        }
    }
    return all;
}

std::vector<Comparison> against_peers(const std::vector<Group>& groups) {
    std::vector<Comparison> all;
    for (const Group& group : groups) {
        const auto ratio = ratio_of(group, group.peer, "attest");
        if (!ratio) continue;
        // Products of many rows are compared, but they are not decoding.
        const bool counts = !group.name.starts_with("projections/");
        all.push_back({group.name, group.peer, *ratio, counts ? Bound::at_least : Bound::none,
                       beyond_caches(group.name) ? 0.97 : 1.0});
    }
    return all;
}

std::vector<Comparison> mean_of_peers(const std::vector<Comparison>& peers) {
    Quartiles logarithms;
    Comparison mean{"all shapes", "peers, geometric mean", {{}, 0, 0, 0, true}, Bound::at_least, 2.0};
    double count = 0;
    for (const Comparison& peer : peers) {
        if (peer.bound == Bound::none) continue;
        logarithms.lower += std::log(peer.ratio.value.lower);
        logarithms.median += std::log(peer.ratio.value.median);
        logarithms.upper += std::log(peer.ratio.value.upper);
        mean.ratio.undisturbed += peer.ratio.undisturbed;
        mean.ratio.rounds += peer.ratio.rounds;
        // One shape that could not be judged spoils the mean of all.
        mean.ratio.trusted = mean.ratio.trusted && peer.ratio.trusted;
        count += 1;
    }
    if (count == 0) return {};
    mean.ratio.value = {std::exp(logarithms.lower / count), std::exp(logarithms.median / count),
                        std::exp(logarithms.upper / count)};
    return {mean};
}

std::vector<Comparison> readings_of_threads(const std::vector<Group>& groups) {
    std::vector<Comparison> all;
    for (const Group& group : groups) {
        if (const auto ratio = ratio_of(group, group.reading, group.reading_of_two))
            all.push_back({group.name, group.reading_of_two, *ratio});
    }
    return all;
}

std::vector<Comparison> against_threads(const std::vector<Group>& groups) {
    const std::vector<Comparison> readings = readings_of_threads(groups);
    std::vector<Comparison> all;
    for (const Group& group : groups) {
        const auto ratio = ratio_of(group, "attest", "attest_2_threads");
        if (!ratio) continue;
        const auto read = std::ranges::find(readings, group.name, &Comparison::group);
        const bool doubles = read == readings.end() || read->ratio.value.median >= 1.9;
        all.push_back({group.name, "attest_2_threads", *ratio, Bound::at_least, doubles ? 1.7 : 1.0});
    }
    return all;
}

std::vector<Comparison> against_float(const std::vector<Group>& groups) {
    std::vector<Comparison> all;
    for (const Group& group : groups) {
        const auto ratio = ratio_of(group, "attest_float", "attest");
        if (!ratio) continue;
        const bool asked = group.name.starts_with("attention_bf16/") && group.name.ends_with("_t16384");
        all.push_back({group.name, "attest_float", *ratio, asked ? Bound::at_least : Bound::none, 1.6});
    }
    return all;
}

Findings findings(const std::vector<Group>& groups) {
    Findings found;
    const auto look = [&](const std::vector<Comparison>& all, const char* unit) {
        for (const Comparison& each : all) {
            const Verdict said = verdict(each);
            if (said == Verdict::missed) found.missed.push_back(in_words(each, unit));
            if (said == Verdict::met) ++found.met;
            if (said == Verdict::none) found.undecided.push_back(in_words(each, unit));
        }
    };
    const std::vector<Comparison> peers = against_peers(groups);
    look(against_limits(groups), "limits");
    look(peers, "times the library's time");
    look(mean_of_peers(peers), "times the library's time");
    look(against_threads(groups), "times as fast by two threads");
    look(against_float(groups), "times as fast as float");
    return found;
}

}  // namespace attest::bench
