// The safetensors format: 8 bytes of header length, a JSON header, the elements.
//
// Reading believes nothing: every check of the format's own reader is made in its order, and beyond these a
// name or key given twice is refused (a JSON tree would keep one of the two and not say so), as is a NUL or
// byte order mark that one JSON reader skips and another does not. Memory used is bounded by a small multiple
// of the header that is really there; the elements themselves are only mapped.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/file.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attest::dump {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

// read_safetensors maps the file at `path`. The file must not shrink while the File lives.
std::expected<File, Error> read_safetensors(const std::string& path);

// parse_safetensors copies `bytes`. `name` stands for the file in errors.
std::expected<File, Error> parse_safetensors(std::span<const std::byte> bytes, std::string name = {});

// What is written: elements little-endian in C order.
struct NewTensor {
    std::string name;
    Dtype dtype = Dtype::F64;
    std::vector<std::uint64_t> shape;
    std::vector<std::byte> bytes;
};

NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape, std::span<const double> elements);
NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape, std::span<const float> elements);
NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape,
                      std::span<const std::int64_t> elements);

// format_safetensors gives the bytes of a file: elements start 8-byte aligned, tensors keep their order. It
// refuses what parse_safetensors would refuse (a name twice, a shape that does not fit its bytes, text that
// is not UTF-8).
std::expected<std::vector<std::byte>, Error> format_safetensors(std::span<const NewTensor> tensors,
                                                                const File::Metadata& metadata);

// write_safetensors writes a new file beside `path` and renames it, so that nobody reads half a dump.
std::optional<Error> write_safetensors(const std::string& path, std::span<const NewTensor> tensors,
                                       const File::Metadata& metadata);

}  // namespace attest::dump
