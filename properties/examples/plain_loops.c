/* Attention with a key/value cache in plain loops, as a subject: attest-properties --subject ./plain_loops.so
 * It computes and stores in double; answers are rounded to the element type once. */
#include "attest/properties/attest_subject.h"

#include <math.h>
#include <stdlib.h>

struct attest_layer {
    attest_layer_spec spec;
    double* weights[4];
};
struct attest_cache {
    attest_layer* layer;
    uint64_t batch, capacity, first, length;
    double *keys, *values; /* [B, capacity, Hkv, d] */
};
static const attest_refusal kShape = {"Shape", "another batch or width"}, kFull = {"Full", "no room left"},
                            kInfinite = {"Infinite", "a number has no room in the type"},
                            kBeyond = {"Beyond", "slots beyond the last position, or none at all"};

static double get(uint32_t type, const void* from, uint64_t i) {
    return type == ATTEST_FLOAT ? (double)((const float*)from)[i] : ((const double*)from)[i];
}
static void put(uint32_t type, void* to, uint64_t i, double value) {
    if (type == ATTEST_FLOAT) ((float*)to)[i] = (float)value;
    if (type == ATTEST_DOUBLE) ((double*)to)[i] = value;
}

/* Whether the element type has room for all of these numbers. */
static int fits(uint32_t type, const double* values, uint64_t count) {
    uint64_t good = 0;
    for (uint64_t i = 0; i < count; ++i) good += !!isfinite(type ? values[i] : (float)values[i]);
    return good == count;
}

static const attest_refusal* make_layer(const attest_layer_spec* spec, attest_layer** made) {
    attest_layer* layer = *made = calloc(1, sizeof *layer);
    layer->spec = *spec;
    for (int w = 0; w < 4; ++w) {
        uint64_t count = (w == 1 || w == 2 ? spec->kv_heads : spec->heads) * spec->head_width * spec->width;
        layer->weights[w] = malloc(count * sizeof(double));
        for (uint64_t i = 0; i < count; ++i) layer->weights[w][i] = get(spec->type, spec->weights[w], i);
    }
    return NULL;
}
static void free_layer(attest_layer* layer) {
    for (int w = 0; w < 4; ++w) free(layer->weights[w]);
    free(layer);
}

static const attest_refusal* make_cache(attest_layer* of, uint64_t batch, uint64_t capacity, uint64_t first,
                                        attest_cache** made) {
    uint64_t slots = batch * capacity * of->spec.kv_heads * of->spec.head_width;
    const uint64_t positions = of->spec.rope_positions;
    if (slots == 0 || first > positions || capacity > positions - first) return &kBeyond;
    attest_cache* cache = *made = malloc(sizeof *cache);
    *cache = (attest_cache){of, batch, capacity, first, 0, malloc(slots * 8), malloc(slots * 8)};
    return NULL;
}
static void free_cache(attest_cache* c) { free(c->keys), free(c->values), free(c); }
static void reset(attest_cache* cache) { cache->length = 0; }
static uint64_t length(const attest_cache* cache) { return cache->length; }
static void read(const attest_cache* c, const double* from, void* to) { /* to [B, Hkv, length, d] */
    uint64_t heads = c->layer->spec.kv_heads, d = c->layer->spec.head_width, i = 0;
    for (uint64_t lane = 0; lane < c->batch * heads; ++lane)
        for (uint64_t t = 0; t < c->length; ++t)
            for (uint64_t f = 0; f < d; ++f)
                put(c->layer->spec.type, to, i++,
                    from[((lane / heads * c->capacity + t) * heads + lane % heads) * d + f]);
}
static void read_keys(const attest_cache* cache, void* keys) { read(cache, cache->keys, keys); }
static void read_values(const attest_cache* cache, void* values) { read(cache, cache->values, values); }

static void project(const double* weight, uint64_t rows, const double* x, uint64_t width, double* y) {
    for (uint64_t r = 0; r < rows; ++r) {
        y[r] = 0;
        for (uint64_t i = 0; i < width; ++i) y[r] += weight[r * width + i] * x[i];
    }
}

