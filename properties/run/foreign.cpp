#include "foreign.hpp"

#include "foreign_elements.hpp"

#include "attest/properties/scene.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace attest::properties {

namespace {

Outcome<void> outcome_of(const attest_refusal* refusal) {
    if (refusal == nullptr) return {};
    return std::unexpected(Refusal{.code = refusal->code == nullptr ? "Refused" : refusal->code,
                                   .text = refusal->text == nullptr ? "" : refusal->text,
                                   .reason = {}});
}

// What a call that makes something gave: neither a refusal nor the thing is a fault.
template <class Made>
Outcome<void> outcome_of(std::string_view call, const attest_refusal* refusal, const Made* made) {
    if (refusal == nullptr && made == nullptr) {
        throw SubjectFault(fmt::format("{} gave neither a refusal nor what it makes", call));
    }
    return outcome_of(refusal);
}

std::unexpected<Refusal> refused(std::string code) {
    return std::unexpected(Refusal{.code = std::move(code), .text = {}, .reason = {}});
}

bool promises(const attest_subject_table& table, std::uint64_t promise) {
    return (table.promises & promise) != 0;
}

constexpr std::array<std::string_view, 4> kWeightNames = {"wq", "wk", "wv", "wo"};

// What a cache needs to know of its layer.
struct Geometry {
    cases::ElementType type;
    std::uint64_t width, kv_heads, head_width;
};

class ForeignCache final : public Cache {
  public:
    ForeignCache(const attest_subject_table& table, attest_cache* cache, Geometry geometry,
                 std::uint64_t batch, std::uint64_t capacity)
        : table_(table), handle(cache), geometry_(geometry), batch_(batch), capacity_(capacity) {}
    ~ForeignCache() override { table_.free_cache(handle); }

    std::uint64_t length() const override { return table_.length(handle); }
    std::uint64_t capacity() const override { return capacity_; }
    void reset() override { table_.reset(handle); }
    Outcome<Array> keys() const override { return read("keys", table_.read_keys); }
    Outcome<Array> values() const override { return read("values", table_.read_values); }

    Storage storage() const override {
        const auto [keys, values] = buffers();
        const std::size_t count = lanes() * capacity_ * geometry_.head_width;
        return {.keys = Elements::read(geometry_.type, keys, count),
                .values = Elements::read(geometry_.type, values, count),
                .key_address = reinterpret_cast<std::uintptr_t>(keys),
                .value_address = reinterpret_cast<std::uintptr_t>(values)};
    }

    void poison(double value) override {
        const auto [keys, values] = buffers();
        for (std::uint64_t lane = 0; lane < lanes(); ++lane) {
            for (std::uint64_t slot = length(); slot < capacity_; ++slot) {
                for (std::uint64_t f = 0; f < geometry_.head_width; ++f) {
                    const std::uint64_t i = (lane * capacity_ + slot) * geometry_.head_width + f;
                    Elements::put(geometry_.type, keys, i, value);
                    Elements::put(geometry_.type, values, i, value);
                }
            }
        }
    }

    Outcome<std::unique_ptr<Cache>> copy() const override {
        attest_cache* copied = nullptr;
        const attest_refusal* const refusal = table_.copy(handle, &copied);
        const Outcome<void> done = outcome_of("copy", refusal, copied);
        if (!done) return std::unexpected(done.error());
        return std::make_unique<ForeignCache>(table_, copied, geometry_, batch_, capacity_);
    }

    bool equals(const Cache& other) const override {
        const auto& that = static_cast<const ForeignCache&>(other);
        return batch_ == that.batch_ && capacity_ == that.capacity_ && length() == that.length() &&
               same_bits(live_keys(), that.live_keys()) && same_bits(live_values(), that.live_values());
    }
    bool same_bytes(const Cache& other) const override {
        if (!equals(other) || table_.storage == nullptr) return equals(other);
        const Storage mine = storage();
        const Storage theirs = static_cast<const ForeignCache&>(other).storage();
        return same_bits(mine.keys, theirs.keys) && same_bits(mine.values, theirs.values);
    }

