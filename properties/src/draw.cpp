#include "attest/properties/draw.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/rows.hpp"
#include "attest/case/words.hpp"
#include "draw_parts.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace attest::properties {

std::uint64_t SeededChoices::below(std::uint64_t n) {
    // SplitMix64 (Steele, Lea and Flood 2014). The remainder's bias is below 2^-40 for every n used here.
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % std::max<std::uint64_t>(n, 1);
}

namespace detail {

Wish wish_of(std::string_view law) {
    Wish wish;
    const auto is = [law](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), law) != names.end();
    };
    wish.steps =
        is({"cached_equals_full_prefix", "inside_the_bound", "snapshot_equals_projected_prefix",
            "reset_then_replay_is_identical", "refusal_changes_nothing", "refusals_come_in_order",
            "retry_equals_never_failed", "update_or_rebuild_unbinds", "stale_ticket_is_refused",
            "commit_all_is_all_or_nothing", "copies_are_independent", "allocation_failure_changes_nothing",
            "print_then_parse_is_identity", "any_history_is_its_rows", "second_run_equals_first"});
    wish.grouped = law == "grouped_heads_equal_repeated_heads";
    wish.turned = law == "positions_are_relative";
    wish.clean =
        is({"positions_are_relative", "weights_are_probabilities", "output_inside_value_hull",
            "inside_the_bound", "work_counts_add_up", "future_does_not_matter", "batch_rows_do_not_mix",
            "copies_are_independent", "stale_ticket_is_refused", "commit_all_is_all_or_nothing",
            "allocation_failure_changes_nothing", "powers_of_two_scale_exactly",
            "permuting_heads_permutes_outputs", "adding_to_all_scores_changes_nothing",
            "equal_values_come_back", "equal_sequences_get_equal_bits", "any_history_is_its_rows"});
    wish.tickets =
        is({"stale_ticket_is_refused", "commit_all_is_all_or_nothing", "cached_equals_full_prefix"});
    wish.history = law == "any_history_is_its_rows";
    wish.heads = law == "permuting_heads_permutes_outputs";
    wish.copies = law == "copies_are_independent";
    wish.failures = law == "allocation_failure_changes_nothing";
    wish.spare_slot = is({"copies_are_independent", "capacity_does_not_matter", "update_or_rebuild_unbinds"});
    wish.spread = law == "executors_do_not_matter";
    wish.oracle =
        is({"inside_the_bound", "weights_are_probabilities", "positions_are_relative",
            "any_history_is_its_rows", "adding_to_all_scores_changes_nothing", "equal_values_come_back"});
    return wish;
}

// Laws about exact numbers say nothing of rounded ones.
bool wants_unrounded(std::string_view law) {
    constexpr std::string_view kLaws[] = {"adding_to_all_scores_changes_nothing",
                                          "equal_values_come_back",
                                          "inside_the_bound",
                                          "positions_are_relative",
                                          "weights_are_probabilities",
                                          "output_inside_value_hull",
                                          "powers_of_two_scale_exactly"};
    return std::ranges::find(kLaws, law) != std::end(kLaws);
}

