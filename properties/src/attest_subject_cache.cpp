#include "attest_subject_parts.hpp"

namespace attest::properties::detail {

template <class T>
Outcome<Array> LibCache<T>::keys() const {
    const Result<Tensor<T>> snapshot = cache.keys(memory_);
    if (!snapshot) return refused(snapshot.error());
    return read_back(snapshot->view());
}

template <class T>
Outcome<Array> LibCache<T>::values() const {
    const Result<Tensor<T>> snapshot = cache.values(memory_);
    if (!snapshot) return refused(snapshot.error());
    return read_back(snapshot->view());
}

namespace {

Array widened(std::span<const std::uint16_t> bits, KvStorage storage) {
    Array values;
    values.reserve(bits.size());
    for (const std::uint16_t one : bits) {
        values.push_back(to_double(widen(one, storage)));
    }
    return values;
}

// Live rows [B, Hkv, length, d] of a narrow storage.
template <class T>
Array live_rows(const LayerKvCache<T>& cache, std::span<const std::uint16_t> bits) {
    const std::uint64_t width = cache.geometry().head_width;
    const std::uint64_t lanes = cache.batch_size() * cache.geometry().kv_heads;
    Array live;
    for (std::uint64_t lane = 0; lane < lanes; ++lane) {
        const Array rows =
            widened(bits.subspan(lane * cache.capacity() * width, cache.length() * width), cache.storage());
        live.insert(live.end(), rows.begin(), rows.end());
    }
    return live;
}

}  // namespace

template <class T>
Array LibCache<T>::live_keys() const {
    return cache.storage() == KvStorage::computing ? read_back(cache.keys_view())
                                                   : live_rows(cache, cache.narrow_key_storage());
}

template <class T>
Array LibCache<T>::live_values() const {
    return cache.storage() == KvStorage::computing ? read_back(cache.values_view())
                                                   : live_rows(cache, cache.narrow_value_storage());
}

template <class T>
void LibCache<T>::read_live(Array& live_keys_now, Array& live_values_now) const {
    if (cache.storage() != KvStorage::computing) {
        live_keys_now = live_rows(cache, cache.narrow_key_storage());
        live_values_now = live_rows(cache, cache.narrow_value_storage());
        return;
    }
    read_back(cache.keys_view(), live_keys_now);
    read_back(cache.values_view(), live_values_now);
}

template <class T>
Storage LibCache<T>::storage() const {
    Storage now;
    read_storage(now);
    return now;
}

template <class T>
void LibCache<T>::read_storage(Storage& now) const {
    if (cache.storage() != KvStorage::computing) {
        now.keys = widened(cache.narrow_key_storage(), cache.storage());
        now.values = widened(cache.narrow_value_storage(), cache.storage());
        now.key_address = reinterpret_cast<std::uintptr_t>(cache.narrow_key_storage().data());
        now.value_address = reinterpret_cast<std::uintptr_t>(cache.narrow_value_storage().data());
        return;
    }
    to_doubles(cache.key_storage(), now.keys);
    to_doubles(cache.value_storage(), now.values);
    now.key_address = reinterpret_cast<std::uintptr_t>(cache.key_storage().data());
    now.value_address = reinterpret_cast<std::uintptr_t>(cache.value_storage().data());
}

template <class T>
void LibCache<T>::poison(double value) {
    // The buffers are heap memory that the cache owns; the library only promises not to hand out a writable
    // view of it.
    const std::size_t width = cache.geometry().head_width;
    const std::size_t rows = cache.batch_size() * cache.geometry().kv_heads;
    const auto write = [&](auto storage, auto element) {
        if (storage.empty()) return;
        auto* const elements =
            const_cast<std::remove_const_t<typename decltype(storage)::element_type>*>(storage.data());
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t slot = cache.length(); slot < cache.capacity(); ++slot) {
                const std::size_t offset = (row * cache.capacity() + slot) * width;
                std::fill_n(elements + offset, width, element);
            }
        }
    };
    write(cache.key_storage(), to_element<T>(value));
    write(cache.value_storage(), to_element<T>(value));
    if (cache.storage() == KvStorage::computing) return;
    const std::uint16_t bits = narrow(to_element<float>(value), cache.storage());
    write(cache.narrow_key_storage(), bits);
    write(cache.narrow_value_storage(), bits);
}

template <class T>
Outcome<std::unique_ptr<Cache>> LibCache<T>::copy() const {
    Result<LayerKvCache<T>> copied = cache.copy(memory_);
    if (!copied) return refused(copied.error());
    return std::make_unique<LibCache>(std::move(*copied), memory_);
}

template <class T>
bool LibCache<T>::equals(const Cache& other) const {
    return cache == static_cast<const LibCache&>(other).cache;
}

template <class T>
bool LibCache<T>::same_bytes(const Cache& other) const {
    return cache.same_bytes(static_cast<const LibCache&>(other).cache);
}

template <class T>
Outcome<void> LibCache<T>::commit(const properties::Ticket& ticket) {
    const Result<void> done = cache.commit(static_cast<const LibTicket&>(ticket).ticket);
    if (!done) return refused(done.error());
    return {};
}

template class LibCache<float>;
template class LibCache<double>;

}  // namespace attest::properties::detail
