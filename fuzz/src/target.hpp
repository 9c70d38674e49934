// A target: what one driver does with its bytes. Every driver is the same program over another target.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/verdict.hpp"

#include "attest/properties/minimise.hpp"
#include "bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attest::fuzzing {

using properties::MakeSubject;

// The engine's own mutation of bytes: writes into `data`, which has room for `bytes_max`, and gives the new
// size.
using MutateBytes = std::size_t (*)(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max);

class Target {
  public:
    Target() = default;
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    virtual ~Target() = default;

    // The case that the bytes stand for; nothing for bytes that this target turns away, and for targets whose
    // inputs are no cases.
    virtual std::optional<cases::Case> decode(std::span<const std::uint8_t> input) const = 0;

    // What the target says of the bytes; nothing where it turns them away.
    virtual std::optional<properties::Verdict> judge(std::span<const std::uint8_t> input) const = 0;

    // Whether bytes that were refused stay interesting: each refusal is a path of a reader, but a law that
    // tested nothing is no place to go on from.
    virtual bool keeps_vacuous() const { return false; }

    // Mutation in place; `engine` may be null, where an engine has none.
    virtual std::size_t mutate(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                               std::uint64_t seed, MutateBytes engine) const = 0;

    // A child of two inputs in `out`; 0 where this target leaves crossing to mutation.
    virtual std::size_t cross(std::span<const std::uint8_t>, std::span<const std::uint8_t>, std::uint8_t*,
                              std::size_t, std::uint64_t) const {
        return 0;
    }
};

// make_target knows every law of the table, any_session, against_the_oracle and the readers: case_bytes,
// safetensors_bytes, npy_bytes. Null for any other name. `make_subject` makes what the laws judge.
std::unique_ptr<Target> make_target(std::string_view name, MakeSubject make_subject);

// The target of a reader that is not always built.
std::unique_ptr<Target> make_reader_target(BytesProperty property);

}  // namespace attest::fuzzing
