#include <attest/work.hpp>

namespace attest {

Result<HistoryContrast> history_contrast(std::span<const StepRecord> steps) {
    if (steps.empty()) {
        return std::unexpected(HistoryEmpty{});
    }
    HistoryContrast total;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        const StepRecord& record = steps[step];
        const Work& work = record.work;
        std::size_t visited = 0;
        const bool overflow =
            __builtin_add_overflow(work.incremental_rows, work.reused_key_value_rows, &visited) ||
            __builtin_add_overflow(total.complete_prefix_rows_per_projection, work.full_prefix_rows,
                                   &total.complete_prefix_rows_per_projection);
        if (overflow || visited != work.full_prefix_rows || record.key_rows != record.cache_length ||
            record.cache_length != work.full_prefix_rows) {
            return std::unexpected(HistoryInconsistent{step});
        }
        // These two are parts of the sum above, which fits.
        total.incremental_rows_per_projection += work.incremental_rows;
        total.reused_key_rows += work.reused_key_value_rows;
    }
    total.reused_value_rows = total.reused_key_rows;
    return total;
}

}  // namespace attest
