#include "diagnosis/suspect.hpp"

#include <cmath>

// The suspects. Within a group the first is the one met most often; the groups of masks, heads and layouts
// come before what only a damaged kernel does. A row here is all it takes to suspect something new.
namespace attest::reference::diagnosis {
namespace {

enum Group : int {
    kHeads,
    kLayout,
    kFrontier,
    kMask,
    kBias,
    kSoftcap,
    kScale,
    kLengths,
    kPast,
    kTurnQ,
    kTurnK,
    kWeights,
    kSoftmax,
    kStale,
    kUnseeing,
    kAnswer,
};

const Core* core_in(const Problem& problem) {
    return std::get_if<Core>(&problem);
}
const Layer* layer_in(const Problem& problem) {
    return std::get_if<Layer>(&problem);
}
const Rotary* rotary_in(const Problem& problem) {
    return std::get_if<Rotary>(&problem);
}
bool attends(const Problem& problem) {
    return rotary_in(problem) == nullptr;
}
bool is_layer(const Problem& problem) {
    return layer_in(problem) != nullptr;
}
Rope rope_of(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->rope;
    if (const Rotary* rotary = rotary_in(problem)) return rotary->rope;
    return {};
}
std::size_t width_of(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->head_width;
    if (const Rotary* rotary = rotary_in(problem)) return rotary->width;
    return core_in(problem)->width;
}
bool turns(const Problem& problem) {
    return rope_of(problem).width != 0;
}
bool turns_by_angles(const Problem& problem) {
    const Rotary* const rotary = rotary_in(problem);
    return turns(problem) && (rotary == nullptr || rotary->cosines.empty());
}
bool turns_in_a_layer(const Problem& problem) {
    return is_layer(problem) && turns(problem);
}
bool is_grouped(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->kv_heads != layer->heads;
    const Core* const core = core_in(problem);
    return core != nullptr && core->kv_heads != core->heads;
}
bool has_kv_heads(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->kv_heads > 1;
    const Core* const core = core_in(problem);
    return core != nullptr && core->kv_heads > 1;
}
std::size_t heads_of(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->heads;
    const Core* const core = core_in(problem);
    return core != nullptr ? core->heads : 0;
}
bool has_heads(const Problem& problem) {
    return heads_of(problem) > 1;
}
double scale_of(const Problem& problem) {
    const Core* const core = core_in(problem);
    if (core != nullptr && core->scale) return *core->scale;
    return 1 / std::sqrt(static_cast<double>(width_of(problem)));
}
bool has_scale(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->scale.has_value();
}
bool is_causal(const Problem& problem) {
    return is_layer(problem) || (core_in(problem) != nullptr && core_in(problem)->causal);
}
bool is_open(const Problem& problem) {
    return core_in(problem) != nullptr && !core_in(problem)->causal;
}
bool has_mask(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->mask.has_value();
}
bool has_bias(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->bias.has_value();
}
bool hides(const Problem& problem) {
    return is_causal(problem) || has_mask(problem) || has_bias(problem);
}
bool has_softcap(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->softcap.has_value();
}
bool has_lengths(const Problem& problem) {
    return core_in(problem) != nullptr && !core_in(problem)->kv_lengths.empty();
}
bool has_past(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->past != 0;
}
bool has_batches(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->batch > 1;
    return core_in(problem) != nullptr && core_in(problem)->batch > 1;
}
bool has_equal_widths(const Problem& problem) {
    return core_in(problem) != nullptr && core_in(problem)->width == core_in(problem)->value_width;
}
bool starts_late(const Problem& problem) {
    if (const Layer* layer = layer_in(problem)) return layer->first_position != 0 && turns(problem);
    const Rotary* const rotary = rotary_in(problem);
    return rotary != nullptr && !rotary->positions.empty();
}
bool has_square_queries(const Problem& problem) {
    const Layer* const layer = layer_in(problem);
    return layer != nullptr && layer->heads * layer->head_width == layer->width;
}
bool has_square_keys(const Problem& problem) {
    const Layer* const layer = layer_in(problem);
    return layer != nullptr && layer->kv_heads * layer->head_width == layer->width;
}
bool has_one_shape(const Problem& problem) {
    return is_layer(problem) && !is_grouped(problem);
}
bool turns_a_part(const Problem& problem) {
    return turns_by_angles(problem) && rope_of(problem).width != width_of(problem);
}

// Rotations of queries and keys alike.
template <class F>
Suspect both(Suspect s, F change) {
    change(s.q_turning);
    change(s.k_turning);
    return s;
}

#define PLANT(...)                                                      \
    [](Suspect s, [[maybe_unused]] const Problem& problem) -> Suspect { \
        __VA_ARGS__;                                                    \
        return s;                                                       \
    }
#define TURN(...) \
    [](Suspect s, const Problem&) -> Suspect { return both(s, [](Turning& t) { __VA_ARGS__; }); }

}  // namespace

const std::vector<Fault>& faults() {
    static const std::vector<Fault> all{
        {"query heads mapped by h mod Hkv", kHeads, true, PLANT(s.heads = HeadMap::modulo), is_grouped},
        {"every query head reads key/value head 0", kHeads, true, PLANT(s.heads = HeadMap::first),
         has_kv_heads},
        {"query heads read the next group's key/value head", kHeads, true, PLANT(s.heads = HeadMap::next),
         has_kv_heads},

        {"values alone mapped by h mod Hkv", kHeads, true, PLANT(s.value_heads = HeadMap::modulo),
         is_grouped},

        {"q, k and v reshaped where they had to be transposed", kLayout, true,
         PLANT(s.q_flat = s.k_flat = s.v_flat = true), has_heads},
        {"q, k, v and the answer reshaped where they had to be transposed", kLayout, true,
         PLANT(s.q_flat = s.k_flat = s.v_flat = s.y_flat = true), has_heads},
        {"the answer reshaped where heads and rows had to be transposed", kLayout, true,
         PLANT(s.y_flat = true), has_heads},
        {"q reshaped where heads and rows had to be transposed", kLayout, true, PLANT(s.q_flat = true),
         has_heads},
        {"k reshaped where heads and rows had to be transposed", kLayout, true, PLANT(s.k_flat = true),
         has_kv_heads},
        {"v reshaped where heads and rows had to be transposed", kLayout, true, PLANT(s.v_flat = true),
         has_kv_heads},
        {"k and v reshaped where heads and rows had to be transposed", kLayout, true,
         PLANT(s.k_flat = s.v_flat = true), has_kv_heads},
        {"keys handed over as [batch, row, head, feature]", kLayout, true, PLANT(s.keys_laid_flat = true),
         has_kv_heads},
        {"values handed over as [batch, row, head, feature]", kLayout, true, PLANT(s.values_laid_flat = true),
         has_kv_heads},
        {"keys and values handed over as [batch, row, head, feature]", kLayout, true,
         PLANT(s.keys_laid_flat = s.values_laid_flat = true), has_kv_heads},
        {"heads interleaved: feature f of head h at f*H + h", kLayout, true, PLANT(s.width_first = true),
         [](const Problem& p) { return is_layer(p) && has_heads(p); }},
        {"keys and values exchanged", kLayout, false, PLANT(s.keys_for_values = true), has_equal_widths},
        {"every batch reads the keys and values of batch 0", kLayout, false, PLANT(s.batch_zero = true),
         has_batches},

        {"causal mask ignored", kFrontier, true, PLANT(s.frontier = Frontier::open), is_causal},
        {"causal though told not to be", kFrontier, true, PLANT(s.frontier = Frontier::causal), is_open},
        {"causal mask ignores the past (aligned top left)", kFrontier, true,
         PLANT(s.frontier = Frontier::top_left),
         [](const Problem& p) { return is_causal(p) && (has_past(p) || has_lengths(p)); }},
        {"causal mask aligned bottom right", kFrontier, true, PLANT(s.frontier = Frontier::bottom_right),
         [](const Problem& p) { return core_in(p) != nullptr && is_causal(p); }},
        {"frontier off by one: a row sees one key too many", kFrontier, true,
         PLANT(s.frontier = Frontier::one_more), is_causal},
        {"frontier off by one: a row does not see its own key", kFrontier, true,
         PLANT(s.frontier = Frontier::one_less), is_causal},

        {"mask ignored", kMask, true, PLANT(s.masking = Masking::ignored), has_mask},
        {"mask of the other polarity: true taken for hidden", kMask, true,
         PLANT(s.masking = Masking::inverted), has_mask},
        {"mask added to the scores as 0 and 1", kMask, true, PLANT(s.masking = Masking::added), has_mask},
        {"hidden scores set to 0 instead of -inf", kMask, false, PLANT(s.masking = Masking::scores_zeroed),
         hides},
        {"hidden keys zeroed after the softmax", kMask, false, PLANT(s.masking = Masking::after_softmax),
         hides},

        {"bias ignored", kBias, true, PLANT(s.biasing = Biasing::ignored), has_bias},
        {"bias added twice", kBias, true, PLANT(s.biasing = Biasing::doubled), has_bias},
        {"bias added before the scale", kBias, true, PLANT(s.biasing = Biasing::scaled), has_bias},
        {"bias subtracted", kBias, true, PLANT(s.biasing = Biasing::negated), has_bias},

        {"softcap after mask and bias", kSoftcap, true, PLANT(s.capping = Capping::after_bias), has_softcap},
        {"softcap after mask and bias: hidden keys stay at -softcap", kSoftcap, true,
         PLANT(s.capping = Capping::over_hidden), has_softcap},
        {"softcap ignored", kSoftcap, true, PLANT(s.capping = Capping::ignored), has_softcap},
        {"softcap before the scale", kSoftcap, true, PLANT(s.capping = Capping::before_scale), has_softcap},
        {"softcap's tanh not multiplied by the cap", kSoftcap, true,
         PLANT(s.capping = Capping::without_factor), has_softcap},

        {"scale missing", kScale, true, PLANT(s.scale = 1), attends},
        {"scale applied twice", kScale, true, PLANT(s.scale = scale_of(problem) * scale_of(problem)),
         attends},
        {"scale told but 1/sqrt(d) used", kScale, true,
         PLANT(s.scale = 1 / std::sqrt(static_cast<double>(width_of(problem)))), has_scale},
        {"1/d in place of the scale", kScale, true,
         PLANT(s.scale = 1 / static_cast<double>(width_of(problem))), attends},
        {"square root of the scale, once", kScale, true,
         PLANT(s.scale = std::sqrt(std::fabs(scale_of(problem)))), attends},
        {"1/sqrt(H*d) in place of the scale", kScale, true,
         PLANT(s.scale = 1 / std::sqrt(static_cast<double>(width_of(problem) * heads_of(problem)))),
         has_heads},
        {"1/sqrt of the model's width in place of the scale", kScale, true,
         PLANT(s.scale = 1 / std::sqrt(static_cast<double>(layer_in(problem)->width))),
         [](const Problem& p) {
             return is_layer(p) && layer_in(p)->width != width_of(p) &&
                    layer_in(p)->width != width_of(p) * heads_of(p);
         }},
        {"1/sqrt of the values' width in place of the scale", kScale, true,
         PLANT(s.scale = 1 / std::sqrt(static_cast<double>(core_in(problem)->value_width))),
         [](const Problem& p) { return core_in(p) != nullptr && !has_equal_widths(p); }},
        {"1/sqrt(d-1) in place of the scale", kScale, true,
         PLANT(s.scale = 1 / std::sqrt(static_cast<double>(width_of(problem)) - 1)),
         [](const Problem& p) { return attends(p) && width_of(p) > 1; }},
        {"exp2 in place of exp", kScale, false, PLANT(s.softmax = Softmax::base_two), attends},
        {"scores multiplied by log2(e) before exp", kScale, false,
         PLANT(s.scale = scale_of(problem) * 1.4426950408889634), attends},

        {"kv_lengths ignored", kLengths, true, PLANT(s.lengths = Lengths::ignored), has_lengths},
        {"kv_lengths off by one: one key too many", kLengths, true, PLANT(s.lengths = Lengths::one_more),
         has_lengths},
        {"kv_lengths off by one: one key too few", kLengths, true, PLANT(s.lengths = Lengths::one_less),
         has_lengths},
        {"past keys and values ignored", kPast, true, PLANT(s.past = Past::ignored), has_past},
        {"past keys and values put behind the new ones", kPast, true, PLANT(s.past = Past::behind), has_past},

        {"the other pair convention", kTurnQ, true, TURN(t.other_pairs = true), turns},
        {"queries rotated by the other pair convention", kTurnQ, true, PLANT(s.q_turning.other_pairs = true),
         turns_in_a_layer},
        {"keys rotated by the other pair convention", kTurnK, true, PLANT(s.k_turning.other_pairs = true),
         turns_in_a_layer},
        {"values rotated", kTurnK, true, PLANT(s.values_turned = true), turns_in_a_layer},
        {"nothing rotated", kTurnQ, true, TURN(t.off = true), turns},
        {"keys not rotated", kTurnK, true, PLANT(s.k_turning.off = true), turns_in_a_layer},
        {"queries not rotated", kTurnQ, true, PLANT(s.q_turning.off = true), turns_in_a_layer},
        {"the newest key not rotated", kTurnK, true, PLANT(s.k_turning.newest_off = true), turns_in_a_layer},
        {"the newest query not rotated", kTurnQ, true, PLANT(s.q_turning.newest_off = true),
         turns_in_a_layer},
        {"the newest query and key not rotated", kTurnQ, true, TURN(t.newest_off = true), turns_in_a_layer},
        {"positions one too far", kTurnQ, true, TURN(t.shift = 1), turns},
        {"positions one too few", kTurnQ, true, TURN(t.shift = -1), turns},
        {"queries rotated one position too far", kTurnQ, true, PLANT(s.q_turning.shift = 1),
         turns_in_a_layer},
        {"queries rotated one position too few", kTurnQ, true, PLANT(s.q_turning.shift = -1),
         turns_in_a_layer},
        {"keys rotated one position too far", kTurnK, true, PLANT(s.k_turning.shift = 1), turns_in_a_layer},
        {"keys rotated one position too few", kTurnK, true, PLANT(s.k_turning.shift = -1), turns_in_a_layer},
        {"positions counted from 0", kTurnQ, true, TURN(t.from_zero = true), starts_late},
        {"rotated the other way round", kTurnQ, true, TURN(t.backwards = true), turns},
        {"rotated twice", kTurnQ, true, TURN(t.twice = true), turns},
        {"keys rotated twice", kTurnK, true, PLANT(s.k_turning.twice = true), turns_in_a_layer},
        {"cosine and sine exchanged", kTurnQ, true, TURN(t.crossed = true), turns},
        {"rope_base ignored: 10000 used", kTurnQ, true, TURN(t.base = 1e4), turns_by_angles},
        {"rope_base ignored: 500000 used", kTurnQ, true, TURN(t.base = 5e5), turns_by_angles},
        {"rope_base ignored: 1000000 used", kTurnQ, true, TURN(t.base = 1e6), turns_by_angles},
        {"the whole head rotated", kTurnQ, true, TURN(t.whole_head = true), turns_a_part},
        {"frequencies of the head's width in place of rope_width", kTurnQ, true, TURN(t.by_head_width = true),
         turns_a_part},
        {"frequencies base^(-i/w) in place of base^(-2i/w)", kTurnQ, true, TURN(t.exponent_halved = true),
         turns_by_angles},

        {"wq transposed", kWeights, true, PLANT(s.wq_transposed = true), has_square_queries},
        {"wk transposed", kWeights, true, PLANT(s.wk_transposed = true), has_square_keys},
        {"wv transposed", kWeights, true, PLANT(s.wv_transposed = true), has_square_keys},
        {"wo transposed", kWeights, true, PLANT(s.wo_transposed = true), has_square_queries},
        {"every weight transposed", kWeights, true,
         PLANT(s.wq_transposed = s.wk_transposed = s.wv_transposed = s.wo_transposed = true),
         has_square_keys},
        {"wq and wk exchanged", kWeights, true, PLANT(s.q_from = Projection::wk; s.k_from = Projection::wq),
         has_one_shape},
        {"wk and wv exchanged", kWeights, true, PLANT(s.k_from = Projection::wv; s.v_from = Projection::wk),
         is_layer},
        {"output projection left out", kWeights, true, PLANT(s.unprojected = true), has_square_queries},

        {"the newest key is the one before it", kStale, true, PLANT(s.stale_key = true), attends},
        {"the newest value is the one before it", kStale, true, PLANT(s.stale_value = true), attends},
        {"the newest key and value are those before them", kStale, true,
         PLANT(s.stale_key = s.stale_value = true), attends},
        {"last key dropped", kStale, true, PLANT(s.last_key_dropped = true), attends},
        {"first key dropped", kStale, true, PLANT(s.first_key_dropped = true), attends},
        {"last key counted twice", kStale, true, PLANT(s.last_key_twice = true), attends},
        {"an empty slot seen: one more key with score 0", kStale, true,
         PLANT(s.softmax = Softmax::empty_slot), attends},
        {"uniform weights", kSoftmax, true, PLANT(s.softmax = Softmax::uniform), attends},
        {"weights not divided by their sum", kSoftmax, true, PLANT(s.softmax = Softmax::undivided), attends},
        {"a row that sees nothing is divided by its empty sum", kUnseeing, true,
         PLANT(s.unseeing = Unseeing::not_a_number), hides},
        {"a row that sees nothing gives the mean of all values", kUnseeing, true,
         PLANT(s.unseeing = Unseeing::mean), hides},

        {"zeros", kAnswer, false, PLANT(s.factor = 0), [](const Problem&) { return true; }},
        {"negated", kAnswer, false, PLANT(s.factor = -1), [](const Problem&) { return true; }},
        {"doubled", kAnswer, false, PLANT(s.factor = 2), [](const Problem&) { return true; }},
        {"halved", kAnswer, false, PLANT(s.factor = 0.5), [](const Problem&) { return true; }},
    };
    return all;
}

}  // namespace attest::reference::diagnosis
