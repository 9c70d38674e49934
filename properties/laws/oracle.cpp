#include "oracle.hpp"

#include <attest/reference/bank.hpp>
#include <attest/reference/compare.hpp>
#include <attest/reference/number.hpp>

#include <fmt/format.h>

namespace attest::properties {

reference::Layer Problem::layer() const {
    reference::Layer layer;
    layer.batch = batch;
    layer.length = rows;
    layer.width = geometry.width;
    layer.heads = geometry.heads;
    layer.kv_heads = geometry.kv_heads;
    layer.head_width = geometry.head_width;
    layer.rope = {.pairs = geometry.rope.pairs == cases::Pairs::half ? reference::RopePairs::half
                                                                     : reference::RopePairs::interleaved,
                  .width = geometry.rope.width,
                  .base = geometry.rope.base};
    // Without a rotation positions play no part. The library then takes them up to 2^64 - 1, the oracle does
    // not.
    layer.first_position = geometry.rope.width == 0 ? 0 : geometry.rope.first;
    layer.x = x;
    layer.wq = weights[0];
    layer.wk = weights[1];
    layer.wv = weights[2];
    layer.wo = weights[3];
    return layer;
}

reference::Arithmetic Problem::arithmetic() const {
    if (foreign) {
        return reference::Arithmetic::foreign(
            geometry.type == cases::ElementType::float32 ? reference::Number::f32 : reference::Number::f64);
    }
    return geometry.type == cases::ElementType::float32 ? reference::Arithmetic::attest<float>()
                                                        : reference::Arithmetic::attest<double>();
}

std::optional<reference::LayerJudgement> judged(Checks& checks, const Problem& problem,
                                                const reference::LayerOptions& options) {
    auto judgement = reference::judge(problem.layer(), problem.arithmetic(), options);
    if (!judgement) {
        checks.fail(
            "the oracle",
            fmt::format("{}: {}", reference::name_of(judgement.error().code), judgement.error().message),
            "a judgement", "nothing else");
        return std::nullopt;
    }
    return std::move(*judgement);
}

std::uint64_t inside(Checks& checks, Text place, const reference::Judged& want, std::span<const double> got) {
    if (!checks.equal([&] { return fmt::format("{}: elements", place()); }, got.size(), want.exact.size()))
        return 0;
    const reference::Comparison comparison = reference::compare(want, got);
    checks.count(comparison.compared);
    if (comparison.wrong > 0) {
        const reference::Finding& wrong = comparison.first_wrong;
        checks.fail(fmt::format("{}{}", place(), reference::place_text(wrong.place)), number_text(wrong.got),
                    number_text(wrong.want),
                    fmt::format("{:.6g} (error {:.6g}, {} elements wrong)", wrong.allowed, wrong.error,
                                comparison.wrong));
        return 0;
    }
    const std::uint64_t compared = comparison.compared - comparison.unproved;
    if (compared > 0 && comparison.worst.ratio > 0) {
        const reference::Finding& worst = comparison.worst;
        checks.inside([&] { return fmt::format("{}{}", place(), reference::place_text(worst.place)); },
                      worst.got, worst.want, worst.error, worst.allowed);
    }
    return compared;
}

void note_blindness(Checks& checks, const Problem& problem, const reference::LayerJudgement& judgement,
                    const reference::LayerOptions& options) {
    const reference::Bank bank = reference::try_bank(problem.layer(), judgement, options);
    const auto note = [&](std::string_view answer, const std::vector<reference::Trial>& trials) {
        for (const reference::Trial& trial : trials) {
            if (!trial.refused) {
                checks.note_blind(fmt::format("{} of {}", reference::name_of(trial.wrong), answer));
            }
        }
    };
    note("y", bank.y);
    note("keys", bank.keys);
    note("values", bank.values);
    note("weights", bank.weights);
}

}  // namespace attest::properties
