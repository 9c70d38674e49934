// A case: a small text file that names a geometry, an element type, how values are drawn and a list of steps.
//
// The same case means the same bits under every compiler and C++ library, so a counterexample found by one
// engine is a file for all the others. The grammar, with every key, verb and filling, is in
// reference/CASES.md.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attest::cases {

enum class ElementType : std::uint8_t { float32, float64 };

// What a layer and its caches store keys and values in: the element type, or a narrow one to which they are
// rounded before any query meets them. Only float has narrow storage.
enum class KvStorage : std::uint8_t { computing, bf16, f16 };

// The tensors that a case fills. `gradient` and `update` are families of four, one for each weight.
enum class Tensor : std::uint8_t { x, wq, wk, wv, wo, gradient, update };

// How a tensor is filled; values.hpp has the definition of each.
enum class Filling : std::uint8_t {
    zeros,
    ones,
    identity,
    normal,
    uniform,
    xavier,
    integers,
    distinct,
    needle,
    huge,
    tiny,
    subnormal,
    cancelling,
    equal,
    powers,
};

enum class Verb : std::uint8_t {
    append,            // one row through the checked entry
    prefill,           // `count` rows at once
    skip,              // the next `count` rows of x are never offered
    rewind,            // go back `count` rows of x (not before the first)
    reset,             // empty the cache
    update,            // replace a weight in place, its revision moves
    update_nonfinite,  // the same with one NaN in it, which is refused
    adamw,             // one optimiser step over all four weights
    layer,             // later calls use another layer
    cache,             // later steps speak to cache number `count`, made when first named
    prepare,           // compute the next row and keep the ticket
    commit,            // commit the ticket made `count` prepares before the last
    commit_all,        // commit the last ticket of every cache
    discard,           // give the last ticket up
    copy,              // go on with a copy; the original must not move
    snapshot,          // read keys and values
    fail,              // the `count`-th allocation (from 1) of the next step fails
};

// The layer that later calls use; variant_of (rows.hpp) says how its geometry differs.
enum class Variant : std::uint8_t {
    original,
    rebuilt,
    wider,
    heads,
    kv_heads,
    head_width,
    rope_base,
    rope_width,
    rope_pairs,
    positions,
};

enum class Pairs : std::uint8_t { interleaved, half };

struct Rope {
    Pairs pairs = Pairs::interleaved;
    std::uint64_t width = 4;
    double base = 10000.0;
    std::uint64_t positions = 64;  // how many positions the tables hold
    std::uint64_t first = 0;       // position of the first row of every cache

    // Bases are compared by bits: a case that names a NaN base equals itself.
    friend bool operator==(const Rope& a, const Rope& b) {
        return a.pairs == b.pairs && a.width == b.width && a.positions == b.positions && a.first == b.first &&
               std::bit_cast<std::uint64_t>(a.base) == std::bit_cast<std::uint64_t>(b.base);
    }
};

// How all tensors are filled unless a Fill names one.
struct Values {
    Filling filling = Filling::normal;
    std::uint64_t seed = 0;
    friend bool operator==(const Values&, const Values&) = default;
};

// One tensor filled in its own way. Without a seed it draws from the seed of Values.
struct Fill {
    Tensor tensor = Tensor::x;
    Filling filling = Filling::normal;
    std::optional<std::uint64_t> seed = {};
    friend bool operator==(const Fill&, const Fill&) = default;
};

// One element overridden after filling; of two for one element the later wins.
//
// `bits` is the pattern of a double that the element type of the case represents exactly. A NaN of a float
// case is kept as its widened pattern (sign, quiet bit and payload moved up 29 bits), so that it survives to
// the last bit.
struct Set {
    Tensor tensor = Tensor::x;
    Tensor of = Tensor::wq;                   // which weight, for gradient and update
    std::array<std::uint64_t, 3> index = {};  // x: batch, row, feature; a weight: row, column, unused and 0
    std::uint64_t bits = 0;
    friend bool operator==(const Set&, const Set&) = default;
};

// One call. Fields that the verb does not use keep their defaults (check in parse.hpp insists).
struct Step {
    Verb verb = Verb::append;
    std::uint64_t count = 0;              // prefill, skip, rewind, cache, commit, fail
    Tensor tensor = Tensor::wq;           // update, update_nonfinite
    Variant variant = Variant::original;  // layer
    // Shape words of append, prefill and prepare: the call is made with this rank, row count, batch or width.
    // For `cache`, batch is that of the cache to make.
    std::optional<std::uint64_t> rank = {};  // at most 4
    std::optional<std::uint64_t> rows = {};  // not for prefill, which has its count
    std::optional<std::uint64_t> batch = {};
    std::optional<std::uint64_t> width = {};
    std::string expect = {};  // the code of the refusal that must come; empty: must not be refused
    friend bool operator==(const Step&, const Step&) = default;
};

// Any count may be zero or huge: the library must refuse such a geometry, and nothing may allocate it.
struct Case {
    std::vector<std::string> comments = {};  // without the leading "# "; the first says what is special
    std::string law = "cached_equals_full_prefix";
    ElementType type = ElementType::float64;
    KvStorage storage = KvStorage::computing;  // printed only where it is narrow
    std::uint64_t batch = 1;                   // B
    std::uint64_t width = 8;                   // D, the model width
    std::uint64_t heads = 2;                   // H
    std::uint64_t kv_heads = 2;                // Hkv
    std::uint64_t head_width = 4;              // d; printed only where it is not width / heads
    Rope rope = {};
    std::uint64_t capacity = 4;  // C
    std::string expect = {};     // the refusal that making layer and cache must meet; empty: they are made
    Values values = {};
    std::vector<Fill> fills = {};
    std::vector<Set> sets = {};
    std::vector<Step> steps = {};
    friend bool operator==(const Case&, const Case&) = default;
};

// Limits of the text, so that reading hostile bytes costs little.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLineBytes = 4096;
inline constexpr std::size_t kMaxSteps = 4096;
inline constexpr std::size_t kMaxSets = 4096;
inline constexpr std::size_t kMaxComments = 4096;
inline constexpr std::size_t kMaxNameBytes = 100;                      // of a law or an expected code
inline constexpr std::uint64_t kMaxCaches = 8;                         // `cache N` wants N below this
inline constexpr std::uint64_t kMaxRank = 4;                           // `rank R` wants R at most this
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 22;  // of one filled tensor

}  // namespace attest::cases