void draw_geometry(cases::Case& one, Choices& choices, const Wish& wish, unsigned size) {
    using U = std::uint64_t;
    one.type = choices.below(2) == 0 ? cases::ElementType::float64 : cases::ElementType::float32;
    one.batch = pick(choices, {U{1}, U{1}, U{2}, U{1}, U{3}, U{2}});
    one.kv_heads = pick(choices, {U{1}, U{2}, U{1}, U{3}, U{2}});
    const U group =
        wish.grouped ? pick(choices, {U{2}, U{3}, U{4}, U{2}}) : pick(choices, {U{1}, U{2}, U{1}, U{3}});
    one.heads = one.kv_heads * group;
    if (wish.heads && one.heads == 1) one.heads = one.kv_heads = 2;
    // Lane edges of both types (8 and 16) on both sides, odd widths, and ordinary ones.
    one.head_width = pick(
        choices, {U{4}, U{2}, U{6}, U{4}, U{8}, U{3}, U{5}, U{8}, U{16}, U{7}, U{9}, U{15}, U{17}, U{1}});
    one.width = pick(choices, {U{8}, U{12}, U{10}, U{9}, U{16}, U{8}, U{15}, U{17}, U{24}, U{7}, U{33}, U{13},
                               U{1}, U{3}});
    // A small size keeps what is drawn small, so that an engine's first cases are quick.
    if (size < 20) {
        one.head_width = std::min<U>(one.head_width, 8);
        one.width = std::min<U>(one.width, 16);
    }

    // Widths that kernels know by name or cut into pieces, on both sides of each; all else is small then.
    if (size >= 20 && once_in(choices, 16)) {
        one.batch = one.kv_heads = 1;
        one.heads = wish.grouped ? 2 : 1;
        if (choices.below(2) == 0) {
            one.head_width = pick(choices, {U{64}, U{128}, U{63}, U{65}, U{129}});
            one.width = std::min<U>(one.width, 5);
        } else {
            one.width = pick(choices, {U{65}, U{128}, U{64}, U{130}});
            one.head_width = std::min<U>(one.head_width, 4);
        }
    }

    cases::Rope& rope = one.rope;
    rope.pairs = choices.below(3) == 2 ? cases::Pairs::half : cases::Pairs::interleaved;
    const U most = one.head_width / 2 * 2;
    const U ways = choices.below(5);
    rope.width = ways < 3 ? most : ways == 3 ? std::min<U>(most, 2) : 0;
    if (wish.turned && most == 0) one.head_width = 4;
    if (wish.turned && rope.width == 0) rope.width = std::min<U>(one.head_width / 2 * 2, 4);
    rope.base = pick(choices, {10000.0, 10000.0, 100.0, 500000.0, 5e6, 2.0, 0x1.8p-1, 1e6});

    // T: a few rows mostly, the blocks of 64 on both sides now and then.
    U rows = 4 + choices.below(5);
    const bool edge = size >= 30 && once_in(choices, wish.oracle ? 24 : wish.spread ? 3 : 12);
    if (edge) {
        rows = pick(choices, {U{64}, U{65}, U{63}, U{66}, U{128}, U{129}, U{127}});
        // Four blocks are the first that are not folded one after the other.
        if (!wish.oracle && choices.below(3) == 2) rows = pick(choices, {U{193}, U{192}, U{194}, U{257}});
        if (wish.spread) rows = pick(choices, {U{193}, U{257}, U{385}, U{449}, U{513}});
        one.batch = 1;
        one.kv_heads = std::min<U>(one.kv_heads, 1);
        one.heads = wish.grouped || wish.heads ? 2 : 1;
        one.head_width = std::min<U>(one.head_width, 3);
        one.width = std::min<U>(one.width, 5);
        rope.width = std::min<U>(rope.width, one.head_width / 2 * 2);
        if (wish.turned) one.head_width = rope.width = 2;
    }
    if (once_in(choices, 10)) rows = choices.below(4);
    const U spare = pick(choices, {U{1}, U{0}, U{2}, U{0}, U{5}});
    one.capacity = std::max<U>(1, rows + spare + (wish.spare_slot ? 1 : 0));

    rope.first = 0;
    const bool far = once_in(choices, wish.turned ? 2 : 6);
    if (far) {
        rope.first =
            pick(choices, {U{1}, U{63}, U{257}, U{2049}, U{4096}, U{65537}, (U{1} << 17) - 1, U{1} << 17});
        // Tables cost positions times width: few pairs so far out.
        if (rope.first > 4096) rope.width = std::min<U>(rope.width, 2);
    }
    const U room = pick(choices, {U{0}, U{3}, U{64}, U{1}});
    rope.positions = rope.first + one.capacity + room + (wish.turned ? 1 + choices.below(300) : 0);
}

void spoil_geometry(cases::Case& one, Choices& choices) {
    constexpr std::uint64_t kImpossible[] = {0,
                                             std::uint64_t{1} << 62,
                                             UINT64_MAX,
                                             std::uint64_t{1} << 32,
                                             (std::uint64_t{1} << 63) + 1,
                                             std::uint64_t{1} << 40};
    const std::uint64_t value = pick(choices, kImpossible);
    switch (choices.below(14)) {
        case 0:
            one.batch = value;
            break;
        case 1:
            one.width = value;
            break;
        case 2:
            one.heads = value;
            break;
        case 3:
            one.kv_heads = value;
            break;
        case 4:
            one.head_width = value;
            break;
        case 5:
            one.capacity = value;
            one.rope.positions = std::max(one.rope.positions, value);
            one.rope.width = 0;
            break;
        case 6:
            one.rope.positions = value;
            break;
        case 7:
            one.rope.width = one.head_width / 2 * 2 + 2;
            break;
        case 8:
            one.rope.width |= 1;
            break;
        case 9:
            one.rope.base = pick(choices, {0.0, -1.0, std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::quiet_NaN(), -0.0});
            break;
        case 10:
            one.kv_heads = one.heads + 1;
            break;
        case 11:
            one.rope.first = one.rope.positions - std::min(one.rope.positions, one.capacity - 1);
            break;
        case 12:
            one.rope.first = value;
            break;
        default:
            one.capacity = one.rope.positions - one.rope.first + 1;
            break;
    }
}

