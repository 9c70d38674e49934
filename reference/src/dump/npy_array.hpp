// One array of NumPy's format, in memory.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/file.hpp>
#include <attest/dump/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attest::dump {

struct NpyArray {
    std::optional<std::string> text;  // of rank 0; then nothing else is set
    Dtype dtype = Dtype::BOOL;
    std::vector<std::uint64_t> shape;
    std::vector<std::byte> moved;      // the elements, where they had to be put in order
    std::span<const std::byte> bytes;  // the elements, in `moved` or where they were
};

// decode_npy takes a whole .npy file. The result looks at `bytes` unless it had to move them.
std::expected<NpyArray, Error> decode_npy(std::span<const std::byte> bytes);

// Arrays on their way into a File: what it will own, and what looks at it.
class Gathering {
  public:
    // Takes an array whose bytes lie in a buffer that keep() was given, or in itself. Errors: those of
    // parse_metadata, for a text named metadata that is no JSON object of strings.
    std::optional<Error> add(std::string name, NpyArray array);

    std::span<const std::byte> keep(std::vector<std::byte> buffer);
    void keep(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }

    // Errors: DuplicateName, DuplicateKey.
    std::expected<File, Error> finish();

  private:
    std::vector<Tensor> tensors_;
    File::Metadata metadata_;
    std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace attest::dump
