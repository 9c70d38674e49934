#include <attest/dump/error.hpp>

#include "../escape.hpp"

#include <array>
#include <cstddef>

namespace attest::dump {

namespace {

constexpr auto kTexts = std::to_array<std::string_view>({
    "CannotOpen",
    "CannotRead",
    "CannotWrite",
    "NotRegularFile",
    "HeaderTooSmall",
    "HeaderTooLarge",
    "InvalidHeaderLength",
    "InvalidHeader",
    "InvalidHeaderDeserialization",
    "DuplicateName",
    "DuplicateKey",
    "UnknownDtype",
    "UnsupportedDtype",
    "TooManyDimensions",
    "InvalidOffset",
    "ValidationOverflow",
    "TensorInvalidInfo",
    "MetadataIncompleteBuffer",
    "BadMagic",
    "UnsupportedVersion",
    "InvalidNpyHeader",
    "ObjectArray",
    "StructuredArray",
    "SizeMismatch",
    "InvalidArchive",
    "UnsupportedCompression",
    "EncryptedArchive",
    "ArchiveTooLarge",
    "AllocationFailed",
});
static_assert(kTexts.size() == static_cast<std::size_t>(ErrorCode::AllocationFailed) + 1);

}  // namespace

std::string_view to_text(ErrorCode code) {
    return kTexts[static_cast<std::size_t>(code)];
}

std::string Error::text() const {
    std::string out;
    if (!file.empty()) out += escape(file) + ": ";
    if (!tensor.empty()) out += "tensor " + escape(tensor) + ": ";
    out += to_text(code);
    if (!reason.empty()) out += ": " + escape(reason);
    return out;
}

}  // namespace attest::dump
