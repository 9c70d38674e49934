// PyTorch's attention as a subject: its linear layers, its softmax and its matrix products, with a cache that
// grows by torch::cat, as decoders in the field do it. Built only where libtorch-dev is installed.
#include "attest/properties/attest_subject.h"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>

using torch::Tensor;

struct attest_layer {
    attest_layer_spec spec;
    std::array<Tensor, 4> weights;
    torch::Dtype type() const { return spec.type == ATTEST_FLOAT ? torch::kFloat32 : torch::kFloat64; }
};

struct attest_cache {
    const attest_layer* layer;
    int64_t batch, capacity, first;
    Tensor keys, values;  // [B, Hkv, length, d]
    int64_t length() const { return keys.size(2); }
};

namespace {

const attest_refusal kShape = {"Shape", "another batch or width"};
const attest_refusal kFull = {"Full", "no room for the rows"};
const attest_refusal kInfinite = {"NonFinite", "a number is not finite"};
const attest_refusal kBeyond = {"Beyond", "slots beyond the last position, or none at all"};
const attest_refusal kThrown = {"Thrown", "PyTorch threw an exception"};

int64_t signed_of(uint64_t count) {
    return static_cast<int64_t>(count);
}

// Exceptions end here: the other side is C.
template <class Body>
const attest_refusal* guarded(Body body) {
    try {
        torch::NoGradGuard no_gradients;
        return body();
    } catch (const std::exception&) {
        return &kThrown;
    }
}

const attest_refusal* make_layer(const attest_layer_spec* spec, attest_layer** made) {
    return guarded([&]() -> const attest_refusal* {
        auto layer = std::make_unique<attest_layer>();
        layer->spec = *spec;
        const int64_t width = signed_of(spec->width);
        for (std::size_t i = 0; i < 4; ++i) {
            const uint64_t heads = i == ATTEST_WK || i == ATTEST_WV ? spec->kv_heads : spec->heads;
            const int64_t features = signed_of(heads * spec->head_width);
            const std::array<int64_t, 2> shape = {i == ATTEST_WO ? width : features,
                                                  i == ATTEST_WO ? features : width};
            layer->weights[i] =
                torch::from_blob(const_cast<void*>(spec->weights[i]), shape, layer->type()).clone();
        }
        *made = layer.release();
        return nullptr;
    });
}

void free_layer(attest_layer* layer) {
    delete layer;
}

const attest_refusal* make_cache(attest_layer* layer, uint64_t batch, uint64_t capacity, uint64_t first,
                                 attest_cache** made) {
    const uint64_t positions = layer->spec.rope_positions;
    if (batch == 0 || capacity == 0 || first > positions || capacity > positions - first) return &kBeyond;
    return guarded([&]() -> const attest_refusal* {
        const Tensor none = torch::empty(
            {signed_of(batch), signed_of(layer->spec.kv_heads), 0, signed_of(layer->spec.head_width)},
            layer->type());
        *made = new attest_cache{layer, signed_of(batch), signed_of(capacity), signed_of(first), none, none};
        return nullptr;
    });
}

void free_cache(attest_cache* cache) {
    delete cache;
}

// x [B, heads, T, d], row t at position first + t.
Tensor rotated(const attest_layer& layer, const Tensor& x, int64_t first) {
    const attest_layer_spec& spec = layer.spec;
    const int64_t width = signed_of(spec.rope_width);
    if (width == 0) return x;
    const Tensor pairs = torch::arange(0, width, 2, torch::kFloat64);
    const Tensor frequencies = torch::pow(spec.rope_base, -pairs / static_cast<double>(width));
    const Tensor positions = torch::arange(first, first + x.size(2), torch::kFloat64);
    const Tensor angles = torch::outer(positions, frequencies);
    const Tensor cosines = angles.cos().to(layer.type());
    const Tensor sines = angles.sin().to(layer.type());
    using torch::indexing::None;
    using torch::indexing::Slice;
    Tensor turned = x.clone();
    const Slice left = spec.rope_half != 0 ? Slice(0, width / 2) : Slice(0, width, 2);
    const Slice right = spec.rope_half != 0 ? Slice(width / 2, width) : Slice(1, width, 2);
    const Tensor a = x.index({"...", left});
    const Tensor b = x.index({"...", right});
    turned.index_put_({"...", left}, a * cosines - b * sines);
    turned.index_put_({"...", right}, a * sines + b * cosines);
    return turned;
}

bool finite(const Tensor& tensor) {
    return torch::isfinite(tensor).all().item<bool>();
}

const attest_refusal* append(attest_layer* layer, attest_cache* cache, uint64_t batch, uint64_t rows,
                             uint64_t width, const void* x, void* y) {
    const attest_layer_spec& spec = layer->spec;
    if (signed_of(batch) != cache->batch || width != spec.width) return &kShape;
    if (rows > static_cast<uint64_t>(cache->capacity - cache->length())) return &kFull;
    return guarded([&]() -> const attest_refusal* {
        const int64_t count = signed_of(rows);
        const int64_t d = signed_of(spec.head_width);
        const int64_t group = signed_of(spec.heads / spec.kv_heads);
        const Tensor in =
            torch::from_blob(const_cast<void*>(x), {cache->batch, count, signed_of(width)}, layer->type());
        const auto heads_of = [&](std::size_t weight, uint64_t heads) {
            return torch::linear(in, layer->weights[weight])
                .view({cache->batch, count, signed_of(heads), d})
                .transpose(1, 2);
        };
        const int64_t first = cache->first + cache->length();
        const Tensor projected_q = heads_of(ATTEST_WQ, spec.heads);
        const Tensor projected_k = heads_of(ATTEST_WK, spec.kv_heads);
        const Tensor v = heads_of(ATTEST_WV, spec.kv_heads);
        const Tensor q = rotated(*layer, projected_q, first);
        const Tensor k = rotated(*layer, projected_k, first);
        const Tensor keys = torch::cat({cache->keys, k}, 2);
        const Tensor values = torch::cat({cache->values, v}, 2);
        const Tensor all_keys = keys.repeat_interleave(group, 1);
        const Tensor all_values = values.repeat_interleave(group, 1);
        const Tensor scores = q.matmul(all_keys.transpose(2, 3)) / std::sqrt(static_cast<double>(d));
        const Tensor hidden = torch::ones({count, keys.size(2)}, torch::kBool).triu(cache->length() + 1);
        // A score that no row sees may overflow; one that is seen must not.
        const Tensor seen = scores.masked_fill(hidden, 0);
        const Tensor weights =
            torch::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1);
        const Tensor mixed = weights.matmul(all_values);
        const Tensor merged = mixed.transpose(1, 2).reshape({cache->batch, count, -1});
        const Tensor answer = torch::linear(merged, layer->weights[ATTEST_WO]).contiguous();
        for (const Tensor& stage : {in, projected_q, projected_k, v, q, k, seen, mixed, answer}) {
            if (!finite(stage)) return &kInfinite;
        }
        std::memcpy(y, answer.data_ptr(), answer.nbytes());
        cache->keys = keys;
        cache->values = values;
        return nullptr;
    });
}

