#include "diagnosis/kernel.hpp"

#include "product_of.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace attest::reference::diagnosis {
namespace {

// A fault may make a kernel's honest errors larger than the right kernel's: a row that sees one key too many
// sums one more.
constexpr double kSlack = 4;

// The part of the error, in squares, that a cause may leave: what explains less is another fault. Where it
// comes no nearer than what is allowed it must be the fault beyond doubt.
constexpr double kMostLeft = 1e-2, kMostLeftBeyond = 1e-6;

// A broadcast tensor at [b, h, i, j]; nothing for a column it does not cover.
const double* element(const Broadcast& tensor, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    const std::size_t place[4] = {j, i, h, b};
    std::size_t offset = 0, stride = 1;
    const std::size_t rank = tensor.shape.size();
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::size_t extent = tensor.shape[rank - 1 - axis];
        if (extent != 1) {
            if (place[axis] >= extent) return nullptr;
            offset += place[axis] * stride;
        }
        stride *= extent;
    }
    return tensor.values.data() + offset;
}

}  // namespace

Yardstick::Yardstick(const Evidence& evidence) : evidence_(evidence) {
    double worst_ratio = -1;
    for (std::size_t n = 0; n < evidence.got.size(); ++n) {
        const double allowed = evidence.allowed[n];
        if (std::isfinite(allowed)) fallback_ = std::max(fallback_, allowed);
        const double error = std::fabs(evidence.got[n] - evidence.want[n]);
        if (error <= allowed) continue;
        refused_ = true;
        const double ratio =
            std::isfinite(error) && allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
        if (ratio > worst_ratio) {
            worst_ratio = ratio;
            worst_ = n;
        }
    }
}

std::optional<double> Yardstick::near(std::size_t index, double suspected) const {
    const double got = evidence_.got[index];
    if (std::isnan(got) || std::isnan(suspected))
        return std::isnan(got) && std::isnan(suspected) ? std::optional(0.0) : std::nullopt;
    const double distance = got == suspected ? 0 : std::fabs(got - suspected);
    const double allowed = evidence_.allowed[index];
    const double measure = allowed > 0 && std::isfinite(allowed) ? allowed : fallback_;
    if (!(distance <= kSlack * measure)) return std::nullopt;
    if (refused_ && index == worst_ && distance > std::fabs(got - evidence_.want[index]) / 2)
        return std::nullopt;
    return distance == 0 ? 0 : distance / measure;
}

bool Yardstick::wrong(std::size_t index) const noexcept {
    return !(std::fabs(evidence_.got[index] - evidence_.want[index]) <= evidence_.allowed[index]);
}

class Tally {
  public:
    explicit Tally(const Yardstick& yardstick) : yardstick_(yardstick) {}

    // add gives false once an element differs.
    bool add(std::size_t index, double suspected) {
        const auto ratio = yardstick_.near(index, suspected);
        if (!ratio) return false;
        fit_.ratio = std::max(fit_.ratio, *ratio);
        const Evidence& evidence = yardstick_.evidence();
        const double got = evidence.got[index];
        if (!yardstick_.wrong(index) || !std::isfinite(got) || !std::isfinite(suspected)) return true;
        const double error = got - evidence.want[index], left = got - suspected;
        fit_.error += error * error;
        fit_.left += left * left;
        return true;
    }

    std::optional<Fit> fit() const {
        const double most = fit_.ratio > 1 ? kMostLeftBeyond : kMostLeft;
        return fit_.left <= most * fit_.error ? std::optional(fit_) : std::nullopt;
    }

  private:
    const Yardstick& yardstick_;
    Fit fit_;
};

