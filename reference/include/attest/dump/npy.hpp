// NumPy's own formats: .npy holds one array, .npz a zip archive of them.
//
// Read: versions 1 to 3; BOOL, integers and floats of either byte order, C or Fortran order, any rank up to
// kMaxDimensions; stored and deflated members. Elements come out little-endian in C order like any other
// dump. A text of rank 0 becomes metadata: under its own name, or, named `metadata`, as a JSON object of
// strings. Refused with a typed error: pickled objects (nothing is ever run), structured, complex and date
// types, texts of rank 1 and more, bytes too many or too few, encrypted members, members that share bytes of
// the archive, and more than kMaxArchiveBytes, or than kMaxArchiveExpansion times the archive, of them
// inflated. What the archive's directory alone shows is refused before anything is inflated.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/file.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

namespace attest::dump {

inline constexpr std::uint64_t kMaxNpyHeaderBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxArchiveBytes = std::uint64_t{1} << 32;  // of all members, inflated
inline constexpr std::uint64_t kMaxArchiveMembers = 4096;
// Numbers of a kernel hardly shrink, and masks lie beside them; what grows so much was made to. As much as
// kFreeArchiveBytes may come out of any archive.
inline constexpr std::uint64_t kMaxArchiveExpansion = 256;
inline constexpr std::uint64_t kFreeArchiveBytes = std::uint64_t{1} << 26;

// The one array is called arr_0, as numpy.savez calls an array without a name.
std::expected<File, Error> read_npy(const std::string& path);
std::expected<File, Error> parse_npy(std::span<const std::byte> bytes, std::string name = {});

// Members lose their .npy. These two are in target attest_npz, which needs libzip.
std::expected<File, Error> read_npz(const std::string& path);
std::expected<File, Error> parse_npz(std::span<const std::byte> bytes, std::string name = {});

}  // namespace attest::dump
