// One decode step's attention at a time, over the arena.
#pragma once

#include <attest/executor.hpp>

#include <algorithm>

#include "../src/attention_heads.hpp"
#include "arena.hpp"
#include "shapes.hpp"

namespace attest::bench {

/// Keys and values of one shape, as they are stored.
template <class T>
detail::PrefixRows<T> stored(const AttentionShape& shape, KvStorage storage) {
    detail::PrefixRows<T> rows{nullptr, nullptr, shape.length, shape.length - 1, storage};
    if (storage == KvStorage::computing) {
        rows.keys = Arena<T>::get().keys.data();
        rows.values = Arena<T>::get().values.data();
    } else {
        rows.keys = NarrowArena::get(storage).keys.data();
        rows.values = NarrowArena::get(storage).values.data();
    }
    return rows;
}

/// The last row is the candidate, as in a step of the cache.
template <class T>
class Stepper {
  public:
    Stepper(const AttentionShape& shape, std::size_t workers, KvStorage storage = KvStorage::computing)
        : geometry_{shape.heads * shape.head_width, shape.heads, shape.kv_heads, shape.head_width},
          rotary_(*Rotary<T>::make({0, shape.length, 10000.0})),
          buffers_(*detail::RowBuffers<T>::make(default_memory(), geometry_, 1, 1, shape.length, 1)),
          pool_(*ThreadPool::make(workers)),
          prefix_(stored<T>(shape, storage)) {
        std::copy_n(Arena<T>::get().queries.data(), buffers_.queries.size(), buffers_.queries.data());
    }

    bool step() {
        const detail::RowsCall<T> call{
            *detail::choose_kernels_from_environment<T>(), pool_, geometry_, rotary_, {}, 1, 1, 0, prefix_};
        return detail::attend_heads<T>(call, buffers_, nullptr).has_value();
    }
    [[nodiscard]] const T* merged() const { return buffers_.merged.data(); }

  private:
    AttentionGeometry geometry_;
    Rotary<T> rotary_;
    detail::RowBuffers<T> buffers_;
    ThreadPool pool_;
    detail::PrefixRows<T> prefix_;
};

}  // namespace attest::bench