Kernel::Kernel(const Problem& problem, const Suspect& suspect, double bias_lowest, Stock& stock)
    : problem_(problem), suspect_(suspect), lowest_(bias_lowest) {
    if (const auto* rotary = std::get_if<Rotary>(&problem)) {
        turned_ = turned(*rotary, suspect.q_turning);
        return;
    }
    layer_ = std::get_if<Layer>(&problem);
    if (layer_ != nullptr) {
        operands_ = operands_of(*layer_, suspect, stock);
        core_ = {.batch = layer_->batch, .heads = layer_->heads, .kv_heads = layer_->kv_heads};
        core_.length = core_.keys = layer_->length;
        core_.width = core_.value_width = layer_->head_width;
        core_.causal = true;
    } else {
        core_ = std::get<Core>(problem);
        operands_ = operands_of(core_, suspect, stock);
    }
    scale_ = suspect.scale.value_or(core_.scale.value_or(1 / std::sqrt(static_cast<double>(core_.width))));
    if (!suspect.y_flat) return;
    Row row;
    for (std::size_t b = 0; b < core_.batch; ++b)
        for (std::size_t h = 0; h < core_.heads; ++h)
            for (std::size_t i = 0; i < core_.length; ++i) {
                attend(b, h, i, row);
                merged_.insert(merged_.end(), row.mixed.begin(), row.mixed.end());
            }
}

std::size_t Kernel::group_of(std::size_t head, HeadMap map) const {
    const std::size_t group = head / (core_.heads / core_.kv_heads);
    switch (map) {
        case HeadMap::modulo:
            return head % core_.kv_heads;
        case HeadMap::first:
            return 0;
        case HeadMap::next:
            return (group + 1) % core_.kv_heads;
        case HeadMap::told:
            break;
    }
    return group;
}

bool Kernel::sees(std::size_t b, std::size_t h, std::size_t i, std::size_t column, double& bias) const {
    bias = 0;
    const auto past = static_cast<std::int64_t>(core_.past), length = static_cast<std::int64_t>(core_.length);
    const auto j = static_cast<std::int64_t>(column), row = static_cast<std::int64_t>(i);
    const bool has_lengths = !core_.kv_lengths.empty() && suspect_.lengths != Lengths::ignored;
    std::int64_t limit = has_lengths ? core_.kv_lengths[b] : 0;
    if (suspect_.lengths == Lengths::one_more) ++limit;
    if (suspect_.lengths == Lengths::one_less) --limit;
    if (has_lengths && j >= limit) return false;
    if (suspect_.past == Past::ignored && j < past) return false;

    bool causal = core_.causal;
    std::int64_t offset = core_.past != 0 ? past : (has_lengths ? limit - length : 0);
    if (suspect_.frontier == Frontier::open) causal = false;
    if (suspect_.frontier == Frontier::causal) causal = true;
    if (suspect_.frontier == Frontier::top_left) offset = 0;
    if (suspect_.frontier == Frontier::bottom_right)
        offset = past + static_cast<std::int64_t>(core_.keys) - length;
    if (suspect_.frontier == Frontier::one_more) ++offset;
    if (suspect_.frontier == Frontier::one_less) --offset;
    if (causal && j > row + offset) return false;

    if (core_.mask && suspect_.masking != Masking::ignored) {
        const double* const mask = element(*core_.mask, b, h, i, column);
        const bool visible = mask != nullptr && *mask != 0;
        if (suspect_.masking == Masking::added) {
            bias = visible ? 1 : 0;
        } else if (visible == (suspect_.masking == Masking::inverted)) {
            return false;
        }
    }
    if (core_.bias && suspect_.biasing != Biasing::ignored) {
        const double* const added = element(*core_.bias, b, h, i, column);
        if (added == nullptr || *added <= lowest_) return false;
        bias = *added;
        if (suspect_.biasing == Biasing::doubled) bias *= 2;
        if (suspect_.biasing == Biasing::negated) bias = -bias;
        if (suspect_.biasing == Biasing::scaled) bias *= scale_;
    }
    return true;
}

double Kernel::score(const double* q, const double* k, double bias, bool hidden) const {
    const double cap = core_.softcap.value_or(0);
    const Capping capping = core_.softcap ? suspect_.capping : Capping::ignored;
    if (hidden) return capping == Capping::over_hidden ? -cap : 0;
    const double dotted = product_of(q, k, core_.width);
    switch (capping) {
        case Capping::ignored:
            return dotted * scale_ + bias;
        case Capping::after_bias:
        case Capping::over_hidden:
            return cap * std::tanh((dotted * scale_ + bias) / cap);
        case Capping::before_scale:
            return cap * std::tanh(dotted / cap) * scale_ + bias;
        case Capping::without_factor:
            return std::tanh(dotted * scale_ / cap) + bias;
        case Capping::told:
            break;
    }
    return cap * std::tanh(dotted * scale_ / cap) + bias;
}