    Outcome<void> commit(const Ticket&) override { return refused("NoTickets"); }
    void discard() override {}

    std::uint64_t batch() const { return batch_; }

  private:
    std::uint64_t lanes() const { return batch_ * geometry_.kv_heads; }
    std::pair<void*, void*> buffers() const {
        std::pair<void*, void*> both = {nullptr, nullptr};
        table_.storage(handle, &both.first, &both.second);
        return both;
    }
    Array read(std::string_view name, void (*call)(const attest_cache*, void*)) const {
        const std::uint64_t rows = length();
        if (rows > capacity_) {
            throw SubjectFault(fmt::format("says it holds {} rows, capacity is {}", rows, capacity_));
        }
        Elements elements(name, geometry_.type, lanes() * rows * geometry_.head_width);
        call(handle, elements.data());
        elements.check_guards();
        return elements.read();
    }

    const attest_subject_table& table_;

  public:
    attest_cache* const handle;

  private:
    Geometry geometry_;
    std::uint64_t batch_, capacity_;
};

// Arrays of more elements than this are not made: such a call is one to be refused.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 20;

class ForeignLayer final : public Layer {
  public:
    ForeignLayer(const attest_subject_table& table, attest_layer* layer, const LayerSpec& spec)
        : table_(table), handle_(layer), spec_(spec) {}
    ~ForeignLayer() override { table_.free_layer(handle_); }

    Outcome<std::unique_ptr<Cache>> make_cache(std::uint64_t batch, std::uint64_t capacity,
                                               std::uint64_t first_position) override {
        attest_cache* cache = nullptr;
        const attest_refusal* const refusal =
            table_.make_cache(handle_, batch, capacity, first_position, &cache);
        const Outcome<void> done = outcome_of("make_cache", refusal, cache);
        if (!done) return std::unexpected(done.error());
        const Geometry geometry = {spec_.type, spec_.width, spec_.kv_heads, spec_.head_width};
        return std::make_unique<ForeignCache>(table_, cache, geometry, batch, capacity);
    }

    Outcome<void> append(Cache& cache, const Input& x, Output& y) override {
        if (x.shape.size() == 3 && x.shape[1] != 1) {
            // What has one row by contract is not offered several.
            if (const auto refusal = unusual(x)) return refused(*refusal);
            return refused("SingleTokenRequired");
        }
        return offer(cache, x, y);
    }
    Outcome<void> prefill(Cache& cache, const Input& x, Output& y) override { return offer(cache, x, y); }

    Outcome<Array> forward(const Input& x, std::uint64_t first_position) override {
        if (const auto refusal = unusual(x)) return refused(*refusal);
        if (x.shape[2] != spec_.width) return refused("InputWidthMismatch");
        Elements in("x", spec_.type, x.values);
        Elements out("y", spec_.type, x.values.size());
        const Outcome<void> done = outcome_of(
            table_.forward(handle_, x.shape[0], x.shape[1], first_position, in.data(), out.data()));
        in.check_unchanged(x.values);
        out.check_guards();
        if (!done) return std::unexpected(done.error());
        return out.read();
    }

    Outcome<void> update(std::uint64_t weight, const Input& value) override {
        Elements elements(kWeightNames[weight], spec_.type, value.values);
        Outcome<void> done =
            outcome_of(table_.update(handle_, static_cast<std::uint32_t>(weight), elements.data()));
        elements.check_unchanged(value.values);
        if (done) spec_.weights[weight].assign(value.values.begin(), value.values.end());
        return done;
    }

