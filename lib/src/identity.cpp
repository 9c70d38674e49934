#include "identity.hpp"

#include <atomic>

namespace attest::detail {
namespace {

constinit std::atomic<std::uint64_t> last_identity{0};

}  // namespace

std::uint64_t next_identity() noexcept {
    return last_identity.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace attest::detail
