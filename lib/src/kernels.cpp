#include "kernels.hpp"

#include <cstdlib>

#include "kernels_avx2.hpp"
#if ATTEST_HIGHWAY
#include "highway/tables.hpp"
#endif

namespace attest::detail {
namespace {

// The tables this machine can run, portable first.
template <class T>
struct Available {
    const Kernels<T>* tables[4] = {};
    std::size_t count = 0;

    Available() noexcept {
        add(&portable_kernels<T>());
        add(avx2_kernels<T>());
#if ATTEST_HIGHWAY && defined(__x86_64__)
        add(highway_avx2_kernels<T>());
        add(highway_avx512_kernels<T>());
#elif ATTEST_HIGHWAY && defined(__aarch64__)
        add(highway_neon_kernels<T>());
#endif
    }

    void add(const Kernels<T>* table) noexcept {
        if (table != nullptr) {
            tables[count++] = table;
        }
    }
};

}  // namespace

template <class T>
std::span<const Kernels<T>* const> available_kernels() noexcept {
    // Made once, by whichever thread is first, and never changed.
    static const Available<T> available;
    return {available.tables, available.count};
}

template <class T>
const Kernels<T>* choose_kernels(std::string_view request) noexcept {
    const auto available = available_kernels<T>();
    if (request.empty()) {
        return available.back();
    }
    if (request == "off") {
        return available.front();
    }
    for (const Kernels<T>* const kernels : available) {
        if (kernels->name == request) {
            return kernels;
        }
    }
    return nullptr;
}

template <class T>
const Kernels<T>* choose_kernels_from_environment() noexcept {
    const char* const request = std::getenv("ATTEST_SIMD");
    return choose_kernels<T>(request == nullptr ? std::string_view() : std::string_view(request));
}

template std::span<const Kernels<float>* const> available_kernels() noexcept;
template std::span<const Kernels<double>* const> available_kernels() noexcept;
template const Kernels<float>* choose_kernels(std::string_view) noexcept;
template const Kernels<double>* choose_kernels(std::string_view) noexcept;
template const Kernels<float>* choose_kernels_from_environment() noexcept;
template const Kernels<double>* choose_kernels_from_environment() noexcept;

}  // namespace attest::detail