    std::array<Array, 4> weights() const override { return spec_.weights; }
    Outcome<Evidence> append_with_evidence(Cache&, const Input&) override { return refused("NoEvidence"); }
    Outcome<std::unique_ptr<Ticket>> prepare(Cache&, const Input&, Output&) override {
        return refused("NoTickets");
    }
    Outcome<void> adamw(const std::array<Array, 4>&) override { return refused("NoOptimiser"); }
    std::array<std::uint64_t, 4> revisions() const override { return {}; }
    Outcome<std::unique_ptr<Layer>> share(std::uint64_t, std::uint64_t, const cases::Rope&) override {
        return refused("NoSharing");
    }

  private:
    // Shapes that the C face has no words for are refused here, as views of them would be.
    static std::optional<std::string> unusual(const Input& x) {
        bool empty = false;
        bool overflow = false;
        std::uint64_t count = 1;
        for (const std::uint64_t length : x.shape) {
            empty = empty || length == 0;
            overflow = __builtin_mul_overflow(count, length, &count) || overflow;
        }
        constexpr std::uint64_t kLongestAxis = std::uint64_t{1} << 63;
        if (overflow && !empty) return "ElementCountOverflow";
        for (const std::uint64_t length : x.shape) {
            if (!empty && length > kLongestAxis) return "ViewOutOfStorage";
        }
        if (x.shape.size() != 3) return "InputRank";
        return std::nullopt;
    }

    Outcome<void> offer(Cache& cache, const Input& x, Output& y) {
        if (const auto refusal = unusual(x)) return refused(*refusal);
        if (x.shape[1] == 0) return refused("ZeroRows");
        if (x.shape[1] != 1 && !promises(table_, ATTEST_APPENDS_MANY)) return refused("SingleTokenRequired");
        const bool typed = promises(table_, ATTEST_TYPED_REFUSALS);
        const std::uint64_t count = x.shape[0] * x.shape[1] * x.shape[2];
        const bool whole = x.values.size() == count && count <= kMostElements;
        const bool fits = (y.shape.empty() || y.shape == x.shape) && !y.not_writable;
        if ((!whole || !fits) && !typed) return refused(whole ? "ShapeMismatch" : "Refused");
        Elements in("x", spec_.type, x.values);
        Elements out("y", spec_.type, std::max(y.values.size(), whole ? static_cast<std::size_t>(count) : 0));
        for (std::size_t i = 0; i < y.values.size(); ++i) {
            out.put(i, y.values[i]);
        }
        Outcome<void> done = outcome_of(
            table_.append(handle_, static_cast<ForeignCache&>(cache).handle, x.shape[0], x.shape[1],
                          x.shape[2], whole ? in.data() : nullptr, whole && fits ? out.data() : nullptr));
        in.check_unchanged(x.values);
        out.check_guards();
        Array after = out.read();
        after.resize(y.values.size());
        y.values = std::move(after);
        return done;
    }

    const attest_subject_table& table_;
    attest_layer* const handle_;
    LayerSpec spec_;
};

class ForeignSubject final : public Subject {
  public:
    explicit ForeignSubject(const attest_subject_table& table) : table_(table) {}

    std::string_view name() const override { return table_.name; }
    bool can(Capability capability) const override {
        switch (capability) {
            case Capability::full_prefix:
                return table_.forward != nullptr;
            case Capability::prefill:
                return promises(table_, ATTEST_APPENDS_MANY);
            case Capability::update:
                return table_.update != nullptr && promises(table_, ATTEST_BOUND);
            case Capability::binding:
                return promises(table_, ATTEST_BOUND);
            case Capability::first_position:
                return promises(table_, ATTEST_FIRST_POSITION);
            case Capability::storage:
            case Capability::poison:
                return table_.storage != nullptr;
            case Capability::copy:
                return table_.copy != nullptr;
            case Capability::typed_refusals:
                return promises(table_, ATTEST_TYPED_REFUSALS);
            case Capability::same_bits:
                return promises(table_, ATTEST_SAME_BITS);
            default:
                return false;
        }
    }

