// Raw numbers for the oracle: bytes that are a geometry and the elements themselves, so that a fuzzer can
// turn single bits of single numbers toward the largest error.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/verdict.hpp"

#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attest::fuzzing {

// Sixteen bytes of geometry, then four for each element: of x, wq, wk, wv and wo in this order.
inline constexpr std::size_t kOracleHeaderBytes = 16;
inline constexpr std::size_t kOracleElementBytes = 4;

// oracle_case gives the case of law inside_the_bound that the bytes stand for; nothing for fewer bytes than a
// header and for cases that cost too much. Elements that the bytes do not reach are filled by a seed. Numbers
// lie within 2^-32 and 2^32, as those beyond are mostly refused; a double's lower bits follow from its upper
// ones.
std::optional<cases::Case> oracle_case(std::span<const std::uint8_t> bytes);

// draw_oracle_input gives bytes for a case of usual size.
std::vector<std::uint8_t> draw_oracle_input(Random& random, std::size_t bytes_max);

// What replay does with a file of such bytes.
properties::Verdict against_the_oracle(std::span<const std::byte> bytes);

}  // namespace attest::fuzzing