void Kernel::attend(std::size_t b, std::size_t h, std::size_t i, Row& row) const {
    const std::size_t columns = operands_.k->rows;
    const std::size_t group = group_of(h, suspect_.heads), from = suspect_.batch_zero ? 0 : b;
    const std::size_t value_group = group_of(h, suspect_.value_heads.value_or(suspect_.heads));
    const bool all = suspect_.masking == Masking::scores_zeroed ||
                     suspect_.masking == Masking::after_softmax || suspect_.capping == Capping::over_hidden;
    row.weights.assign(columns, 0);
    row.mixed.assign(core_.value_width, 0);
    std::vector<std::size_t> at;
    std::vector<double> scores;
    std::vector<bool> hidden;
    for (std::size_t j = 0; j < columns; ++j) {
        double bias = 0;
        const bool seen = sees(b, h, i, j, bias);
        if (!seen && !all) continue;
        const bool scored = seen || suspect_.masking == Masking::after_softmax;
        at.push_back(j);
        hidden.push_back(!seen);
        scores.push_back(score(operands_.q->at(b, h, i), operands_.k->at(from, group, j), bias, !scored));
    }
    if (suspect_.last_key_dropped && !at.empty()) {
        at.pop_back();
        scores.pop_back();
    }
    if (suspect_.first_key_dropped && !at.empty()) {
        at.erase(at.begin());
        scores.erase(scores.begin());
        hidden.erase(hidden.begin());
    }
    if (suspect_.last_key_twice && !at.empty()) {
        at.push_back(at.back());
        scores.push_back(scores.back());
        hidden.push_back(hidden.back());
    }
    if (suspect_.stale_key && !at.empty() && at.back() > 0) {
        double bias = 0;
        (void)sees(b, h, i, at.back(), bias);
        scores.back() =
            score(operands_.q->at(b, h, i), operands_.k->at(from, group, at.back() - 1), bias, false);
    }
    if (suspect_.softmax == Softmax::uniform) std::fill(scores.begin(), scores.end(), 0);
    if (at.empty() && suspect_.unseeing != Unseeing::zero)
        for (std::size_t j = 0; j < columns; ++j) {
            at.push_back(j);
            hidden.push_back(false);
            scores.push_back(suspect_.unseeing == Unseeing::mean ? 0 : std::nan(""));
        }
    if (at.empty()) return;
    const bool empty_slot = suspect_.softmax == Softmax::empty_slot;
    double maximum = *std::max_element(scores.begin(), scores.end());
    if (empty_slot) maximum = std::max(maximum, 0.0);
    double denominator = empty_slot ? std::exp(-maximum) : 0;
    for (double& value : scores)
        denominator += value =
            suspect_.softmax == Softmax::base_two ? std::exp2(value - maximum) : std::exp(value - maximum);
    if (suspect_.softmax == Softmax::undivided) denominator = 1;
    for (std::size_t n = 0; n < at.size(); ++n) {
        if (suspect_.masking == Masking::after_softmax && hidden[n]) continue;
        std::size_t value_at = at[n];
        if (suspect_.stale_value && n + 1 == at.size() && value_at > 0) --value_at;
        const double weight = scores[n] / denominator;
        row.weights[at[n]] += weight;
        const double* const v = operands_.v->at(from, value_group, value_at);
        for (std::size_t f = 0; f < row.mixed.size(); ++f)
            row.mixed[f] += weight * v[f];
    }
}

namespace {

std::optional<Fit> compare_all(const Yardstick& yardstick, const std::vector<double>& suspected) {
    if (suspected.size() != yardstick.evidence().got.size()) return std::nullopt;
    Tally tally(yardstick);
    for (std::size_t n = 0; n < suspected.size(); ++n)
        if (!tally.add(n, suspected[n])) return std::nullopt;
    return tally.fit();
}

}  // namespace

