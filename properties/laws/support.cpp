#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attest::properties {

namespace {

void look_at(const Subject& subject, const Cache& cache, CacheImage& image) {
    if (subject.can(Capability::storage)) {
        cache.read_storage(image.storage);
    } else {
        image.storage = {};
    }
    cache.read_live(image.keys, image.values);
    image.length = cache.length();
}

}  // namespace

CacheImage image_of(const Subject& subject, const Cache& cache) {
    CacheImage image;
    look_at(subject, cache, image);
    return image;
}

bool unchanged(Checks& checks, const Subject& subject, Text place, const Cache& cache,
               const CacheImage& before) {
    // Its room stays for the next time: a large array costs more to get than to fill.
    static thread_local CacheImage now;
    look_at(subject, cache, now);
    return checks.equal([&] { return fmt::format("{}: length", place()); }, now.length, before.length) &&
           checks.bits([&] { return fmt::format("{}: keys", place()); }, now.keys, before.keys) &&
           checks.bits([&] { return fmt::format("{}: values", place()); }, now.values, before.values) &&
           checks.bits([&] { return fmt::format("{}: key storage", place()); }, now.storage.keys,
                       before.storage.keys) &&
           checks.bits([&] { return fmt::format("{}: value storage", place()); }, now.storage.values,
                       before.storage.values) &&
           checks.equal([&] { return fmt::format("{}: where keys lie", place()); }, now.storage.key_address,
                        before.storage.key_address) &&
           checks.equal([&] { return fmt::format("{}: where values lie", place()); },
                        now.storage.value_address, before.storage.value_address);
}

Run run_rows(Scene& scene, Layer& layer, Cache& cache, std::uint64_t first, std::uint64_t count) {
    Run run;
    std::vector<Array> answers;
    for (std::uint64_t t = first; t < first + count; ++t) {
        const Array row = scene.x_rows(t, 1);
        Answer answer = append(layer, cache, scene.input(row, 1));
        if (answer.refused()) {
            run.code = answer.code;
            break;
        }
        answers.push_back(std::move(answer.y));
    }
    run.y = joined(answers, scene.one.batch, scene.one.width);
    run.keys = cache.live_keys();
    run.values = cache.live_values();
    return run;
}

Run run_chunks(Scene& scene, Layer& layer, Cache& cache, std::span<const std::uint64_t> chunks,
               bool single_through_append) {
    Run run;
    std::vector<Array> answers;
    std::uint64_t first = 0;
    for (const std::uint64_t count : chunks) {
        const Array rows = scene.x_rows(first, count);
        const Input input = scene.input(rows, count);
        Answer answer =
            count == 1 && single_through_append ? append(layer, cache, input) : prefill(layer, cache, input);
        if (answer.refused()) {
            run.code = answer.code;
            break;
        }
        answers.push_back(std::move(answer.y));
        first += count;
    }
    run.y = joined(answers, scene.one.batch, scene.one.width);
    run.keys = cache.live_keys();
    run.values = cache.live_values();
    return run;
}

Array as_stored(cases::KvStorage storage, Array values) {
    if (storage == cases::KvStorage::computing) return values;
    const bool bf16 = storage == cases::KvStorage::bf16;
    const int digits = bf16 ? 8 : 11;
    const int least = bf16 ? -126 : -14;  // exponent of the smallest normal number
    for (double& value : values) {
        int exponent = 0;
        static_cast<void>(std::frexp(value, &exponent));
        const int last_place = std::max(exponent - 1, least) - (digits - 1);
        value = std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);
    }
    return values;
}

bool is_non_finite(std::string_view code) {
    return code.starts_with("NonFinite") || code == "StorageOverflow";
}

bool same_run(Checks& checks, Text place, const Run& got, const Run& want) {
    if (!want.code.empty() || !got.code.empty()) {
        const auto kind = [](const std::string& code) {
            return code.empty()          ? std::string("no refusal")
                   : is_non_finite(code) ? std::string("NonFinite…")
                                         : code;
        };
        return checks.equal([&] { return fmt::format("{}: refusal", place()); }, kind(got.code),
                            kind(want.code));
    }
    return checks.bits([&] { return fmt::format("{}: answers", place()); }, got.y, want.y) &&
           checks.bits([&] { return fmt::format("{}: keys", place()); }, got.keys, want.keys) &&
           checks.bits([&] { return fmt::format("{}: values", place()); }, got.values, want.values);
}

std::string_view to_text(BadCall kind) {
    constexpr std::array<std::string_view, kBadCalls> names = {
        "rank 2",
        "two rows at once",
        "no rows",
        "another batch",
        "another width",
        "too many rows",
        "a misshapen answer",
        "an answer of one element",
        "NaN in the input",
        "infinity in the input",
        "an overflow",
    };
    return names[static_cast<std::size_t>(kind)];
}

