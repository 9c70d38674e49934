#include "attention_heads.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "finite.hpp"

namespace attest::detail {
namespace {

// Pieces that a single row's work is cut into at most, when there are fewer key/value heads than that.
constexpr std::size_t kMaxSplits = 32;

// Query rows that one piece of a prefill takes.
constexpr std::size_t kQueryRows = 32;

// Keys and values of a step of up to so many bytes are expected where a core reads them best in one run, and
// of up to so many in a cache at all; more come from memory, step after step.
constexpr std::size_t kNearBytes = std::size_t{8} << 20;
constexpr std::size_t kCachedBytes = std::size_t{16} << 20;

// Rows [begin, end) of positions, across both runs.
template <class T>
PositionRows<T> slice(const PositionRows<T>& all, std::size_t begin, std::size_t end) {
    const std::size_t retained = all.retained.count;
    const std::size_t stored = std::min(begin, retained);
    const std::size_t first = std::clamp(begin, retained, all.size()) - retained;
    const std::size_t last = std::clamp(end, retained, all.size()) - retained;
    return {all.retained.part(stored, std::clamp(end, stored, retained)),
            {all.candidates.rows + first * all.candidates.stride, all.candidates.stride, last - first}};
}

// The smallest of what pieces report, whichever comes first: the failure that a serial walk would have met.
// The lock is taken by failures alone.
class FirstFailure {
  public:
    void report(std::size_t place) {
        const std::scoped_lock lock(mutex_);
        place_ = std::min(place_, place);
    }
    // After all pieces are done.
    [[nodiscard]] std::size_t place() const { return place_; }

  private:
    std::mutex mutex_;
    std::size_t place_ = SIZE_MAX;
};

template <class T>
class Heads {
  public:
    Heads(const RowsCall<T>& call, RowBuffers<T>& buffers, Tensor<T>* weights)
        : call_(call),
          buffers_(buffers),
          weights_(weights),
          width_(call.geometry.head_width),
          heads_(call.geometry.heads),
          group_(call.geometry.heads / call.geometry.kv_heads),
          lanes_(call.batch * call.geometry.kv_heads),
          longest_(call.prefix.length + call.rows),
          scale_(T(1) / std::sqrt(static_cast<T>(width_))) {}

    Result<void> run() {
        if (call_.rows == 1) {
            run_row();
        } else {
            run_rows();
        }
        const std::size_t failed = failure_.place();
        return failed == SIZE_MAX ? Result<void>() : explain(failed);
    }

  private:
    // Rows that query row `row` of key/value lane `lane` sees, by logical position: cached, then new ones.
    PositionRows<T> visible(const void* cached, const T* fresh, std::size_t lane, std::size_t row) const {
        const char* const first = static_cast<const char*>(cached) + lane * lane_bytes_;
        return {{first, width_, call_.prefix.length, call_.prefix.storage, reach_},
                {fresh + lane * call_.rows * width_, width_, row + 1}};
    }
    PositionRows<T> keys(std::size_t lane, std::size_t row) const {
        return visible(call_.prefix.keys, buffers_.keys.data(), lane, row);
    }
    PositionRows<T> values(std::size_t lane, std::size_t row) const {
        return visible(call_.prefix.values, buffers_.values.data(), lane, row);
    }
    const T* query(std::size_t head_lane, std::size_t row) const {
        return buffers_.queries.data() + (head_lane * call_.rows + row) * width_;
    }
    // [B, n, H, d]
    T* merged(std::size_t head_lane, std::size_t row) const {
        const std::size_t batch = head_lane / heads_;
        return buffers_.merged.data() + ((batch * call_.rows + row) * heads_ + head_lane % heads_) * width_;
    }

    // A row's scores fail before its output does.
    std::size_t place(std::size_t head_lane, std::size_t row, bool output) const {
        return (head_lane * call_.rows + row) * 2 + (output ? 1 : 0);
    }

    // The largest of a row's scores, and NaN where one is not finite, which is a failure.
    T peak(const T* scores, std::size_t positions, std::size_t head_lane, std::size_t row) {
        const T found = call_.kernels.peak(scores, positions);
        if (found != found) {
            failure_.report(place(head_lane, row, false));
        }
        return found;
    }

