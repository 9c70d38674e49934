// The subject: the implementation under test, as laws see it.
//
// Laws know no library. They speak to this interface, and Attest's own library, a library with a planted bug
// and a foreign kernel are three subjects. All numbers cross as double, whatever the element type is: float
// to double is injective, NaN payloads included (cases::widen), so comparing doubles by bits compares the
// subject's own bits. Every shape is given slowest dimension first, every array is row-major.
//
// What a subject can't do it says by `can`; a law that needs it is vacuous then, and says why.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/few.hpp"

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace attest::properties {

using Array = std::vector<double>;

// The lengths of an array's axes. Callers may offer one axis more than the library has.
using Lengths = Few<std::uint64_t, 8>;

// A typed refusal: the code is a name of the library's list ("CacheFull"), the text is for people.
struct Refusal {
    std::string code;
    std::string text;
    std::string reason;  // StaleTicket: "moved_on", …; allocation refusals and non-finite ones: the stage
};

// Thrown where a call broke the rules of this interface, so that its outcome means nothing: the case fails.
class SubjectFault : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};
inline constexpr const char* kSoundSubject = "a call that keeps to the rules of a subject";

template <class T>
using Outcome = std::expected<T, Refusal>;

enum class Capability : std::uint8_t {
    full_prefix,      // Layer::forward
    prefill,          // Layer::prefill
    tickets,          // prepare, commit, commit_all, discard
    update,           // Layer::update
    adamw,            // Layer::adamw
    binding,          // a cache refuses every layer but the one it was made for, and an updated one
    identity,         // layers that share parameters: Layer::share, revisions
    first_position,   // caches that do not start at position 0
    storage,          // Cache::storage
    poison,           // Cache::poison
    copy,             // Cache::copy, equality
    evidence,         // Layer::append_with_evidence
    work,             // the work counts in Evidence, Subject::history
    strides,          // layouts other than dense
    allocation,       // counting, failing and limiting allocations
    typed_refusals,   // codes of the documented list in the documented order; without it codes mean nothing
    same_bits,        // promises equal bits for cached and full prefix; without it only bounds apply
    seeded_geometry,  // Subject::make_seeded_layer
    executors,        // Subject::work_with: others than the calling thread may do the work
    threads,          // sessions on one layer in several threads, each with a cache of its own
    narrow_storage,   // LayerSpec::storage: keys and values kept in bf16 or f16
    arithmetic,       // sums, exp and angles are Attest's own; without it the bound is a foreign kernel's
};

std::string_view to_text(Capability capability);

// How the numbers of a call lie in memory. The values are the same in each.
enum class Layout : std::uint8_t {
    dense,
    transposed,  // the last axis is not adjacent: first and last axes are exchanged in storage
    sliced,      // every axis is a slice of a longer one, with foreign numbers between
    reversed,    // every axis walks backwards
    repeated,    // stride 0 on every axis along which all values are equal; writable outputs can't have it
    aliased,     // an output that is the input's own storage; only for y, and only where shapes agree
};

inline constexpr std::array kInputLayouts = {Layout::dense, Layout::transposed, Layout::sliced,
                                             Layout::reversed, Layout::repeated};
inline constexpr std::array kOutputLayouts = {Layout::dense, Layout::transposed, Layout::sliced,
                                              Layout::reversed, Layout::aliased};

std::string_view to_text(Layout layout);

// Rows offered to a call. `shape` is [batch, rows, width] when it is well-formed, but may have any rank up to
// four and any lengths. Where `values` holds fewer numbers than the shape counts, values[0] (or 0) stands for
// every element, by stride 0, so that huge shapes cost nothing.
struct Input {
    Lengths shape;
    std::span<const double> values;
    Layout layout = Layout::dense;
};

// Where an answer goes. `values` comes in as what the storage holds before the call (resized by the caller to
// the count of its shape) and goes out as what it holds afterwards, also when the call is refused.
struct Output {
    Lengths shape;  // empty: the input's own shape
    Array values;
    Layout layout = Layout::dense;
    bool not_writable = false;  // offer a view in which all elements are one
    bool gaps_intact = true;    // out: what lies between the elements of a sliced output was not written
};

// A layer to make. rope.first is not part of it.
struct LayerSpec {
    cases::ElementType type = cases::ElementType::float64;
    cases::KvStorage storage = cases::KvStorage::computing;
    std::uint64_t width = 0;
    std::uint64_t heads = 0;
    std::uint64_t kv_heads = 0;
    std::uint64_t head_width = 0;
    cases::Rope rope;
    std::array<Array, 4> weights;  // wq [H·d, D], wk [Hkv·d, D], wv [Hkv·d, D], wo [D, H·d]
    Layout layout = Layout::dense;
};

// Every intermediate tensor of one committed row (shapes as in attest/incremental.hpp).
struct Evidence {
    Array projected_queries;     // [B, H, 1, d]
    Array projected_keys;        // [B, Hkv, 1, d]
    Array projected_values;      // [B, Hkv, 1, d]
    Array rotated_queries;       // [B, H, 1, d]
    Array rotated_keys;          // [B, Hkv, 1, d]
    Array weights;               // [B, H, 1, t]
    Array head_outputs;          // [B, H, 1, d]
    Array merged;                // [B, 1, H·d]
    Array output;                // [B, 1, D]
    std::uint64_t key_rows = 0;  // keys the query was scored against: the last axis of weights
    std::uint64_t position = 0;
    std::uint64_t full_prefix_rows = 0;
    std::uint64_t incremental_rows = 0;
    std::uint64_t reused_key_value_rows = 0;
    std::uint64_t cache_length = 0;
};

