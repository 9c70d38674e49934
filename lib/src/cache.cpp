#include <attest/cache.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cache_state.hpp"
#include "narrow.hpp"

namespace attest {

namespace detail {

template <class T>
CacheBinding<T>::CacheBinding(std::span<const Parameter<T>, 4> bound, const Rotary<T>& table,
                              const AttentionGeometry& shape, std::size_t batch, std::size_t slots,
                              std::size_t first, KvStorage stored)
    : parameters{bound[0], bound[1], bound[2], bound[3]},
      revisions{bound[0].revision(), bound[1].revision(), bound[2].revision(), bound[3].revision()},
      rotary(table),
      geometry(shape),
      batch_size(batch),
      capacity(slots),
      first_position(first),
      storage(stored) {}

template <class T>
bool CacheBinding<T>::same_as(const CacheBinding& other) const {
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        if (!parameters[parameter].same_node(other.parameters[parameter])) {
            return false;
        }
    }
    return revisions == other.revisions && rotary.config() == other.rotary.config() &&
           geometry == other.geometry && batch_size == other.batch_size && capacity == other.capacity &&
           first_position == other.first_position && storage == other.storage;
}

template <class T>
void CacheState<T>::append(const T* new_keys, const T* new_values, std::size_t count) {
    const std::size_t width = binding.geometry.head_width;
    for (std::size_t lane = 0; lane < binding.batch_size * binding.geometry.kv_heads; ++lane) {
        const std::size_t source = lane * count * width;
        const std::size_t target = row_offset(lane, length);
        if constexpr (std::is_same_v<T, float>) {
            if (binding.storage != KvStorage::computing) {
                narrow_all(new_keys + source, count * width, binding.storage,
                           rows.narrow_keys.data() + target);
                narrow_all(new_values + source, count * width, binding.storage,
                           rows.narrow_values.data() + target);
                continue;
            }
        }
        std::copy_n(new_keys + source, count * width, rows.keys.data() + target);
        std::copy_n(new_values + source, count * width, rows.values.data() + target);
    }
    length += count;
    ++advances;
}

namespace {

template <class T>
bool same_bits(const T* left, const T* right, std::size_t count) {
    return count == 0 || std::memcmp(left, right, count * sizeof(T)) == 0;
}

// Everything of a cache that takes memory, before there is a cache.
template <class T>
Result<CacheRows<T>> make_rows(Memory& memory, const AttentionGeometry& geometry, std::size_t batch_size,
                               std::size_t capacity, KvStorage storage) {
    const Shape shape{batch_size, geometry.kv_heads, capacity, geometry.head_width};
    const bool narrow = storage != KvStorage::computing;
    // No elements, no memory: of each pair only one is asked for.
    const Shape computed = narrow ? Shape{std::size_t{0}} : shape;
    const Shape narrowed = narrow ? shape : Shape{std::size_t{0}};
    Result<Buffer<T>> keys = Buffer<T>::make(memory, computed, Stage::key_storage);
    if (!keys) {
        return std::unexpected(keys.error());
    }
    Result<Buffer<std::uint16_t>> narrow_keys =
        Buffer<std::uint16_t>::make(memory, narrowed, Stage::key_storage);
    if (!narrow_keys) {
        return std::unexpected(narrow_keys.error());
    }
    Result<Buffer<T>> values = Buffer<T>::make(memory, computed, Stage::value_storage);
    if (!values) {
        return std::unexpected(values.error());
    }
    Result<Buffer<std::uint16_t>> narrow_values =
        Buffer<std::uint16_t>::make(memory, narrowed, Stage::value_storage);
    if (!narrow_values) {
        return std::unexpected(narrow_values.error());
    }
    Result<RowBuffers<T>> workspace = RowBuffers<T>::make(memory, geometry, batch_size, 1, capacity, 1);
    if (!workspace) {
        return std::unexpected(workspace.error());
    }
    return CacheRows<T>{std::move(*keys), std::move(*values), std::move(*workspace), std::move(*narrow_keys),
                        std::move(*narrow_values)};
}

template <class T>
Result<void> check_ticket(const CacheState<T>& state, std::uint64_t cache, std::uint64_t advances,
                          std::uint64_t preparation, const std::array<std::uint64_t, 4>& revisions,
                          std::size_t place) {
    const auto stale = [place](StaleReason reason) { return std::unexpected(StaleTicket{reason, place}); };
    if (cache != state.identity) {
        return stale(StaleReason::another_cache);
    }
    if (advances != state.advances) {
        return stale(StaleReason::moved_on);
    }
    if (preparation != state.preparations) {
        return stale(StaleReason::superseded);
    }
    for (std::size_t parameter = 0; parameter < 4; ++parameter) {
        if (revisions[parameter] != state.binding.parameters[parameter].revision()) {
            return stale(StaleReason::updated);
        }
    }
    return {};
}

}  // namespace
}  // namespace detail