bool Kernel::row_of_y(Tally& tally, std::size_t b, std::size_t i) const {
    const std::size_t heads = core_.heads, rows = core_.length, width = core_.value_width;
    std::vector<double> merged(heads * width);
    Row row;
    for (std::size_t h = 0; h < heads; ++h) {
        // An answer [heads, rows, width] read as [rows, heads · width]: element by element from elsewhere.
        if (!merged_.empty()) {
            const std::size_t from = b * heads * rows * width + (i * heads + h) * width;
            std::copy_n(merged_.begin() + static_cast<std::ptrdiff_t>(from), width,
                        merged.begin() + static_cast<std::ptrdiff_t>(h * width));
            continue;
        }
        attend(b, h, i, row);
        for (std::size_t f = 0; f < width; ++f)
            merged[suspect_.width_first ? f * heads + h : h * width + f] = row.mixed[f];
    }
    if (layer_ == nullptr) {
        for (std::size_t h = 0; h < heads; ++h)
            for (std::size_t f = 0; f < width; ++f)
                if (!tally.add(((b * heads + h) * rows + i) * width + f,
                               suspect_.factor * merged[h * width + f]))
                    return false;
        return true;
    }
    for (std::size_t o = 0; o < layer_->width; ++o) {
        double y = 0;
        if (suspect_.unprojected) {
            y = merged[o];
        } else if (suspect_.wo_transposed) {
            for (std::size_t f = 0; f < merged.size(); ++f)
                y += layer_->wo[f * layer_->width + o] * merged[f];
        } else {
            y = product_of(layer_->wo.data() + o * merged.size(), merged.data(), merged.size());
        }
        if (!tally.add((b * rows + i) * layer_->width + o, suspect_.factor * y)) return false;
    }
    return true;
}

std::optional<Fit> Kernel::explains_y(const Yardstick& yardstick) const {
    // Where the most wrong element lies: most suspects are cleared there.
    const std::size_t rows = core_.length;
    const std::size_t worst = yardstick.worst();
    std::size_t b = 0, i = 0;
    if (layer_ != nullptr) {
        b = worst / (rows * layer_->width);
        i = worst / layer_->width % rows;
    } else {
        b = worst / (core_.heads * rows * core_.value_width);
        i = worst / core_.value_width % rows;
    }
    Tally first(yardstick), all(yardstick);
    if (!row_of_y(first, b, i)) return std::nullopt;
    for (std::size_t batch = 0; batch < core_.batch; ++batch)
        for (std::size_t row = 0; row < rows; ++row)
            if (!row_of_y(all, batch, row)) return std::nullopt;
    return all.fit();
}

std::optional<Fit> Kernel::explains_weights(const Yardstick& yardstick) const {
    Tally tally(yardstick);
    Row row;
    const std::size_t columns = operands_.k->rows;
    for (std::size_t b = 0; b < core_.batch; ++b)
        for (std::size_t h = 0; h < core_.heads; ++h)
            for (std::size_t i = 0; i < core_.length; ++i) {
                attend(b, h, i, row);
                const std::size_t first = ((b * core_.heads + h) * core_.length + i) * columns;
                for (std::size_t j = 0; j < columns; ++j)
                    if (!tally.add(first + j, row.weights[j])) return std::nullopt;
            }
    return tally.fit();
}

std::optional<Fit> Kernel::explains(const Yardstick& yardstick) const {
    const std::string_view name = yardstick.evidence().name;
    if (std::holds_alternative<Rotary>(problem_)) {
        std::vector<double> y = turned_.data;
        for (double& value : y)
            value *= suspect_.factor;
        return compare_all(yardstick, y);
    }
    if (name == "y") return explains_y(yardstick);
    if (name == "weights") return explains_weights(yardstick);
    const bool of_keys = name == "keys" || name == "present_k";
    const Block& block = of_keys ? *operands_.k : *operands_.v;
    if (of_keys ? suspect_.keys_laid_flat : suspect_.values_laid_flat) {
        Block laid = block;
        flatten(laid);
        return compare_all(yardstick, laid.data);
    }
    return compare_all(yardstick, block.data);
}

}  // namespace attest::reference::diagnosis
