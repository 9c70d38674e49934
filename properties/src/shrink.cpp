#include "attest/case/parse.hpp"
#include "attest/case/rows.hpp"
#include "attest/properties/draw.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace attest::properties {

namespace {

using cases::Case;

class Candidates {
  public:
    explicit Candidates(const Case& one) : one_(one) {}

    // Adds the case as `change` leaves it, if that changes anything.
    template <class Change>
    void add(Change change) {
        Case simpler = one_;
        change(simpler);
        cases::normalise(simpler);
        if (!(simpler == one_)) all_.push_back(std::move(simpler));
    }

    // A count towards `least`: at once, half-way, one less.
    template <class Member>
    void lower_to(std::uint64_t least, Member member) {
        const std::uint64_t now = member(one_);
        if (now <= least) return;
        std::vector<std::uint64_t> values = {least, least + (now - least) / 2, now - 1};
        values.erase(std::unique(values.begin(), values.end()), values.end());
        for (const std::uint64_t value : values) {
            add([&](Case& simpler) { member(simpler) = value; });
        }
    }

    std::vector<Case> take() { return std::move(all_); }

  private:
    const Case& one_;
    std::vector<Case> all_;
};

void fewer_steps(const Case& one, Candidates& candidates) {
    const std::size_t count = one.steps.size();
    // Halves, quarters, … and then single steps.
    for (std::size_t chunk = count; chunk > 0; chunk /= 2) {
        for (std::size_t first = 0; first < count; first += chunk) {
            candidates.add([&](Case& simpler) {
                const auto begin = simpler.steps.begin() + static_cast<std::ptrdiff_t>(first);
                simpler.steps.erase(begin,
                                    begin + static_cast<std::ptrdiff_t>(std::min(chunk, count - first)));
            });
        }
    }
}

void plainer_steps(const Case& one, Candidates& candidates) {
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
        const cases::Step& step = one.steps[i];
        const bool counts_from_one = step.verb == cases::Verb::prefill || step.verb == cases::Verb::fail;
        candidates.lower_to(counts_from_one ? 1 : 0,
                            [i](auto& some) -> decltype(auto) { return (some.steps[i].count); });
        if (step.verb == cases::Verb::prefill && step.count == 1) {
            candidates.add([i](Case& simpler) {
                simpler.steps[i].verb = cases::Verb::append;
                simpler.steps[i].count = 0;
            });
        }
        candidates.add([i](Case& simpler) { simpler.steps[i].rank.reset(); });
        candidates.add([i](Case& simpler) { simpler.steps[i].rows.reset(); });
        candidates.add([i](Case& simpler) { simpler.steps[i].batch.reset(); });
        candidates.add([i](Case& simpler) { simpler.steps[i].width.reset(); });
    }
}

void smaller_geometry(const Case& one, Candidates& candidates) {
    candidates.add([](Case& simpler) { simpler.heads = simpler.kv_heads = 1; });
    candidates.add([](Case& simpler) { simpler.heads = simpler.kv_heads; });
    candidates.add([](Case& simpler) {
        if (simpler.kv_heads > 1 && simpler.heads % simpler.kv_heads == 0) {
            simpler.heads /= simpler.kv_heads;
            simpler.kv_heads = 1;
        }
    });
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.batch); });
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.heads); });
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.kv_heads); });
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.width); });
    // A head no wider than its rope takes the rope along.
    for (const std::uint64_t width : {std::uint64_t{1}, std::uint64_t{2}, one.head_width / 2}) {
        if (width == 0 || width >= one.head_width) continue;
        candidates.add([width](Case& simpler) {
            simpler.head_width = width;
            simpler.rope.width = std::min(simpler.rope.width, width / 2 * 2);
        });
    }
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.head_width); });
    candidates.lower_to(0, [](auto& some) -> decltype(auto) { return (some.rope.width); });
    if (one.rope.width > 2) candidates.add([](Case& simpler) { simpler.rope.width -= 2; });
    // Positions follow what has to fit.
    const auto fit = [](Case& simpler) {
        std::uint64_t needed = 0;
        if (!__builtin_add_overflow(simpler.rope.first, simpler.capacity, &needed)) {
            simpler.rope.positions = std::min(simpler.rope.positions, needed);
        }
    };
    for (const std::uint64_t capacity : {std::uint64_t{1}, one.capacity / 2, one.capacity - 1}) {
        if (capacity == 0 || capacity >= one.capacity) continue;
        candidates.add([&](Case& simpler) {
            simpler.capacity = capacity;
            fit(simpler);
        });
    }
    for (const std::uint64_t first : {std::uint64_t{0}, one.rope.first / 2, one.rope.first - 1}) {
        if (first >= one.rope.first) continue;
        candidates.add([&](Case& simpler) {
            simpler.rope.first = first;
            fit(simpler);
        });
    }
    candidates.add(fit);
    candidates.lower_to(1, [](auto& some) -> decltype(auto) { return (some.rope.positions); });
    candidates.add([](Case& simpler) { simpler.rope.pairs = cases::Pairs::interleaved; });
    candidates.add([](Case& simpler) { simpler.rope.base = 10000.0; });
    candidates.add([](Case& simpler) { simpler.storage = cases::KvStorage::computing; });
    if (one.storage == cases::KvStorage::computing) {
        candidates.add([](Case& simpler) { simpler.type = cases::ElementType::float64; });
    }
}

void plainer_values(const Case& one, Candidates& candidates) {
    candidates.add([](Case& simpler) { simpler.sets.clear(); });
    for (std::size_t i = 0; i < one.sets.size(); ++i) {
        candidates.add([i](Case& simpler) {
            simpler.sets.erase(simpler.sets.begin() + static_cast<std::ptrdiff_t>(i));
        });
    }
    candidates.add([](Case& simpler) { simpler.fills.clear(); });
    for (std::size_t i = 0; i < one.fills.size(); ++i) {
        candidates.add([i](Case& simpler) {
            simpler.fills.erase(simpler.fills.begin() + static_cast<std::ptrdiff_t>(i));
        });
    }
    // Plainest first: whole numbers can be followed by hand.
    for (const cases::Filling filling :
         {cases::Filling::ones, cases::Filling::integers, cases::Filling::distinct}) {
        if (one.values.filling == filling) break;
        candidates.add([filling](Case& simpler) { simpler.values.filling = filling; });
    }
    candidates.lower_to(0, [](auto& some) -> decltype(auto) { return (some.values.seed); });
    candidates.add([](Case& simpler) { simpler.comments.clear(); });
}

}  // namespace

std::vector<Case> shrink(const Case& one) {
    Candidates candidates(one);
    fewer_steps(one, candidates);
    smaller_geometry(one, candidates);
    plainer_steps(one, candidates);
    plainer_values(one, candidates);
    return candidates.take();
}

}  // namespace attest::properties