// What history_contrast sums over, and its sums.
struct History {
    std::uint64_t complete_prefix_rows = 0;
    std::uint64_t incremental_rows = 0;
    std::uint64_t reused_key_rows = 0;
    std::uint64_t reused_value_rows = 0;
    friend bool operator==(const History&, const History&) = default;
};

// Every element of both buffers, live or dead, [B, Hkv, C, d], and where they lie. Narrow ones are widened.
struct Storage {
    Array keys;
    Array values;
    std::uint64_t key_address = 0;
    std::uint64_t value_address = 0;
};

class Ticket {
  public:
    virtual ~Ticket() = default;
    virtual std::uint64_t slot() const = 0;
};

class Cache {
  public:
    virtual ~Cache() = default;
    virtual std::uint64_t length() const = 0;
    virtual std::uint64_t capacity() const = 0;
    virtual void reset() = 0;
    // Snapshots of the live rows [B, Hkv, length, d]: keys rotated, values not.
    virtual Outcome<Array> keys() const = 0;
    virtual Outcome<Array> values() const = 0;
    // The same read in place, where a subject can; nothing is allocated that could be refused.
    virtual Array live_keys() const { return keys().value_or(Array()); }
    virtual Array live_values() const { return values().value_or(Array()); }
    virtual void read_live(Array& live_keys_now, Array& live_values_now) const {
        live_keys_now = live_keys();
        live_values_now = live_values();
    }

    // Capability::storage and poison. poison writes the pattern of a double (one the element type represents;
    // rounded, where storage is narrow) into every slot at and beyond the length.
    virtual Storage storage() const = 0;
    virtual void read_storage(Storage& now) const { now = storage(); }
    virtual void poison(double value) = 0;
    // Capability::copy. equals is what a cache means, same_bytes is every byte.
    virtual Outcome<std::unique_ptr<Cache>> copy() const = 0;
    virtual bool equals(const Cache& other) const = 0;
    virtual bool same_bytes(const Cache& other) const = 0;
    // Capability::tickets. A refused commit says which reason in the refusal's text.
    virtual Outcome<void> commit(const Ticket& ticket) = 0;
    virtual void discard() = 0;
};

struct Pending {
    Cache* cache;
    const Ticket* ticket;
};

class Layer {
  public:
    virtual ~Layer() = default;
    virtual Outcome<std::unique_ptr<Cache>> make_cache(std::uint64_t batch, std::uint64_t capacity,
                                                       std::uint64_t first_position) = 0;
    // One row [B, 1, D] through the checked entry, with its answer in y.
    virtual Outcome<void> append(Cache& cache, const Input& x, Output& y) = 0;
    // All four weights as they are now.
    virtual std::array<Array, 4> weights() const = 0;

    virtual Outcome<void> prefill(Cache& cache, const Input& x, Output& y) = 0;        // prefill
    virtual Outcome<Array> forward(const Input& x, std::uint64_t first_position) = 0;  // full_prefix
    virtual Outcome<Evidence> append_with_evidence(Cache& cache, const Input& x) = 0;  // evidence
    virtual Outcome<std::unique_ptr<Ticket>> prepare(Cache& cache, const Input& x, Output& y) = 0;
    virtual Outcome<void> update(std::uint64_t weight, const Input& value) = 0;  // update
    // One step; the first makes the optimiser with its default options.
    virtual Outcome<void> adamw(const std::array<Array, 4>& gradients) = 0;  // adamw
    virtual std::array<std::uint64_t, 4> revisions() const = 0;              // identity
    // A layer over the same parameter nodes with another rope, or with other head counts that suit them.
    virtual Outcome<std::unique_ptr<Layer>> share(std::uint64_t heads, std::uint64_t kv_heads,
                                                  const cases::Rope& rope) = 0;  // identity
};

// Who does the work of the calls to come, in how many pieces at a time and in which order.
struct Workers {
    std::uint64_t count = 1;
    bool threads = false;    // a thread for each; else the calling thread plays all of them
    bool backwards = false;  // the last piece first; only without threads
};

class Subject {
  public:
    virtual ~Subject() = default;
    virtual std::string_view name() const = 0;
    virtual bool can(Capability capability) const = 0;

    virtual Outcome<std::unique_ptr<Layer>> make_layer(const LayerSpec& spec) = 0;
    // The same geometry with weights that the subject draws; spec.weights are ignored, so that geometry too
    // big to fill can still be asked for, and refused.
    virtual Outcome<std::unique_ptr<Layer>> make_seeded_layer(const LayerSpec& spec, std::uint64_t seed) = 0;
    // Every ticket is checked, then every one committed.
    virtual Outcome<void> commit_all(std::span<const Pending> pending) = 0;
    // Sums over evidences in order.
    virtual Outcome<History> history(std::span<const Evidence> steps) = 0;

    // Capability::executors. False when there are no such workers here (no thread to be had).
    virtual bool work_with(const Workers&) { return false; }

    // Capability::allocation. allocations counts those asked for since the subject was made.
    // fail_allocation(n) lets the n-th from now (1 is the next) fail, once; 0 takes it back.
    // limit_allocation makes every single allocation above `bytes` fail; 0: no limit.
    virtual std::uint64_t allocations() const = 0;
    virtual void fail_allocation(std::uint64_t nth) = 0;
    virtual void limit_allocation(std::uint64_t bytes) = 0;
};

// Attest's own library, float and double inside.
std::unique_ptr<Subject> make_attest_subject();

}  // namespace attest::properties
