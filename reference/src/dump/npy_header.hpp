// The dictionary at the head of a .npy file.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/tensor.hpp>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attest::dump {

struct NpyHeader {
    std::optional<Dtype> dtype;    // nothing: text
    std::uint64_t text_width = 0;  // bytes of one character: 1 or 4
    std::uint64_t item_size = 0;   // bytes of one element
    bool big_endian = false;
    bool fortran = false;
    std::vector<std::uint64_t> shape;
};

// parse_npy_header reads "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }" and nothing else of
// Python: these three keys, each once. Errors: InvalidNpyHeader, TooManyDimensions, ObjectArray,
// StructuredArray, UnknownDtype, UnsupportedDtype.
std::expected<NpyHeader, Error> parse_npy_header(std::string_view text);

}  // namespace attest::dump
