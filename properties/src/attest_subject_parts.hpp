// Attest's library behind the subject interface, one element type at a time.
#pragma once

#include "attest/properties/subject.hpp"
#include "counted_memory.hpp"
#include "place.hpp"

#include <attest/attest.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace attest::properties::detail {

Refusal refusal_of(const Error& error);

inline std::unexpected<Refusal> refused(const Error& error) {
    return std::unexpected(refusal_of(error));
}

// A shape with more axes than a view can have is the subject's own refusal.
Outcome<Shape> shape_of(std::span<const std::uint64_t> lengths);

class LibTicket final : public properties::Ticket {
  public:
    explicit LibTicket(const attest::Ticket& prepared) : ticket(prepared) {}
    std::uint64_t slot() const override { return ticket.slot(); }

    attest::Ticket ticket;
};

template <class T>
class LibCache final : public Cache {
  public:
    LibCache(LayerKvCache<T> made, CountedMemory& memory) : cache(std::move(made)), memory_(memory) {}

    std::uint64_t length() const override { return cache.length(); }
    std::uint64_t capacity() const override { return cache.capacity(); }
    void reset() override { cache.reset(); }
    Outcome<Array> keys() const override;
    Outcome<Array> values() const override;
    Array live_keys() const override;
    Array live_values() const override;
    void read_live(Array& live_keys_now, Array& live_values_now) const override;
    Storage storage() const override;
    void read_storage(Storage& now) const override;
    void poison(double value) override;
    Outcome<std::unique_ptr<Cache>> copy() const override;
    bool equals(const Cache& other) const override;
    bool same_bytes(const Cache& other) const override;
    Outcome<void> commit(const properties::Ticket& ticket) override;
    void discard() override { cache.discard(); }

    LayerKvCache<T> cache;

  private:
    CountedMemory& memory_;
};

template <class T>
class LibLayer final : public Layer {
  public:
    LibLayer(MultiHeadAttention<T> layer, CountedMemory& memory)
        : layer_(std::move(layer)), memory_(memory) {}

    // Rope, then the four weights, then the layer; the first refusal is returned.
    static Outcome<std::unique_ptr<Layer>> make(const LayerSpec& spec, CountedMemory& memory);
    static Outcome<std::unique_ptr<Layer>> make_seeded(const LayerSpec& spec, std::uint64_t seed,
                                                       CountedMemory& memory);

    Outcome<std::unique_ptr<Cache>> make_cache(std::uint64_t batch, std::uint64_t capacity,
                                               std::uint64_t first_position) override;
    Outcome<void> append(Cache& cache, const Input& x, Output& y) override;
    Outcome<void> prefill(Cache& cache, const Input& x, Output& y) override;
    Outcome<Array> forward(const Input& x, std::uint64_t first_position) override;
    Outcome<Evidence> append_with_evidence(Cache& cache, const Input& x) override;
    Outcome<std::unique_ptr<properties::Ticket>> prepare(Cache& cache, const Input& x, Output& y) override;
    Outcome<void> update(std::uint64_t weight, const Input& value) override;
    Outcome<void> adamw(const std::array<Array, 4>& gradients) override;
    std::array<Array, 4> weights() const override;
    std::array<std::uint64_t, 4> revisions() const override;
    Outcome<std::unique_ptr<Layer>> share(std::uint64_t heads, std::uint64_t kv_heads,
                                          const cases::Rope& rope) override;

  private:
    // Lays x and y out, calls compute(x, y) and reads y back, whatever came of it.
    template <class Compute>
    auto with_rows(const Input& x, Output& y, Compute compute)
        -> Outcome<typename std::invoke_result_t<Compute, TensorView<const T>, TensorView<T>>::value_type>;

    MultiHeadAttention<T> layer_;
    CountedMemory& memory_;
    std::optional<AdamW<T>> optimiser_;
};

extern template class LibCache<float>;
extern template class LibCache<double>;
extern template class LibLayer<float>;
extern template class LibLayer<double>;

}  // namespace attest::properties::detail
