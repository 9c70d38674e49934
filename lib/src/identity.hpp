// Identities: numbers that no two objects of a process ever share.
#pragma once

#include <cstdint>

namespace attest::detail {

/// next_identity counts up from 1 in the library's only global; at a billion a second it lasts five
/// centuries.
[[nodiscard]] std::uint64_t next_identity() noexcept;

}  // namespace attest::detail
