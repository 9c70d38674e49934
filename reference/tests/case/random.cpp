#include "random.hpp"

#include <attest/case/number.hpp>
#include <attest/case/parse.hpp>
#include <attest/case/rows.hpp>
#include <attest/case/words.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

namespace attest::cases::testing {

namespace {

template <typename T, std::size_t N>
T pick(Random& random, const std::array<T, N>& from) {
    return from[static_cast<std::size_t>(random.below(N))];
}

template <typename T>
T pick(Random& random, std::span<const T> from) {
    return from[static_cast<std::size_t>(random.below(from.size()))];
}

// Mostly small, sometimes at an end.
std::uint64_t count(Random& random, std::uint64_t bound) {
    constexpr auto kEnds =
        std::to_array<std::uint64_t>({0, 1, 1ULL << 31, 1ULL << 32, 1ULL << 63, UINT64_MAX});
    return random.below(8) == 0 ? pick(random, kEnds) : 1 + random.below(bound);
}

std::optional<std::uint64_t> maybe(Random& random, std::uint64_t value) {
    return random.below(6) == 0 ? std::optional(value) : std::nullopt;
}

std::string code(Random& random) {
    constexpr auto kCodes = std::to_array<std::string_view>({"Full", "CacheLayerRevisionMismatch", "a_1"});
    return std::string(pick(random, kCodes));
}

std::uint64_t number(Random& random, ElementType type) {
    constexpr auto kSpecial =
        std::to_array<std::uint64_t>({0, 0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000,
                                      0x7ff8000000000001, 0x7ff4000000000000, 0x3ff0000000000000,
                                      0x0010000000000000, 0x000fffffffffffff, 1, 0x7fefffffffffffff});
    const std::uint64_t bits = random.coin() ? pick(random, kSpecial) : random.next();
    return type == ElementType::float32 ? widen(narrow(bits)) : bits;
}

Step step(Random& random) {
    Step one;
    one.verb = pick(random, all_verbs());
    const Form form = form_of(one.verb);
    if (form.count == CountUse::required || (form.count == CountUse::optional && random.coin()))
        one.count = std::clamp(count(random, 5), form.count_min, form.count_max);
    if (form.tensor) one.tensor = pick(random, all_tensors().subspan(1, 4));
    if (form.variant) one.variant = pick(random, all_variants());
    if (form.shape) {
        one.rank = maybe(random, random.below(kMaxRank + 1));
        one.width = maybe(random, count(random, 16));
    }
    if (form.batch) one.batch = maybe(random, count(random, 5));
    if (form.rows) one.rows = maybe(random, count(random, 4));
    if (form.expect && random.below(4) == 0) one.expect = code(random);
    return one;
}

std::uint64_t index(Random& random, std::uint64_t size) {
    return size == 0 ? 0 : random.below(size);
}

void add_sets(Random& random, Case& one) {
    const std::uint64_t rows = rows_needed(one);
    const std::uint64_t sets = random.below(6);
    for (std::uint64_t i = 0; i < sets; ++i) {
        Set set;
        set.tensor = pick(random, all_tensors());
        if (is_family(set.tensor)) set.of = pick(random, all_tensors().subspan(1, 4));
        set.index = {index(random, one.batch), index(random, rows), index(random, one.width)};
        if (set.tensor != Tensor::x) set.index = {random.below(4), random.below(4), 0};
        set.bits = number(random, one.type);
        one.sets.push_back(set);
    }
}

}  // namespace

Case random_case(Random& random) {
    constexpr auto kComments = std::to_array<std::string_view>(
        {"a full cache refuses one more", "", "  indented = kept", "# doubled", "ö: no ASCII"});
    Case one;
    const std::uint64_t comments = random.below(3);
    for (std::uint64_t i = 0; i < comments; ++i)
        one.comments.emplace_back(pick(random, kComments));
    one.law = random.coin() ? "inside_the_bound" : "L9_";
    one.type = random.coin() ? ElementType::float32 : ElementType::float64;
    one.batch = count(random, 3);
    one.kv_heads = count(random, 3);
    one.heads = random.below(8) == 0 ? count(random, 9) : one.kv_heads * (1 + random.below(3));
    one.width = count(random, 24);
    one.head_width = one.heads == 0 ? 0 : one.width / one.heads;
    if (random.below(4) == 0) one.head_width = count(random, 8);
    one.rope.pairs = random.coin() ? Pairs::interleaved : Pairs::half;
    one.rope.width = count(random, 8);
    one.rope.base = std::bit_cast<double>(number(random, ElementType::float64));
    one.rope.positions = count(random, 1000);
    one.rope.first = count(random, 1000);
    one.capacity = count(random, 9);
    if (random.below(8) == 0) one.expect = code(random);
    one.values = {pick(random, all_fillings()), random.next()};
    for (const Tensor tensor : all_tensors()) {
        if (random.below(4) == 0)
            one.fills.push_back({tensor, pick(random, all_fillings()), maybe(random, random.next())});
    }
    const std::uint64_t steps = random.below(9);
    for (std::uint64_t i = 0; i < steps; ++i)
        one.steps.push_back(step(random));
    add_sets(random, one);
    normalise(one);  // drops the sets that fall outside
    return one;
}

std::string mutate(std::string text, Random& random) {
    constexpr auto kPieces = std::to_array<std::string_view>({"18446744073709551615",
                                                              "18446744073709551616",
                                                              "0",
                                                              "-1",
                                                              "0x1p+1024",
                                                              "0x1p-1074",
                                                              "nan:0x7fc00001",
                                                              "nan:0x7ff8000000000001",
                                                              "inf",
                                                              "=",
                                                              "\n",
                                                              " ",
                                                              "#",
                                                              "[",
                                                              ",",
                                                              "expect",
                                                              "\xff",
                                                              "0x",
                                                              "p",
                                                              "."});
    const std::uint64_t edits = 1 + random.below(4);
    for (std::uint64_t i = 0; i < edits; ++i) {
        const std::size_t at = static_cast<std::size_t>(random.below(text.size() + 1));
        switch (random.below(6)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(random.next());
                break;
            case 2:
                text.erase(at, static_cast<std::size_t>(random.below(12)));
                break;
            case 3:
                text.insert(at, pick(random, kPieces));
                break;
            case 4:
                text.insert(at, text.substr(static_cast<std::size_t>(random.below(text.size() + 1)),
                                            static_cast<std::size_t>(random.below(40))));
                break;
            default:
                if (random.below(16) == 0) text.resize(at);
        }
    }
    return text;
}

}  // namespace attest::cases::testing