    // Scores become weights; returns their sum. At least one weight is exp(0) = 1 and none is negative: the
    // denominator is finite and ≥ 1.
    T soften(T* scores, std::size_t positions, std::size_t head_lane, std::size_t row) {
        const T maximum = peak(scores, positions, head_lane, row);
        call_.kernels.exponentials(scores, scores, positions, maximum);
        return call_.kernels.sum(scores, positions);
    }

    // A row of the output, which may be what was mixed.
    void divide(T* out, const T* mixed, T denominator, std::size_t head_lane, std::size_t row) {
        if (!call_.kernels.divide(out, mixed, width_, denominator)) {
            failure_.report(place(head_lane, row, true));
        }
    }

    // ---- one row: pieces are key/value heads, cut by position if they are few

    T* row_scores(std::size_t head_lane) const { return buffers_.scores.data() + head_lane * score_stride_; }
    std::size_t score_stride() const { return score_stride_; }
    // A slot's node, one partial sum a query, and then the scratch that made it.
    std::size_t node_size() const { return group_ * width_; }
    T* node(std::size_t slot) const { return buffers_.folds.data() + slot * node_stride_; }
    // What a slot knows of each query: the largest score among its own positions, then that of all, then the
    // sum of its weights.
    T* own_peaks(std::size_t slot) const { return buffers_.denominators.data() + slot * 3 * group_; }
    T* peaks(std::size_t slot) const { return own_peaks(slot) + group_; }
    T* totals(std::size_t slot) const { return own_peaks(slot) + 2 * group_; }

    // Some positions of a key/value head: the slot of what becomes of them, and where the scores of its first
    // query begin.
    struct Piece {
        std::size_t lane;
        std::size_t slot;
        T* scores;
    };

    void run_row() {
        const std::size_t splits = choose_splits();
        // Whole subtrees of the fold over blocks: 2^k blocks each, the last one maybe shorter.
        const std::size_t chunk = std::bit_ceil((block_count(longest_) + splits - 1) / splits) * kBlock;
        const std::size_t chunks = (longest_ + chunk - 1) / chunk;
        if (chunks == 1) {
            run_whole_lanes();
            return;
        }
        const auto part = [&](std::size_t number, const PositionRows<T>& all) {
            const std::size_t begin = number % chunks * chunk;
            return slice(all, begin, std::min(begin + chunk, longest_));
        };
        const auto piece = [&](std::size_t number) {
            const std::size_t lane = number / chunks;
            return Piece{lane, number, row_scores(lane * group_) + number % chunks * chunk};
        };
        auto score_chunk = [&](std::size_t number, std::size_t) {
            const Piece some = piece(number);
            score(some, part(number, keys(some.lane, 0)));
        };
        auto mix_chunk = [&](std::size_t number, std::size_t) {
            const Piece some = piece(number);
            join_peaks(number, some.lane * chunks, chunks);
            mix(some, part(number, values(some.lane, 0)), peaks(number));
        };
        run_pieces(call_.executor, lanes_ * chunks, score_chunk);
        run_pieces(call_.executor, lanes_ * chunks, mix_chunk);
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            fold_nodes(lane * chunks, chunks);
            finish(piece(lane * chunks));
        }
    }

    // A worker keeps to one slot, and one row of scores for each query of a group: they stay in his cache.
    // The slots lie as far from each other as there is room, so that workers seldom write to the same line of
    // a cache. If there are more workers than lanes, a lane has a slot of its own.
    void run_whole_lanes() {
        const std::size_t apart = lanes_ / call_.executor.workers();
        auto whole = [&](std::size_t lane, std::size_t worker) {
            const std::size_t slot = apart == 0 ? lane : worker * apart;
            const Piece all = {lane, slot, row_scores(slot * group_)};
            score(all, keys(lane, 0));
            mix(all, values(lane, 0), own_peaks(slot));
            finish(all);
        };
        run_pieces(call_.executor, lanes_, whole);
    }

