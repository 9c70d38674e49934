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

template <class T>
Storage LibCache<T>::storage() const {
    Storage now;
    read_storage(now);
    return now;
}

template <class T>
void LibCache<T>::read_storage(Storage& now) const {
    to_doubles(cache.key_storage(), now.keys);
    to_doubles(cache.value_storage(), now.values);
    now.key_address = reinterpret_cast<std::uintptr_t>(cache.key_storage().data());
    now.value_address = reinterpret_cast<std::uintptr_t>(cache.value_storage().data());
}

template <class T>
void LibCache<T>::poison(double value) {
    // The buffers are heap memory that the cache owns; the library only promises not to hand out a writable
    // view of it.
    T* const keys = const_cast<T*>(cache.key_storage().data());
    T* const values = const_cast<T*>(cache.value_storage().data());
    const std::size_t width = cache.geometry().head_width;
    const std::size_t rows = cache.batch_size() * cache.geometry().kv_heads;
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t slot = cache.length(); slot < cache.capacity(); ++slot) {
            for (std::size_t feature = 0; feature < width; ++feature) {
                const std::size_t offset = (row * cache.capacity() + slot) * width + feature;
                keys[offset] = to_element<T>(value);
                values[offset] = to_element<T>(value);
            }
        }
    }
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