namespace {

// A row whose largest projection certainly overflows, or nothing.
std::optional<Array> overflowing_row(const Scene& scene, std::uint64_t sequences) {
    const double largest = largest_of(scene.one.type);
    const std::uint64_t width = scene.one.width;
    for (std::size_t i = 0; i < 3; ++i) {
        const Array& weight = scene.weights[i];
        for (std::size_t start = 0; start + width <= weight.size(); start += width) {
            long double sum = 0;
            for (std::size_t f = 0; f < width; ++f) {
                sum += std::abs(static_cast<long double>(weight[start + f]));
            }
            if (sum < 2) continue;
            Array row(sequences * width);
            for (std::size_t f = 0; f < row.size(); ++f) {
                row[f] = std::copysign(largest, weight[start + f % width]);
            }
            return row;
        }
    }
    return std::nullopt;
}

}  // namespace

bool call_badly(Scene& scene, Layer& layer, Cache& cache, BadCall kind, std::span<const double> row) {
    const cases::Case& one = scene.one;
    const std::uint64_t sequences = row.size() / one.width;
    Array values(row.begin(), row.end());
    Lengths shape = {sequences, 1, one.width};
    Output y;
    y.values.assign(values.size(), kUntouched);
    std::string_view expected;
    bool through_prefill = false;
    const auto repeat = [&](std::uint64_t count) {
        Array longer;
        for (std::uint64_t i = 0; i < count; ++i) {
            longer.push_back(values[i % values.size()]);
        }
        values = longer;
        y.values.assign(values.size(), kUntouched);
    };
    switch (kind) {
        case BadCall::rank:
            shape = {sequences, one.width};
            expected = "InputRank";
            break;
        case BadCall::tokens:
            shape[1] = 2;
            repeat(values.size() * 2);
            expected = "SingleTokenRequired";
            break;
        case BadCall::no_rows:
            if (!scene.subject.can(Capability::prefill)) return false;
            shape[1] = 0;
            values.clear();
            y.values.clear();
            through_prefill = true;
            expected = "ZeroRows";
            break;
        case BadCall::batch:
            shape[0] += 1;
            repeat(values.size() + one.width);
            expected = "InputBatchMismatch";
            break;
        case BadCall::width:
            shape[2] += 1;
            repeat(values.size() + sequences);
            expected = "InputWidthMismatch";
            break;
        case BadCall::overfull: {
            if (!scene.subject.can(Capability::prefill)) return false;
            shape[1] = cache.capacity() - cache.length() + 1;
            const auto count = product({shape[0], shape[1], shape[2]});
            if (!count || *count > 4096) {
                values.resize(1);
                y.values.clear();
            } else {
                repeat(*count);
            }
            through_prefill = true;
            expected = "CacheFull";
            break;
        }
        case BadCall::answer_shape:
            y.shape = {sequences, 2, one.width};
            y.values.assign(values.size() * 2, kUntouched);
            expected = "ShapeMismatch";
            break;
        case BadCall::answer_not_writable:
            if (!scene.subject.can(Capability::strides) || values.size() < 2) return false;
            y.not_writable = true;
            expected = "ViewNotWritable";
            break;
        case BadCall::nan_input:
            values.back() = std::numeric_limits<double>::quiet_NaN();
            expected = "NonFiniteInput";
            break;
        case BadCall::infinite_input:
            values.back() = -std::numeric_limits<double>::infinity();
            expected = "NonFiniteInput";
            break;
        case BadCall::overflow: {
            const std::optional<Array> spoilt = overflowing_row(scene, sequences);
            if (!spoilt) return false;
            values = *spoilt;
            expected = "NonFiniteProjection";
            break;
        }
    }
    // A full cache is found before the answer is looked at and before any number is.
    const bool later = kind >= BadCall::answer_shape;
    if (later && cache.length() == cache.capacity()) expected = "CacheFull";

    const Input input = {.shape = shape, .values = values};
    const Outcome<void> done =
        through_prefill ? layer.prefill(cache, input, y) : layer.append(cache, input, y);
    const auto place = [&] { return fmt::format("a call with {}", to_text(kind)); };
    as_predicted(scene.checks, scene.subject, place, code_of(done), {expected});
    scene.checks.that([&] { return place() + ": its answer"; },
                      std::all_of(y.values.begin(), y.values.end(),
                                  [](double value) { return same_bits(value, kUntouched); }),
                      "was written to", "untouched");
    return true;
}

}  // namespace attest::properties