    std::size_t choose_splits() const {
        const std::size_t workers = call_.executor.workers();
        const std::size_t blocks = block_count(longest_);
        if (workers == 1 || lanes_ % workers == 0 || lanes_ >= 4 * workers || 2 * lanes_ > kMaxSplits ||
            blocks < 4) {
            return 1;
        }
        return std::min({kMaxSplits / lanes_, 4 * workers, blocks / 2});
    }

    void score(const Piece& piece, const PositionRows<T>& keys) {
        call_.kernels.score_group(piece.scores, score_stride(), query(piece.lane * group_, 0), width_, group_,
                                  keys, width_, scale_);
        for (std::size_t member = 0; member < group_; ++member) {
            own_peaks(piece.slot)[member] =
                peak(piece.scores + member * score_stride(), keys.size(), piece.lane * group_ + member, 0);
        }
    }

    // The largest scores of all chunks. What a NaN among them gives is of no account.
    void join_peaks(std::size_t slot, std::size_t first, std::size_t count) {
        for (std::size_t member = 0; member < group_; ++member) {
            T most = own_peaks(first)[member];
            for (std::size_t other = first + 1; other < first + count; ++other)
                most = std::max(most, own_peaks(other)[member]);
            peaks(slot)[member] = most;
        }
    }

    void mix(const Piece& piece, const PositionRows<T>& values, const T* peaks) {
        T* const sums = node(piece.slot);
        call_.kernels.mix_soft(sums, width_, totals(piece.slot), piece.scores, score_stride(), group_, peaks,
                               values, width_, sums + node_size());
    }

    // Pairwise by index, a last odd one moves up unpaired.
    void fold_nodes(std::size_t first, std::size_t count) {
        for (std::size_t step = 1; step < count; step *= 2) {
            for (std::size_t left = 0; left + step < count; left += 2 * step) {
                add(node(first + left), node(first + left + step), node_size());
                add(totals(first + left), totals(first + left + step), group_);
            }
        }
    }
    static void add(T* sums, const T* right, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            sums[i] += right[i];
    }

    // At least one weight is exp(0) = 1 and none is negative: a denominator is finite and ≥ 1.
    void finish(const Piece& piece) {
        for (std::size_t member = 0; member < group_; ++member) {
            const std::size_t head_lane = piece.lane * group_ + member;
            const T denominator = totals(piece.slot)[member];
            divide(merged(head_lane, 0), node(piece.slot) + member * width_, denominator, head_lane, 0);
            keep_weights(head_lane, piece.scores + member * score_stride(), denominator);
        }
    }

    void keep_weights(std::size_t head_lane, const T* scores, T denominator) {
        if (weights_ == nullptr) {
            return;
        }
        T* const kept = weights_->span().data() + head_lane * longest_;
        for (std::size_t position = 0; position < longest_; ++position) {
            kept[position] = scores[position] / denominator;
        }
    }

    // ---- many rows: pieces are blocks of a query head's rows

    void run_rows() {
        const std::size_t blocks = (call_.rows + kQueryRows - 1) / kQueryRows;
        const std::size_t workers = call_.executor.workers();
        // The last rows see most, so they go first.
        auto block = [&](std::size_t piece, std::size_t worker) {
            const std::size_t head_lane = piece % (lanes_ * group_);
            const std::size_t first = (blocks - 1 - piece / (lanes_ * group_)) * kQueryRows;
            attend_block(head_lane, first, std::min(kQueryRows, call_.rows - first),
                         buffers_.scores.data() + worker * (buffers_.scores.size() / workers),
                         buffers_.folds.data() + worker * (buffers_.folds.size() / workers),
                         buffers_.denominators.data() + worker * kQueryRows);
        };
        run_pieces(call_.executor, blocks * lanes_ * group_, block);
    }

    void attend_block(std::size_t head_lane, std::size_t first, std::size_t count, T* scores, T* folds,
                      T* denominators) {
        const std::size_t lane = head_lane / group_;
        const std::size_t last = first + count - 1;
        // A row's scores beyond its own position are computed along with those of the later rows, and not
        // looked at.
        call_.kernels.score_group(scores, longest_, query(head_lane, first), width_, count, keys(lane, last),
                                  width_, scale_);
        for (std::size_t i = 0; i < count; ++i) {
            denominators[i] =
                soften(scores + i * longest_, call_.prefix.length + first + i + 1, head_lane, first + i);
        }
        call_.kernels.mix_group(merged(head_lane, first), heads_ * width_, scores, longest_, count,
                                values(lane, first), width_, folds, true);
        for (std::size_t i = 0; i < count; ++i) {
            T* const row = merged(head_lane, first + i);
            divide(row, row, denominators[i], head_lane, first + i);
        }
    }

