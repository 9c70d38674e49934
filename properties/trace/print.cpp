#include "trace.hpp"

#include <fmt/format.h>

#include <iterator>

namespace attest::properties {
namespace {

// A number that rounds to zero is printed without a sign: −1e-17 and 1e-17 are the same nine digits.
std::string fixed(double value, int digits) {
    std::string text = fmt::format("{:.{}f}", value, digits);
    if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
    return text;
}

std::string list(const double* values, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
        text += (i == 0 ? "" : ",") + fixed(values[i], 9);
    }
    return text + "]";
}

std::string list(const std::vector<double>& values) {
    return list(values.data(), values.size());
}

// "1+2+3=6" of one count a step.
template <class Count>
std::string sum_of(const std::vector<TraceStep>& steps, Count count) {
    std::string text;
    std::size_t total = 0;
    for (const TraceStep& step : steps) {
        text += fmt::format("{}{}", text.empty() ? "" : "+", count(step.work));
        total += count(step.work);
    }
    return fmt::format("{}={}", text, total);
}

void print_rows(std::string& text, const Trace& trace, const TraceStep& step) {
    const AttentionGeometry& geometry = trace.geometry;
    const std::size_t length = step.cache_after;
    for (std::size_t batch = 0; batch < trace.batch; ++batch) {
        // One batch, as published, goes without saying.
        const std::string where = trace.batch == 1 ? "" : fmt::format(" batch={}", batch);
        for (std::size_t head = 0; head < geometry.heads; ++head) {
            const std::size_t kv_head = head / (geometry.heads / geometry.kv_heads);
            const std::size_t first = (batch * geometry.kv_heads + kv_head) * length;
            for (std::size_t row = 0; row < length; ++row) {
                const std::size_t offset = (first + row) * geometry.head_width;
                fmt::format_to(
                    std::back_inserter(text), "position={}{} head={} row={} {} key:{} value:{} weight:{}\n",
                    step.work.position, where, head, row, row < step.cache_before ? "retained" : "new",
                    list(step.keys.data() + offset, geometry.head_width),
                    list(step.values.data() + offset, geometry.head_width),
                    fixed(step.weights[(batch * geometry.heads + head) * length + row], 12));
            }
        }
    }
}

}  // namespace

std::string print_trace(const Trace& trace) {
    std::string text;
    const auto out = std::back_inserter(text);
    for (const TraceStep& step : trace.steps) {
        fmt::format_to(out, "step=position:{} cache:{}->{} shape:[{},{},{},{}] max_abs_diff:{} output:{}\n",
                       step.work.position, step.cache_before, step.cache_after, trace.batch,
                       trace.geometry.kv_heads, step.cache_after, trace.geometry.head_width,
                       fixed(step.max_abs_diff, 12), list(step.output));
    }
    const HistoryContrast& history = trace.history;
    fmt::format_to(out,
                   "work=full_rows_per_projection:{} incremental_rows_per_projection:{} "
                   "reused_rows_per_kv_projection:{} avoided_rows_across_kv:{}\n",
                   history.complete_prefix_rows_per_projection, history.incremental_rows_per_projection,
                   history.reused_key_rows, history.reused_key_rows + history.reused_value_rows);
    const ResetEvidence& reset = trace.reset;
    fmt::format_to(
        out, "reset=before:{} after:{} allocation_reused:{} storage_unchanged:{} replay_identical:{}\n",
        reset.before, reset.after, reset.allocation_reused, reset.storage_unchanged, reset.replay_identical);
    const RefusalEvidence& refusals = trace.refusals;
    fmt::format_to(out,
                   "errors=two_tokens:{} full_cache:{} model_mismatch:{} head_mismatch:{} layer_mismatch:{} "
                   "rope_mismatch:{} rope_positions_mismatch:{} nonfinite_projection:{} unchanged:{}\n",
                   refusals.two_tokens, refusals.full_cache, refusals.model_mismatch, refusals.head_mismatch,
                   refusals.layer_mismatch, refusals.rope_mismatch, refusals.rope_positions_mismatch,
                   refusals.nonfinite_projection, refusals.unchanged);
    return text;
}

std::string print_evidence(const Trace& trace) {
    std::string text;
    std::string key_rows;
    for (const TraceStep& step : trace.steps) {
        print_rows(text, trace, step);
        fmt::format_to(std::back_inserter(text), "position={} cached:{} full_prefix:{} max_abs_diff:{}\n",
                       step.work.position, list(step.output), list(step.full_prefix),
                       fixed(step.max_abs_diff, 12));
        key_rows += fmt::format("{}{}", key_rows.empty() ? "" : ",", step.cache_after);
    }
    const HistoryContrast& history = trace.history;
    fmt::format_to(std::back_inserter(text),
                   "cards=full_prefix:{} incremental:{} avoided_across_kv:2x{}={}\n",
                   sum_of(trace.steps, [](const Work& work) { return work.full_prefix_rows; }),
                   sum_of(trace.steps, [](const Work& work) { return work.incremental_rows; }),
                   history.reused_key_rows, history.reused_key_rows + history.reused_value_rows);
    fmt::format_to(std::back_inserter(text),
                   "history=newest_query_key_rows:[{}] complete_prefix_rows_per_projection:{} "
                   "incremental_rows_per_projection:{} reused_key_rows:{} reused_value_rows:{}\n",
                   key_rows, history.complete_prefix_rows_per_projection,
                   history.incremental_rows_per_projection, history.reused_key_rows,
                   history.reused_value_rows);
    return text;
}

}  // namespace attest::properties