void reset(attest_cache* cache) {
    cache->keys = cache->keys.slice(2, 0, 0).clone();
    cache->values = cache->values.slice(2, 0, 0).clone();
}

uint64_t length(const attest_cache* cache) {
    return static_cast<uint64_t>(cache->length());
}

void read(const Tensor& from, void* to) {
    const Tensor dense = from.contiguous();
    // An empty tensor points nowhere, which memcpy may not be given even for no byte.
    if (dense.numel() != 0) std::memcpy(to, dense.data_ptr(), dense.nbytes());
}
void read_keys(const attest_cache* cache, void* keys) {
    read(cache->keys, keys);
}
void read_values(const attest_cache* cache, void* values) {
    read(cache->values, values);
}

const attest_refusal* copy(const attest_cache* cache, attest_cache** copied) {
    return guarded([&]() -> const attest_refusal* {
        *copied = new attest_cache(*cache);
        (*copied)->keys = cache->keys.clone();
        (*copied)->values = cache->values.clone();
        return nullptr;
    });
}

}  // namespace

// PyTorch promises no bits: its sums depend on shapes.
extern "C" __attribute__((visibility("default"))) const attest_subject_table* attest_subject() {
    // One thread: laws run in forked processes, where a pool of threads is not.
    at::set_num_threads(1);
    static attest_subject_table table = [] {
        attest_subject_table made = {};
        made.version = ATTEST_SUBJECT_VERSION;
        made.size = sizeof made;
        made.name = "PyTorch";
        made.promises = ATTEST_APPENDS_MANY | ATTEST_FIRST_POSITION;
        made.make_layer = make_layer;
        made.free_layer = free_layer;
        made.make_cache = make_cache;
        made.free_cache = free_cache;
        made.append = append;
        made.reset = reset;
        made.length = length;
        made.read_keys = read_keys;
        made.read_values = read_values;
        made.copy = copy;
        return made;
    }();
    return &table;
}
