// The JSON header of a safetensors file, before anything is believed about the bytes behind it.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/file.hpp>
#include <attest/dump/tensor.hpp>

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace attest::dump {

struct Entry {
    std::string name;
    Dtype dtype = Dtype::BOOL;
    std::vector<std::uint64_t> shape;
    std::array<std::uint64_t, 2> offsets = {};
};

struct Header {
    std::vector<Entry> entries;  // in the order of the text
    File::Metadata metadata;
};

// parse_header reads UTF-8 text. The error names no file.
// Errors: InvalidHeaderDeserialization, DuplicateName, DuplicateKey, UnknownDtype, UnsupportedDtype,
// TooManyDimensions.
std::expected<Header, Error> parse_header(std::string_view text);

// parse_metadata reads the metadata object alone, with the same errors.
std::expected<File::Metadata, Error> parse_metadata(std::string_view text);

}  // namespace attest::dump