template <class T>
Result<LayerKvCache<T>> LayerKvCache<T>::make(const MultiHeadAttention<T>& layer, std::size_t batch_size,
                                              std::size_t capacity, std::size_t first_position,
                                              Memory& memory) {
    if (batch_size == 0) {
        return std::unexpected(ZeroBatchSize{});
    }
    if (capacity == 0) {
        return std::unexpected(ZeroCapacity{});
    }
    const std::size_t max_positions = layer.rotary().config().max_positions;
    if (first_position > max_positions || capacity > max_positions - first_position) {
        return std::unexpected(CapacityExceedsPositions{first_position, capacity, max_positions});
    }
    Result<detail::CacheRows<T>> rows =
        detail::make_rows<T>(memory, layer.geometry(), batch_size, capacity, layer.storage());
    if (!rows) {
        return std::unexpected(rows.error());
    }
    detail::CacheBinding<T> binding{layer.parameters(), layer.rotary(), layer.geometry(), batch_size,
                                    capacity,           first_position, layer.storage()};
    const auto state = detail::make_node<detail::CacheState<T>>(memory, Stage::workspace, std::move(binding),
                                                                std::move(*rows));
    if (!state) {
        return std::unexpected(state.error());
    }
    return LayerKvCache(*state);
}

template <class T>
LayerKvCache<T>::LayerKvCache(LayerKvCache&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

template <class T>
LayerKvCache<T>& LayerKvCache<T>::operator=(LayerKvCache&& other) noexcept {
    LayerKvCache moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
}

template <class T>
LayerKvCache<T>::~LayerKvCache() {
    detail::destroy_node(state_);
}

template <class T>
Result<LayerKvCache<T>> LayerKvCache<T>::copy(Memory& memory) const {
    const detail::CacheBinding<T>& bound = state_->binding;
    Result<detail::CacheRows<T>> rows =
        detail::make_rows<T>(memory, bound.geometry, bound.batch_size, bound.capacity, bound.storage);
    if (!rows) {
        return std::unexpected(rows.error());
    }
    std::copy_n(state_->rows.keys.data(), state_->rows.keys.size(), rows->keys.data());
    std::copy_n(state_->rows.values.data(), state_->rows.values.size(), rows->values.data());
    std::copy_n(state_->rows.narrow_keys.data(), state_->rows.narrow_keys.size(), rows->narrow_keys.data());
    std::copy_n(state_->rows.narrow_values.data(), state_->rows.narrow_values.size(),
                rows->narrow_values.data());
    const auto state = detail::make_node<detail::CacheState<T>>(
        memory, Stage::workspace, detail::CacheBinding<T>(bound), std::move(*rows));
    if (!state) {
        return std::unexpected(state.error());
    }
    (*state)->length = state_->length;
    return LayerKvCache(*state);
}

template <class T>
std::size_t LayerKvCache<T>::batch_size() const {
    return state_->binding.batch_size;
}
template <class T>
const AttentionGeometry& LayerKvCache<T>::geometry() const {
    return state_->binding.geometry;
}
template <class T>
std::size_t LayerKvCache<T>::capacity() const {
    return state_->binding.capacity;
}
template <class T>
std::size_t LayerKvCache<T>::length() const {
    return state_->length;
}
template <class T>
std::size_t LayerKvCache<T>::first_position() const {
    return state_->binding.first_position;
}
template <class T>
const RotaryConfig& LayerKvCache<T>::rotary_config() const {
    return state_->binding.rotary.config();
}
template <class T>
std::array<std::uint64_t, 4> LayerKvCache<T>::revisions() const {
    return state_->binding.revisions;
}
template <class T>
KvStorage LayerKvCache<T>::storage() const {
    return state_->binding.storage;
}
template <class T>
std::span<const std::uint16_t> LayerKvCache<T>::narrow_key_storage() const {
    return state_->rows.narrow_keys.span();
}
template <class T>
std::span<const std::uint16_t> LayerKvCache<T>::narrow_value_storage() const {
    return state_->rows.narrow_values.span();
}
template <class T>
std::span<const T> LayerKvCache<T>::key_storage() const {
    return state_->rows.keys.span();
}
template <class T>
std::span<const T> LayerKvCache<T>::value_storage() const {
    return state_->rows.values.span();
}

namespace {

// The live part of one storage, [B, Hkv, length, d]; it always fits the storage it is cut from.
template <class T>
TensorView<const T> live_rows(const detail::CacheState<T>& state, const Buffer<T>& storage) {
    const detail::CacheBinding<T>& bound = state.binding;
    const Shape whole{bound.batch_size, bound.geometry.kv_heads, bound.capacity, bound.geometry.head_width};
    return *TensorView<const T>::over(std::span<const T>(storage.span()), whole)->slice(2, 0, state.length);
}

// Of the pair of storages for keys, or for values, one is empty.
template <class T>
Result<Tensor<T>> snapshot(const detail::CacheState<T>& state, const Buffer<T>& storage,
                           const Buffer<std::uint16_t>& narrow, Memory& memory, Stage stage) {
    if constexpr (std::is_same_v<T, float>) {
        const detail::CacheBinding<T>& bound = state.binding;
        if (bound.storage != KvStorage::computing) {
            const std::size_t width = bound.geometry.head_width;
            const Shape shape{bound.batch_size, bound.geometry.kv_heads, state.length, width};
            Result<Tensor<T>> tensor = Tensor<T>::zeros(shape, memory, stage);
            for (std::size_t lane = 0; tensor && lane < shape[0] * shape[1]; ++lane) {
                detail::widen_all(narrow.data() + state.row_offset(lane, 0), state.length * width,
                                  bound.storage, tensor->span().data() + lane * state.length * width);
            }
            return tensor;
        }
    }
    return Tensor<T>::copy_of(live_rows(state, storage), memory, stage);
}

}  // namespace

template <class T>
TensorView<const T> LayerKvCache<T>::keys_view() const {
    return storage() == KvStorage::computing ? live_rows(*state_, state_->rows.keys) : TensorView<const T>();
}

template <class T>
TensorView<const T> LayerKvCache<T>::values_view() const {
    return storage() == KvStorage::computing ? live_rows(*state_, state_->rows.values)
                                             : TensorView<const T>();
}

template <class T>
Result<Tensor<T>> LayerKvCache<T>::keys(Memory& memory) const {
    return snapshot(*state_, state_->rows.keys, state_->rows.narrow_keys, memory, Stage::key_snapshot);
}

template <class T>
Result<Tensor<T>> LayerKvCache<T>::values(Memory& memory) const {
    return snapshot(*state_, state_->rows.values, state_->rows.narrow_values, memory, Stage::value_snapshot);
}

template <class T>
void LayerKvCache<T>::reset() {
    state_->length = 0;
    ++state_->advances;
}

template <class T>
Result<void> LayerKvCache<T>::commit(const Ticket& ticket) {
    const PendingCommit<T> pending{this, ticket};
    return commit_all({&pending, 1});
}

template <class T>
Result<void> LayerKvCache<T>::commit_all(std::span<const PendingCommit<T>> pending) {
    Result<void> checked{};
    std::size_t claimed = 0;
    for (; claimed < pending.size() && checked; ++claimed) {
        const auto& [cache, ticket] = pending[claimed];
        if (cache == nullptr) {
            checked = std::unexpected(StaleTicket{StaleReason::another_cache, claimed});
            break;
        }
        detail::CacheState<T>& state = *cache->state_;
        if (state.claimed) {
            // Named before in this call: once the first ticket is committed the cache will have moved on.
            checked = std::unexpected(StaleTicket{StaleReason::moved_on, claimed});
            break;
        }
        checked = detail::check_ticket(state, ticket.cache_, ticket.state_, ticket.preparation_,
                                       ticket.revisions_, claimed);
        state.claimed = true;
    }
    for (std::size_t place = 0; place < claimed; ++place) {
        pending[place].cache->state_->claimed = false;
    }
    if (!checked) {
        return checked;
    }
    for (const PendingCommit<T>& each : pending) {
        detail::CacheState<T>& state = *each.cache->state_;
        state.append(state.rows.workspace.keys.data(), state.rows.workspace.values.data(), 1);
    }
    return {};
}

template <class T>
void LayerKvCache<T>::discard() {
    ++state_->preparations;
}

template <class T>
bool LayerKvCache<T>::operator==(const LayerKvCache& other) const {
    const detail::CacheBinding<T>& bound = state_->binding;
    if (!bound.same_as(other.state_->binding) || state_->length != other.state_->length) {
        return false;
    }
    const std::size_t live = state_->length * bound.geometry.head_width;
    for (std::size_t lane = 0; lane < bound.batch_size * bound.geometry.kv_heads; ++lane) {
        const std::size_t offset = state_->row_offset(lane, 0);
        const auto same = [&](auto rows) {
            const auto& own = state_->rows.*rows;
            return own.size() == 0 ||
                   detail::same_bits(own.data() + offset, (other.state_->rows.*rows).data() + offset, live);
        };
        if (!same(&detail::CacheRows<T>::keys) || !same(&detail::CacheRows<T>::values) ||
            !same(&detail::CacheRows<T>::narrow_keys) || !same(&detail::CacheRows<T>::narrow_values)) {
            return false;
        }
    }
    return true;
}

template <class T>
bool LayerKvCache<T>::same_bytes(const LayerKvCache& other) const {
    const auto same = [&](auto rows) {
        const auto& own = state_->rows.*rows;
        const auto& theirs = other.state_->rows.*rows;
        return own.size() == theirs.size() && detail::same_bits(own.data(), theirs.data(), own.size());
    };
    return state_->length == other.state_->length && storage() == other.storage() &&
           same(&detail::CacheRows<T>::keys) && same(&detail::CacheRows<T>::values) &&
           same(&detail::CacheRows<T>::narrow_keys) && same(&detail::CacheRows<T>::narrow_values);
}

template class LayerKvCache<float>;
template class LayerKvCache<double>;
template struct detail::CacheState<float>;
template struct detail::CacheState<double>;

}  // namespace attest
