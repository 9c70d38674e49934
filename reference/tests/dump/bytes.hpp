// Files written byte by byte for the tests.
#pragma once

#include "../random.hpp"

#include <attest/dump/file.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace attest::dump::testing {

inline std::vector<std::byte> to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

using drawing::Random;

inline std::string little_endian(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, value >>= 8)
        out += static_cast<char>(value & 0xff);
    return out;
}

// 8 bytes of length, the header, `data` zero bytes.
inline std::vector<std::byte> safetensors(std::string_view header, std::size_t data = 0) {
    return to_bytes(little_endian(header.size(), 8).append(header).append(data, '\0'));
}

// A version 1 file: header and data as given.
inline std::string npy(std::string_view header, std::string_view data) {
    const std::string version{'\1', '\0'};
    return ("\x93NUMPY" + version + little_endian(header.size(), 2)).append(header).append(data);
}

inline std::string npy_header(std::string_view descr, std::string_view shape, bool fortran = false) {
    return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran ? "True" : "False") +
           ", 'shape': " + std::string(shape) + ", }     \n";
}

// Whether damaged bytes were read after all: then every element can be, and otherwise the error says why.
inline bool read_whole(const std::expected<File, Error>& file) {
    if (!file) {
        EXPECT_FALSE(file.error().text().empty());
        return false;
    }
    for (const Tensor& tensor : file->tensors())
        EXPECT_EQ(tensor.numbers().size(), tensor.count());
    return true;
}

}  // namespace attest::dump::testing
