// A dump in memory: its tensors and its metadata strings.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/tensor.hpp>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::dump {

// A File owns (or maps) the bytes its tensors look at. Moving it keeps them where they are.
class File {
  public:
    using Metadata = std::vector<std::pair<std::string, std::string>>;

    File(std::vector<Tensor> tensors, Metadata metadata, std::shared_ptr<const void> storage);
    File(File&&) noexcept = default;
    File& operator=(File&&) noexcept = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // In the order of the file. Names are unique.
    const std::vector<Tensor>& tensors() const { return tensors_; }
    const Tensor* find(std::string_view name) const;

    // Keys are unique.
    const Metadata& metadata() const { return metadata_; }
    std::optional<std::string_view> metadata(std::string_view key) const;

  private:
    std::vector<Tensor> tensors_;
    Metadata metadata_;
    std::shared_ptr<const void> storage_;
};

// read takes a file of any format known here (safetensors, npy, npz), told by its first bytes, then by its
// name; all else is tried as safetensors, which has no mark of its own. In target attest_npz.
std::expected<File, Error> read(const std::string& path);

}  // namespace attest::dump