static void rotate(const attest_layer_spec* s, uint64_t heads, double* head, uint64_t position) {
    for (uint64_t h = 0; h < heads; ++h, head += s->head_width)
        for (uint64_t i = 0; i < s->rope_width / 2; ++i) {
            double angle = (double)position * pow(s->rope_base, -2.0 * (double)i / (double)s->rope_width);
            double *a = head + (s->rope_half ? i : 2 * i), *b = a + (s->rope_half ? s->rope_width / 2 : 1);
            double turned = *a * cos(angle) - *b * sin(angle);
            *b = *a * sin(angle) + *b * cos(angle);
            *a = turned;
        }
}

/* Row x of sequence b becomes slot t, its answer y. 0 when a number on the way has no room in the type. */
static int attend(attest_layer* layer, attest_cache* c, uint64_t b, uint64_t t, const double* x, double* y) {
    const attest_layer_spec* s = &layer->spec;
    uint64_t d = s->head_width, lane = s->kv_heads * d, wide = s->heads * d;
    double *k = c->keys + (b * c->capacity + t) * lane, *v = c->values + (b * c->capacity + t) * lane;
    double q[wide], mixed[wide], score[t + 1];
    project(layer->weights[ATTEST_WQ], wide, x, s->width, q);
    project(layer->weights[ATTEST_WK], lane, x, s->width, k);
    project(layer->weights[ATTEST_WV], lane, x, s->width, v);
    int right = fits(s->type, x, s->width) & fits(s->type, q, wide) & fits(s->type, k, lane) &
                fits(s->type, v, lane);
    rotate(s, s->heads, q, c->first + t);
    rotate(s, s->kv_heads, k, c->first + t);
    right &= fits(s->type, q, wide) & fits(s->type, k, lane);
    for (uint64_t h = 0; h < s->heads; ++h) {
        uint64_t group = h / (s->heads / s->kv_heads) * d;
        double most = -INFINITY, sum = 0;
        for (uint64_t j = 0; j <= t; ++j) { /* slot j lies t - j before slot t, where k and v point to */
            project(k - (t - j) * lane + group, 1, q + h * d, d, &score[j]);
            right &= fits(s->type, &score[j], 1);
            most = fmax(most, score[j] /= sqrt((double)d));
        }
        for (uint64_t j = 0; j <= t; ++j) sum += score[j] = exp(score[j] - most);
        for (uint64_t f = 0; f < d; ++f) {
            double mix = 0;
            for (uint64_t j = 0; j <= t; ++j) mix += score[j] * (v - (t - j) * lane)[group + f];
            right &= fits(s->type, &mix, 1);
            mixed[h * d + f] = mix / sum;
        }
    }
    project(layer->weights[ATTEST_WO], s->width, mixed, wide, y);
    return right & fits(s->type, y, s->width);
}

static const attest_refusal* append(attest_layer* layer, attest_cache* cache, uint64_t batch, uint64_t rows,
                                    uint64_t width, const void* x, void* y) {
    if (batch != cache->batch || width != layer->spec.width) return &kShape;
    if (rows > cache->capacity - cache->length) return &kFull;
    double in[width], *out = malloc(batch * rows * width * sizeof(double));
    int right = 1;
    for (uint64_t row = 0; row < batch * rows && right; ++row) {
        for (uint64_t i = 0; i < width; ++i) in[i] = get(layer->spec.type, x, row * width + i);
        right = attend(layer, cache, row / rows, cache->length + row % rows, in, out + row * width);
    }
    for (uint64_t i = 0; i < batch * rows * width && right; ++i) put(layer->spec.type, y, i, out[i]);
    cache->length += right ? rows : 0;
    free(out);
    return right ? NULL : &kInfinite;
}

const attest_subject_table* attest_subject(void) {
    static const attest_subject_table table = {
        ATTEST_SUBJECT_VERSION, sizeof table, "plain loops",
        ATTEST_APPENDS_MANY | ATTEST_SAME_BITS | ATTEST_FIRST_POSITION,
        make_layer, free_layer, make_cache, free_cache, append, reset, length, read_keys, read_values,
        NULL, NULL, NULL, NULL};
    return &table;
}