    Outcome<std::unique_ptr<Layer>> make_layer(const LayerSpec& spec) override {
        attest_layer_spec c = {};
        c.type = spec.type == cases::ElementType::float32 ? ATTEST_FLOAT : ATTEST_DOUBLE;
        c.rope_half = spec.rope.pairs == cases::Pairs::half ? 1 : 0;
        c.width = spec.width;
        c.heads = spec.heads;
        c.kv_heads = spec.kv_heads;
        c.head_width = spec.head_width;
        c.rope_width = spec.rope.width;
        c.rope_positions = spec.rope.positions;
        c.rope_base = spec.rope.base;
        std::vector<Elements> weights;
        weights.reserve(4);
        for (std::size_t i = 0; i < 4; ++i) {
            weights.emplace_back(kWeightNames[i], spec.type, spec.weights[i]);
            c.weights[i] = weights[i].data();
        }
        attest_layer* layer = nullptr;
        const attest_refusal* const refusal = table_.make_layer(&c, &layer);
        for (std::size_t i = 0; i < 4; ++i) {
            weights[i].check_unchanged(spec.weights[i]);
        }
        const Outcome<void> done = outcome_of("make_layer", refusal, layer);
        if (!done) return std::unexpected(done.error());
        return std::make_unique<ForeignLayer>(table_, layer, spec);
    }

    Outcome<std::unique_ptr<Layer>> make_seeded_layer(const LayerSpec&, std::uint64_t) override {
        return refused("NoSeeds");
    }
    Outcome<void> commit_all(std::span<const Pending>) override { return refused("NoTickets"); }
    Outcome<History> history(std::span<const Evidence>) override { return refused("NoHistory"); }
    std::uint64_t allocations() const override { return 0; }
    void fail_allocation(std::uint64_t) override {}
    void limit_allocation(std::uint64_t) override {}

  private:
    const attest_subject_table& table_;
};

// The first required member that is NULL; empty when all are there.
std::string_view missing_member(const attest_subject_table& table) {
    const std::pair<std::string_view, bool> required[] = {
        {"name", table.name != nullptr},
        {"make_layer", table.make_layer != nullptr},
        {"free_layer", table.free_layer != nullptr},
        {"make_cache", table.make_cache != nullptr},
        {"free_cache", table.free_cache != nullptr},
        {"append", table.append != nullptr},
        {"reset", table.reset != nullptr},
        {"length", table.length != nullptr},
        {"read_keys", table.read_keys != nullptr},
        {"read_values", table.read_values != nullptr},
    };
    for (const auto& [name, there] : required) {
        if (!there) return name;
    }
    return {};
}

}  // namespace

std::unique_ptr<Subject> make_foreign_subject(const attest_subject_table& table) {
    return std::make_unique<ForeignSubject>(table);
}

SubjectMaker foreign_subject(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(path + ": " + dlerror());
    void* const symbol = dlsym(library, "attest_subject");
    if (symbol == nullptr) throw std::runtime_error(path + " exports no attest_subject");
    const attest_subject_table* const given = reinterpret_cast<const attest_subject_table* (*)()>(symbol)();
    if (given == nullptr) throw std::runtime_error(path + ": attest_subject() gives no table");
    if (given->version != ATTEST_SUBJECT_VERSION) {
        throw std::runtime_error(fmt::format("{}: its table is of version {}, not {}", path, given->version,
                                             ATTEST_SUBJECT_VERSION));
    }
    // Members behind its end are NULL. The library is never unloaded.
    const auto table = std::make_shared<attest_subject_table>();
    std::memcpy(table.get(), given, std::min<std::size_t>(given->size, sizeof *table));
    if (const auto member = missing_member(*table); !member.empty()) {
        throw std::runtime_error(fmt::format("{}: its table's {} is NULL", path, member));
    }
    return [table] { return make_foreign_subject(*table); };
}

}  // namespace attest::properties
