#include "attest/dump/npy.hpp"

#include "bytes.hpp"

namespace attest::fuzzing {

properties::Verdict npz_bytes(std::span<const std::byte> bytes) {
    return any_dump(dump::parse_npz(bytes, "input"), false);
}

}  // namespace attest::fuzzing
