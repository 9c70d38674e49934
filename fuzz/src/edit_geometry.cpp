#include "attest/case/rows.hpp"
#include "attest/case/words.hpp"

#include "edits.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <array>

namespace attest::fuzzing {

void edit_type(Random&, cases::Case& one) {
    one.type =
        one.type == cases::ElementType::float32 ? cases::ElementType::float64 : cases::ElementType::float32;
}

void edit_storage(Random& random, cases::Case& one) {
    const auto all = cases::all_storages();
    one.storage = all[random.position(all.size())];
    if (one.storage != cases::KvStorage::computing) one.type = cases::ElementType::float32;
}

void edit_count(Random& random, cases::Case& one) {
    const std::array<std::uint64_t*, 6> counts = {&one.batch,    &one.width,      &one.heads,
                                                  &one.kv_heads, &one.head_width, &one.capacity};
    std::uint64_t& count = *random.pick(counts);
    count = new_count(random, one, count);
}

void edit_heads(Random& random, cases::Case& one) {
    one.kv_heads = random.between(1, 3);
    one.heads = one.kv_heads * random.between(1, 4);
    one.head_width = random.chance(1, 2) ? random.between(1, 20) : 2 * random.between(1, 10);
    // H·d = D is the usual layer; the library does not need it.
    one.width = random.chance(2, 3) ? one.heads * one.head_width : random.between(1, 32);
}

void edit_rope(Random& random, cases::Case& one) {
    cases::Rope& rope = one.rope;
    switch (random.below(7)) {
        case 0:
            rope.pairs = rope.pairs == cases::Pairs::half ? cases::Pairs::interleaved : cases::Pairs::half;
            break;
        case 1:
            rope.width = random.chance(1, 4) ? 0 : one.head_width;
            break;
        case 2:
            rope.width = new_count(random, one, rope.width);
            break;
        case 3:
            rope.base = rope_base(random);
            break;
        case 4:
            rope.positions = new_count(random, one, rope.positions);
            break;
        case 5:
            rope.first = new_count(random, one, rope.first);
            break;
        default: {
            // Far positions: where angles formed in a narrow type go wrong, and the last ones of the table.
            static constexpr std::array<std::uint64_t, 6> kFar = {256, 2048, 4095, 8191, 65535, 131071};
            rope.first = random.pick(kFar);
            rope.positions = rope.first + one.capacity + random.below(3) - random.below(2);
        }
    }
}

void edit_capacity(Random& random, cases::Case& one) {
    // Just enough, one too few, one more, twice as much: full caches and their neighbours.
    const std::uint64_t rows = cases::rows_needed(one);
    const std::array<std::uint64_t, 5> edges = {rows, rows - 1, rows + 1, rows * 2, rows / 2 + 1};
    one.capacity = random.pick(edges);
    one.rope.positions = std::max(one.rope.positions, one.rope.first + one.capacity);
}

void repair_geometry(Random& random, cases::Case& one) {
    const auto at_least_one = [](std::uint64_t& count) { count = std::max<std::uint64_t>(count, 1); };
    at_least_one(one.batch);
    at_least_one(one.width);
    at_least_one(one.kv_heads);
    at_least_one(one.head_width);
    at_least_one(one.capacity);
    if (one.heads == 0 || one.heads % one.kv_heads != 0) {
        one.heads = one.kv_heads * random.between(1, 3);
    }
    one.rope.width = std::min(one.rope.width, one.head_width) & ~std::uint64_t{1};
    if (!(one.rope.base > 0.0 && one.rope.base <= 1e300)) {
        one.rope.base = 10000.0;
    }
    if (one.rope.positions < one.rope.first || one.rope.positions - one.rope.first < one.capacity) {
        one.rope.positions = one.rope.first + one.capacity + random.below(2);
    }
    if (one.rope.positions < one.rope.first) {
        one.rope.first = 0;
    }
}

}  // namespace attest::fuzzing
