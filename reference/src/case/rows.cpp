#include <attest/case/rows.hpp>
#include <attest/case/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace attest::cases {

namespace {

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// One more, or one less at the maximum.
std::uint64_t another(std::uint64_t count) {
    return count == UINT64_MAX ? count - 1 : count + 1;
}

std::uint64_t advance(const Case& one, const Step& step, std::uint64_t cursor) {
    if (step.verb == Verb::rewind) return cursor - std::min(cursor, step.count);
    return add(cursor, rows_consumed(one, step));
}

double another_base(double base) {
    if (!std::isfinite(base)) return 1.0;
    return base + 1.0 != base ? base + 1.0 : base / 2.0;
}

}  // namespace

bool well_formed(const Case& one, const Step& step) {
    return step.rank.value_or(3) == 3 && step.rows.value_or(1) == 1 &&
           step.batch.value_or(one.batch) == one.batch && step.width.value_or(one.width) == one.width;
}

std::uint64_t rows_offered(const Step& step) {
    switch (step.verb) {
        case Verb::append:
        case Verb::prepare:
            return 1;
        case Verb::prefill:
            return step.count;
        default:
            return 0;
    }
}

std::uint64_t rows_consumed(const Case& one, const Step& step) {
    if (step.verb == Verb::skip) return step.count;
    return step.expect.empty() && well_formed(one, step) ? rows_offered(step) : 0;
}

std::uint64_t rows_needed(const Case& one) {
    std::uint64_t cursor = 0;
    std::uint64_t needed = 0;
    for (const Step& step : one.steps) {
        if (const auto offered = rows_offered(step); offered != 0)
            needed = std::max(needed, add(cursor, offered));
        cursor = advance(one, step, cursor);
    }
    return needed;
}

std::vector<std::uint64_t> row_cursors(const Case& one) {
    std::vector<std::uint64_t> cursors;
    cursors.reserve(one.steps.size());
    std::uint64_t cursor = 0;
    for (const Step& step : one.steps) {
        cursors.push_back(cursor);
        cursor = advance(one, step, cursor);
    }
    return cursors;
}

Case variant_of(const Case& one, Variant variant) {
    Case other = one;
    switch (variant) {
        case Variant::original:
        case Variant::rebuilt:
            break;
        case Variant::wider:
            other.width = another(one.width);
            break;
        case Variant::heads: {
            const std::uint64_t step = std::max<std::uint64_t>(one.kv_heads, 1);
            other.heads = one.heads <= UINT64_MAX - step ? one.heads + step : one.heads - step;
            break;
        }
        case Variant::kv_heads:
            if (one.kv_heads != 1) {
                other.kv_heads = 1;
            } else {
                other.heads = std::max<std::uint64_t>(one.heads, 2);
                other.kv_heads = other.heads;
            }
            break;
        case Variant::head_width:
            other.head_width = another(one.head_width);
            break;
        case Variant::rope_base:
            other.rope.base = another_base(one.rope.base);
            break;
        case Variant::rope_width:
            other.rope.width = one.rope.width >= 2 ? one.rope.width - 2 : 2;
            break;
        case Variant::rope_pairs:
            other.rope.pairs = one.rope.pairs == Pairs::interleaved ? Pairs::half : Pairs::interleaved;
            break;
        case Variant::positions:
            other.rope.positions = another(one.rope.positions);
            break;
    }
    return other;
}

}  // namespace attest::cases
