// The trace of one case: every row through the cache, beside the full prefix, with what the cache then holds.
#pragma once

#include <attest/attest.hpp>
#include <attest/case/case.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace attest::properties {

// TraceStep is one row appended. Numbers are widened to double, which is exact.
struct TraceStep {
    Work work;
    std::size_t cache_before = 0;
    std::size_t cache_after = 0;
    std::vector<double> keys;         // [B, Hkv, t, d], the cache after the step
    std::vector<double> values;       // [B, Hkv, t, d]
    std::vector<double> weights;      // [B, H, 1, t]
    std::vector<double> output;       // [B, 1, D]
    std::vector<double> full_prefix;  // [B, 1, D], from a call that never saw the cache
    double max_abs_diff = 0;

    friend bool operator==(const TraceStep&, const TraceStep&) = default;
};

struct ResetEvidence {
    std::size_t before = 0;
    std::size_t after = 0;
    bool allocation_reused = false;
    bool storage_unchanged = false;
    bool replay_identical = false;
};

// RefusalEvidence: the call was refused with the error it must meet, and the cache kept every byte.
struct RefusalEvidence {
    bool two_tokens = false;
    bool full_cache = false;
    bool model_mismatch = false;
    bool head_mismatch = false;
    bool layer_mismatch = false;
    bool rope_mismatch = false;
    bool rope_positions_mismatch = false;
    bool nonfinite_projection = false;
    bool unchanged = true;
};

struct Trace {
    AttentionGeometry geometry;
    std::size_t batch = 0;
    std::vector<TraceStep> steps;
    HistoryContrast history;
    ResetEvidence reset;
    RefusalEvidence refusals;
};

// trace_case runs every row of the case, one at a time whatever its steps say, on the case's own layer; then
// it resets and replays, then makes the calls that must be refused. The error is a sentence: what of the case
// the library refused.
std::expected<Trace, std::string> trace_case(const cases::Case& one);

// print_trace: a line a step, then work, reset and errors.
std::string print_trace(const Trace& trace);
// print_evidence: every row of every head with its weight, then outputs, row counts and history.
std::string print_evidence(const Trace& trace);

// The published fixture as a case, and the two reports published for it.
std::string_view fixture_case();
std::string_view published_trace();
std::string_view published_evidence();

}  // namespace attest::properties