namespace {

// Numbers that a set can be: NaNs of both kinds, infinities, the largest, the least, zeros of both signs.
std::uint64_t special_bits(cases::ElementType type, Choices& choices) {
    const bool narrow = type == cases::ElementType::float32;
    const std::uint64_t patterns[] = {
        0x7ff8000000000000,
        0x7ff0000000000000,
        0xfff0000000000000,
        narrow ? 0x7ff0000020000000u : 0x7ff0000000000001u,
        narrow ? 0x47efffffe0000000u : 0x7fefffffffffffffu,
        narrow ? 0x36a0000000000000u : 0x0000000000000001u,
        0x8000000000000000,
        narrow ? 0xc7efffffe0000000u : 0xffefffffffffffffu,
        0x3ff0000000000000,
    };
    return pick(choices, patterns);
}

// A tensor filled in another way than the rest.
void fill_with(cases::Case& one, cases::Tensor tensor, cases::Filling filling) {
    std::erase_if(one.fills, [tensor](const cases::Fill& other) { return other.tensor == tensor; });
    cases::Fill fill;
    fill.tensor = tensor;
    fill.filling = filling;
    one.fills.push_back(fill);
}

void set_first(cases::Case& one, cases::Tensor tensor, double value) {
    cases::Set set;
    set.tensor = tensor;
    set.bits = std::bit_cast<std::uint64_t>(value);
    one.sets.push_back(set);
}

// Scores that hide a fault, or show one that other scores hide.
void draw_scores(cases::Case& one, Choices& choices) {
    using F = cases::Filling;
    using T = cases::Tensor;
    switch (choices.below(5)) {
        case 0:  // one key has nearly all the weight, half of the time the newest
            fill_with(one, T::x, F::needle);
            fill_with(one, T::wq, F::identity);
            fill_with(one, T::wk, F::identity);
            break;
        case 1:  // every key is the same, and so is every score
            fill_with(one, T::x, F::equal);
            break;
        case 2:  // a few whole numbers: scores tie, and so do their maxima
            fill_with(one, T::x, F::integers);
            fill_with(one, T::wq, F::integers);
            fill_with(one, T::wk, F::identity);
            break;
        case 3: {  // all scores of the first head far below -1e4 (float) or -1e9
            const double large = one.type == cases::ElementType::float32 ? 0x1p9 : 0x1p18;
            fill_with(one, T::x, F::equal);
            set_first(one, T::wq, -large);
            set_first(one, T::wk, large);
            break;
        }
        default:  // scores are all 0: weights are equal, whatever the queries
            fill_with(one, T::wk, F::zeros);
            break;
    }
}

}  // namespace

void add_special_set(cases::Case& one, Choices& choices) {
    cases::Set set;
    constexpr cases::Tensor kTensors[] = {cases::Tensor::x,  cases::Tensor::x,     cases::Tensor::wq,
                                          cases::Tensor::wv, cases::Tensor::wo,    cases::Tensor::gradient,
                                          cases::Tensor::wk, cases::Tensor::update};
    set.tensor = pick(choices, kTensors);
    set.of = pick(choices, {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv, cases::Tensor::wo});
    if (!cases::is_family(set.tensor)) set.of = cases::Tensor::wq;
    const auto small = [&] { return choices.below(6); };
    set.index = {small(), small(), small()};
    if (set.tensor != cases::Tensor::x) set.index[2] = 0;
    set.bits = special_bits(one.type, choices);
    one.sets.push_back(set);
}

