#include <attest/dump/file.hpp>

#include <algorithm>

namespace attest::dump {

File::File(std::vector<Tensor> tensors, Metadata metadata, std::shared_ptr<const void> storage)
    : tensors_(std::move(tensors)), metadata_(std::move(metadata)), storage_(std::move(storage)) {}

const Tensor* File::find(std::string_view name) const {
    const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const Tensor& tensor) { return tensor.name() == name; });
    return found == tensors_.end() ? nullptr : &*found;
}

std::optional<std::string_view> File::metadata(std::string_view key) const {
    const auto found = std::find_if(metadata_.begin(), metadata_.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (found == metadata_.end()) return std::nullopt;
    return found->second;
}

}  // namespace attest::dump
