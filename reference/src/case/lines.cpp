#include <attest/case/words.hpp>

#include "lines.hpp"

#include <bit>
#include <cstddef>

namespace attest::cases {

namespace {

// The shape words that stand at `word`, which becomes the first word behind them.
Done parse_shape(Line& line, const Form& form, Step& step, std::string_view& word) {
    const auto next = [&](std::string_view name, std::optional<std::uint64_t>& where,
                          std::uint64_t maximum) -> Done {
        if (word != name) return {};
        std::uint64_t count = 0;
        if (auto done = store(count, line.count(name, 0, maximum)); !done) return done;
        where = count;
        word = line.take().value_or(std::string_view{});
        return {};
    };
    if (form.shape) {
        if (auto done = next("rank", step.rank, kMaxRank); !done) return done;
    }
    if (form.rows) {
        if (auto done = next("rows", step.rows, UINT64_MAX); !done) return done;
    }
    if (auto done = next("batch", step.batch, UINT64_MAX); !done) return done;
    return form.shape ? next("width", step.width, UINT64_MAX) : Done{};
}

Done parse_arguments(Line& line, const Form& form, Step& step) {
    if (form.count == CountUse::required) {
        if (auto done = store(step.count, line.count("count", form.count_min, form.count_max)); !done)
            return done;
    }
    if (form.tensor) {
        if (auto done = parse_word(line, "weight", &tensor_from_text, step.tensor); !done) return done;
        if (!is_weight(step.tensor))
            return line.fail(ErrorCode::UnknownWord, "only wq, wk, wv and wo are updated");
    }
    return form.variant ? parse_word(line, "layer", &variant_from_text, step.variant) : Done{};
}

bool starts_with_digit(std::string_view word) {
    return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

}  // namespace

Done parse_rope(Line& line, Rope& rope) {
    if (auto done = parse_word(line, "pair convention", &pairs_from_text, rope.pairs); !done) return done;
    if (auto done = line.keyword("width"); !done) return done;
    if (auto done = store(rope.width, line.count("width")); !done) return done;
    if (auto done = line.keyword("base"); !done) return done;
    std::uint64_t base = 0;
    if (auto done = store(base, line.number("base", ElementType::float64)); !done) return done;
    rope.base = std::bit_cast<double>(base);
    if (auto done = line.keyword("positions"); !done) return done;
    if (auto done = store(rope.positions, line.count("positions")); !done) return done;
    if (auto done = line.keyword("first"); !done) return done;
    return store(rope.first, line.count("first"));
}

Done parse_values(Line& line, Values& values) {
    if (auto done = parse_word(line, "filling", &filling_from_text, values.filling); !done) return done;
    if (auto done = line.keyword("seed"); !done) return done;
    return store(values.seed, line.count("seed"));
}

Done parse_fill(Line& line, Fill& fill) {
    if (auto done = parse_word(line, "tensor", &tensor_from_text, fill.tensor); !done) return done;
    if (auto done = parse_word(line, "filling", &filling_from_text, fill.filling); !done) return done;
    if (const auto word = line.take()) {
        if (*word != "seed")
            return line.fail(ErrorCode::TrailingText, "\"" + std::string(*word) + "\" is not \"seed\"");
        std::uint64_t seed = 0;
        if (auto done = store(seed, line.count("seed")); !done) return done;
        fill.seed = seed;
    }
    return line.end();
}

Done parse_place(Line& line, Set& set) {
    const auto word = line.want("an element");
    if (!word) return std::unexpected(word.error());
    const auto bad = [&](ErrorCode code) {
        return line.fail(code, "\"" + std::string(*word) + "\" names no element");
    };
    const auto open = word->find('[');
    if (open == std::string_view::npos || !word->ends_with(']')) return bad(ErrorCode::UnknownWord);
    const auto name = word->substr(0, open);
    const auto dot = name.find('.');
    const bool dotted = dot != std::string_view::npos;
    const auto tensor = tensor_from_text(name.substr(0, dot));
    if (!tensor || is_family(*tensor) != dotted) return bad(ErrorCode::UnknownWord);
    set.tensor = *tensor;
    if (dotted) {
        const auto of = tensor_from_text(name.substr(dot + 1));
        if (!of || !is_weight(*of)) return bad(ErrorCode::UnknownWord);
        set.of = *of;
    }
    auto indices = word->substr(open + 1, word->size() - open - 2);
    const std::size_t rank = set.tensor == Tensor::x ? 3 : 2;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const auto comma = indices.find(',');
        const bool last = comma == std::string_view::npos;
        if (last != (axis + 1 == rank)) return bad(ErrorCode::BadNumber);
        const auto index = parse_count(indices.substr(0, comma));
        if (!index) return bad(index.error());
        set.index[axis] = *index;
        if (!last) indices.remove_prefix(comma + 1);
    }
    return {};
}

Done parse_step(Line& line, Step& step) {
    if (auto done = parse_word(line, "verb", &verb_from_text, step.verb); !done) return done;
    const Form form = form_of(step.verb);
    if (auto done = parse_arguments(line, form, step); !done) return done;
    auto word = line.take().value_or(std::string_view{});
    if (form.count == CountUse::optional && starts_with_digit(word)) {
        const auto count = parse_count(word);
        if (!count) return line.fail(count.error(), "count is \"" + std::string(word) + "\"");
        step.count = *count;
        word = line.take().value_or(std::string_view{});
    }
    if (form.batch) {
        if (auto done = parse_shape(line, form, step, word); !done) return done;
    }
    if (form.expect && word == "expect") {
        if (auto done = store(step.expect, line.name("the code expected")); !done) return done;
        word = line.take().value_or(std::string_view{});
    }
    if (word.empty()) return {};
    return line.fail(ErrorCode::TrailingText, "\"" + std::string(word) + "\" does not belong to this step");
}

}  // namespace attest::cases