void draw_values(cases::Case& one, Choices& choices, const Wish& wish) {
    using F = cases::Filling;
    one.values.seed = choices.below(std::uint64_t{1} << 32);
    one.values.filling =
        pick(choices, {F::normal, F::normal, F::uniform, F::xavier, F::normal, F::distinct, F::integers,
                       F::normal, F::needle, F::powers, F::cancelling, F::equal});
    if (once_in(choices, 6)) {
        constexpr cases::Tensor kTensors[] = {cases::Tensor::x, cases::Tensor::wq, cases::Tensor::wk,
                                              cases::Tensor::wv, cases::Tensor::wo};
        cases::Fill fill;
        fill.tensor = pick(choices, kTensors);
        fill.filling =
            pick(choices, {F::needle, F::identity, F::ones, F::tiny, F::subnormal, F::zeros, F::huge});
        if (wish.clean && fill.filling == F::huge) fill.filling = F::distinct;
        one.fills.push_back(fill);
    }
    if (once_in(choices, 10)) draw_scores(one, choices);
    const std::uint64_t rare = wish.clean ? 24 : 6;
    if (once_in(choices, rare)) add_special_set(one, choices);
    // Overflow at a stage of choice: projections alone, scores, the mix, or the output.
    if (once_in(choices, rare * 2)) {
        const auto fill = [&](cases::Tensor tensor) { fill_with(one, tensor, F::huge); };
        switch (choices.below(4)) {
            case 0:
                fill(cases::Tensor::x);
                break;
            case 1:
                fill(cases::Tensor::wq);
                fill(cases::Tensor::wk);
                break;
            case 2:
                fill(cases::Tensor::wv);
                break;
            default:
                fill(cases::Tensor::wo);
                break;
        }
    }
}

// A row whose value or key leaves the range of the type while its weight is nothing: its own score lies
// further below the others than any exp reaches, so neither a score nor an answer shows what was not refused.
void hide_overflow(cases::Case& one, Choices& choices) {
    using T = cases::Tensor;
    // A kernel that computes floats in double meets no infinity on its way.
    if (one.sets.empty() && choices.below(4) != 3) one.type = cases::ElementType::float32;
    const bool narrow = one.type == cases::ElementType::float32;
    const double beyond = narrow ? 0x1p116 : 0x1p1012;  // times kNeedle it is past the largest number
    constexpr double kNeedle = 0x1p14;
    const std::uint64_t rows = std::min<std::uint64_t>(cases::rows_needed(one), 5);
    // It takes a row to hide behind, and geometry that is there.
    if (rows < 2 || one.width == 0 || one.head_width == 0 || one.kv_heads == 0) return;
    const auto set = [&one](T tensor, std::uint64_t first, std::uint64_t second, double value) {
        cases::Set element;
        element.tensor = tensor;
        element.index = {first, second, 0};
        element.bits = std::bit_cast<std::uint64_t>(value);
        one.sets.push_back(element);
    };
    set(T::x, 0, 1 + choices.below(rows - 1), kNeedle);
    const bool key = choices.below(3) == 2;
    // A query that is small, and has nothing but its first feature, lets the score of a huge key be finite.
    if (key) fill_with(one, T::wq, cases::Filling::zeros);
    set(T::wk, 0, 0, key ? -beyond : -0x1p6);
    if (!key) set(T::wv, 0, 0, beyond);
    const std::uint64_t group = std::min<std::uint64_t>(one.heads / one.kv_heads, 4);
    for (std::uint64_t head = 0; head < group; ++head) {
        set(T::wq, head * one.head_width, 0, key ? 0x1p-24 : 0x1p6);
    }
}

}  // namespace detail

cases::Case draw(Choices& choices, std::string_view law, unsigned size) {
    const detail::Wish wish = detail::wish_of(law);
    cases::Case one;
    one.law = law;
    detail::draw_geometry(one, choices, wish, size);
    detail::draw_values(one, choices, wish);
    detail::draw_steps(one, choices, wish, size);
    // Laws about refusals want bad geometry more often; the others learn little from it.
    const std::uint64_t rare =
        law == "refusals_come_in_order" || law == "print_then_parse_is_identity" ? 6 : 24;
    if (detail::once_in(choices, rare)) detail::spoil_geometry(one, choices);
    if (wish.steps && detail::once_in(choices, 16)) detail::hide_overflow(one, choices);
    // Last, so that what was drawn before is what it was without.
    const std::uint64_t narrow = choices.below(6);
    if (one.type == cases::ElementType::float32 && narrow < 2) {
        one.storage = narrow == 0 ? cases::KvStorage::bf16 : cases::KvStorage::f16;
        if (detail::wants_unrounded(law)) one.storage = cases::KvStorage::computing;
    }
    cases::normalise(one);
    return one;
}

}  // namespace attest::properties
