// What makes a problem unusable, looked for before anything is computed.
#pragma once

#include <attest/reference/error.hpp>
#include <attest/reference/problem.hpp>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace attest::reference {

// check refuses shapes that do not fit, then numbers that are not finite, then a rotation that is none.
[[nodiscard]] std::optional<Error> check(const Layer& layer, Rows rows);
[[nodiscard]] std::optional<Error> check(const Core& core);
[[nodiscard]] std::optional<Error> check(const Rotary& rotary);

// cut_rows cuts a selection at the length.
[[nodiscard]] Rows cut_rows(Rows rows, std::size_t length) noexcept;

}  // namespace attest::reference
