// What must hold of the readers for any bytes at all. The raw-byte drivers and replay share these.
#pragma once

#include "attest/dump/error.hpp"
#include "attest/dump/file.hpp"
#include "attest/properties/verdict.hpp"

#include <cstddef>
#include <expected>
#include <span>
#include <string_view>

namespace attest::fuzzing {

// case_bytes: bytes that parse print into text that parses into the same case and prints into the same text;
// bytes that do not parse are vacuous.
properties::Verdict case_bytes(std::span<const std::byte> bytes);

// safetensors_bytes: every element of every tensor of an accepted file can be read in every way the interface
// has, and the file, written again, reads as equal; a refused file is vacuous, and its error says why.
properties::Verdict safetensors_bytes(std::span<const std::byte> bytes);

// npy_bytes and npz_bytes: the same for NumPy's formats, written again as safetensors where that can hold
// what was read. npz_bytes has a library of its own (bytes_npz.cpp), as it needs libzip.
properties::Verdict npy_bytes(std::span<const std::byte> bytes);
properties::Verdict npz_bytes(std::span<const std::byte> bytes);

// any_dump judges what any reader gave. `writable` says that whatever it accepts can be written again.
properties::Verdict any_dump(const std::expected<dump::File, dump::Error>& file, bool writable);

using BytesProperty = properties::Verdict (*)(std::span<const std::byte>);

// nullptr where no property of bytes has this name; npz_bytes is not in this table.
BytesProperty find_bytes_property(std::string_view name);

}  // namespace attest::fuzzing
