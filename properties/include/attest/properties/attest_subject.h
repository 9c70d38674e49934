/* The C face of the subject: how a kernel in any language is put under Attest's laws.
 *
 * Build a shared library that exports attest_subject(), and run
 *     attest-properties --subject ./libmine.so
 * examples/plain_loops.c is a whole subject in plain C. What a subject can't do (a member left NULL, a
 * promise not made) makes the laws that need it vacuous, and the run says so.
 *
 * Every array is dense and row-major, slowest dimension first, of the element type of its layer. B is the
 * batch of a cache, D the model width, H and Hkv the heads, d the head width; query head h reads key/value
 * head h / (H/Hkv). Nothing is called from two threads at once.
 */
#ifndef ATTEST_SUBJECT_H
#define ATTEST_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTEST_SUBJECT_VERSION 1

enum { ATTEST_FLOAT = 0, ATTEST_DOUBLE = 1 };            /* element types */
enum { ATTEST_WQ = 0, ATTEST_WK, ATTEST_WV, ATTEST_WO }; /* weights: [H*d, D], [Hkv*d, D] twice, [D, H*d] */

/* What was refused and why. NULL stands for success. The code is a name such as "CacheFull", the text is for
 * people; both live until the next call. */
typedef struct attest_refusal {
    const char* code;
    const char* text;
} attest_refusal;

/* A layer to make. Weights are borrowed for the call. Rotary pair i of position p turns by
 * p * rope_base^(-2i/rope_width): features (2i, 2i+1), or (i, i + rope_width/2) where rope_half is 1;
 * features from rope_width on pass through. The first row of a cache stands at its first_position; no
 * position reaches rope_positions. */
typedef struct attest_layer_spec {
    uint32_t type;
    uint32_t rope_half;
    uint64_t width, heads, kv_heads, head_width;
    uint64_t rope_width, rope_positions;
    double rope_base;
    const void* weights[4];
} attest_layer_spec;

typedef struct attest_layer attest_layer;
typedef struct attest_cache attest_cache;

/* Promises, or-ed together in attest_subject_table.promises. */
enum {
    /* append takes any number of rows, not one alone. */
    ATTEST_APPENDS_MANY = 1u << 0,
    /* A row has the same bits in any chunks, any batch, any capacity, cached or not. */
    ATTEST_SAME_BITS = 1u << 1,
    /* Caches may start at another position than 0. */
    ATTEST_FIRST_POSITION = 1u << 2,
    /* Codes are those of Attest's list, in its documented order. append is then also called with x NULL,
     * where no array could have that shape, and with y NULL, for an answer that does not fit (ShapeMismatch,
     * looked for after CacheFull): calls that must be refused. */
    ATTEST_TYPED_REFUSALS = 1u << 3,
    /* A cache refuses every layer but the one it was made for, and that one too once `update` was called. */
    ATTEST_BOUND = 1u << 4
};

typedef struct attest_subject_table {
    uint32_t version; /* ATTEST_SUBJECT_VERSION */
    uint32_t size;    /* sizeof(attest_subject_table): members behind it are taken for NULL */
    const char* name;
    uint64_t promises;

    /* Required. A call that is refused changes nothing: not the cache, not y. */
    const attest_refusal* (*make_layer)(const attest_layer_spec* spec, attest_layer** layer);
    void (*free_layer)(attest_layer* layer);
    const attest_refusal* (*make_cache)(attest_layer* layer, uint64_t batch, uint64_t capacity,
                                        uint64_t first_position, attest_cache** cache);
    void (*free_cache)(attest_cache* cache);
    /* x [batch, rows, width], y alike. Refuses another batch or width than the cache's and its layer's, more
     * rows than there is room for, and numbers that are not finite: in x, or on the way to y. */
    const attest_refusal* (*append)(attest_layer* layer, attest_cache* cache, uint64_t batch, uint64_t rows,
                                    uint64_t width, const void* x, void* y);
    void (*reset)(attest_cache* cache);
    uint64_t (*length)(const attest_cache* cache);
    /* Live rows [B, Hkv, length, d]; keys as they were rotated, values as projected. */
    void (*read_keys)(const attest_cache* cache, void* keys);
    void (*read_values)(const attest_cache* cache, void* values);

    /* Optional: NULL where the subject has no such thing. */

    /* All rows at once, without a cache. */
    const attest_refusal* (*forward)(attest_layer* layer, uint64_t batch, uint64_t rows,
                                     uint64_t first_position, const void* x, void* y);
    /* The buffers behind a cache, [B, Hkv, capacity, d]. Slots at and beyond the length are written to
     * between calls, to see whether anybody reads them. */
    void (*storage)(attest_cache* cache, void** keys, void** values);
    /* A cache that goes its own way from here on. */
    const attest_refusal* (*copy)(const attest_cache* cache, attest_cache** copied);
    /* Replaces a weight in place; refuses numbers that are not finite. Needs ATTEST_BOUND. */
    const attest_refusal* (*update)(attest_layer* layer, uint32_t weight, const void* values);
} attest_subject_table;

/* The one symbol that is looked for. The table lives as long as the library is loaded. */
const attest_subject_table* attest_subject(void);

#ifdef __cplusplus
}
#endif

#endif