    // ---- what went wrong at a place, by computing that row again

    Result<void> explain(std::size_t failed) {
        const std::size_t flat_row = failed / 2;
        const std::size_t head_lane = flat_row / call_.rows;
        const std::size_t row = flat_row % call_.rows;
        const std::size_t lane = head_lane / group_;
        T* const scores = buffers_.scores.data();
        const PositionRows<T> seen = keys(lane, row);
        call_.kernels.scores(scores, query(head_lane, row), seen, width_, scale_);
        if (failed % 2 == 0) {
            const auto found = first_nonfinite(scores, seen.size());
            return std::unexpected(NonFiniteScore{flat_row * longest_ + found->index, found->value});
        }
        const T maximum = call_.kernels.maximum(scores, seen.size());
        call_.kernels.exponentials(scores, scores, seen.size(), maximum);
        T* const out = merged(head_lane, row);
        call_.kernels.mix(out, scores, values(lane, row), width_, buffers_.folds.data());
        const auto found = first_nonfinite(out, width_);
        return std::unexpected(NonFiniteHeadOutput{flat_row * width_ + found->index, found->value});
    }

    const RowsCall<T>& call_;
    RowBuffers<T>& buffers_;
    Tensor<T>* weights_;
    std::size_t width_;
    std::size_t heads_;
    std::size_t group_;
    std::size_t lanes_;
    std::size_t longest_;
    T scale_;
    // Of a lane's slots in a cache.
    std::size_t lane_bytes_ = call_.prefix.capacity * width_ * element_bytes<T>(call_.prefix.storage);
    // Of one row's buffers.
    std::size_t score_stride_ = buffers_.scores.size() / (lanes_ * group_);
    std::size_t node_stride_ = buffers_.folds.size() / std::max(lanes_, kMaxSplits);
    // Whether the keys and values of all lanes take more bytes than that.
    [[nodiscard]] bool exceeds(std::size_t bytes) const {
        return longest_ * lanes_ * width_ > bytes / 2 / element_bytes<T>(call_.prefix.storage);
    }
    Reach reach_ = exceeds(kCachedBytes) ? Reach::memory : exceeds(kNearBytes) ? Reach::far : Reach::near;
    FirstFailure failure_;
};

}  // namespace

HeadRoom HeadRoom::of(const AttentionGeometry& geometry, std::size_t batch, std::size_t rows,
                      std::size_t positions, std::size_t workers) {
    const std::size_t fold_rows = mix_scratch_rows(positions);
    const std::size_t width = geometry.head_width;
    if (rows == 1) {
        const std::size_t group = geometry.heads / geometry.kv_heads;
        std::size_t lanes = 0;
        // Too many lanes for a slot each are too many for the buffers before this one as well.
        const bool overflow = __builtin_mul_overflow(batch, geometry.kv_heads, &lanes);
        const std::size_t slots = overflow ? SIZE_MAX : std::max(lanes, kMaxSplits);
        return {Shape{batch, geometry.heads, positions}, Shape{slots, group, fold_rows + 1, width},
                Shape{slots, 3, group}};
    }
    return {Shape{workers, kQueryRows, positions}, Shape{workers, kCausalGroup, fold_rows, width},
            Shape{workers, kQueryRows}};
}

template <class T>
Result<void> attend_heads(const RowsCall<T>& call, RowBuffers<T>& buffers, Tensor<T>* weights) {
    return Heads<T>(call, buffers, weights).run();
}

template Result<void> attend_heads(const RowsCall<float>&, RowBuffers<float>&, Tensor<float>*);
template Result<void> attend_heads(const RowsCall<double>&, RowBuffers<double>&, Tensor<double>*);

}  // namespace attest::detail
