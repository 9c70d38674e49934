#include <attest/dump/safetensors.hpp>

#include "mapping.hpp"
#include "safetensors_header.hpp"
#include "utf8.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace attest::dump {

namespace {

constexpr std::size_t kLengthBytes = 8;

std::unexpected<Error> refuse(ErrorCode code, std::string reason, std::string tensor = {}) {
    return std::unexpected(Error{code, {}, std::move(tensor), std::move(reason)});
}

// The header's text, checked for length and encoding.
std::expected<std::string_view, Error> header_text(std::span<const std::byte> bytes) {
    if (bytes.size() < kLengthBytes)
        return refuse(ErrorCode::HeaderTooSmall,
                      std::to_string(bytes.size()) + " bytes hold no header length");
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;)
        length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    if (length > kMaxHeaderBytes)
        return refuse(ErrorCode::HeaderTooLarge, std::to_string(length) + " bytes of header");
    if (length > bytes.size() - kLengthBytes)
        return refuse(
            ErrorCode::InvalidHeaderLength,
            std::to_string(length) + " bytes of header in a file of " + std::to_string(bytes.size()));
    const auto text = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
    const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
    if (!is_utf8(view)) return refuse(ErrorCode::InvalidHeader, "the header is not UTF-8");
    return view;
}

// Bytes of a tensor. The format's own reader multiplies in the order of the shape, and so does this: a zero
// behind an overflow does not excuse it.
std::expected<std::uint64_t, Error> size_of_entry(const Entry& entry) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bits = 1;
    const auto multiply = [&](std::uint64_t factor) {
        if (factor != 0 && bits > kMax / factor) return false;
        bits *= factor;
        return true;
    };
    const bool fits =
        std::all_of(entry.shape.begin(), entry.shape.end(), multiply) && multiply(8 * size_of(entry.dtype));
    if (!fits)
        return refuse(ErrorCode::ValidationOverflow, "the shape's size in bits exceeds 64 bits", entry.name);
    return bits / 8;
}

// Tensors must fill the rest of the file one behind the other, without hole or overlap.
std::optional<Error> check_layout(const std::vector<Entry>& entries, std::uint64_t buffer) {
    std::vector<const Entry*> by_offset;
    by_offset.reserve(entries.size());
    for (const Entry& entry : entries)
        by_offset.push_back(&entry);
    const auto before = [](const Entry* a, const Entry* b) {
        return a->offsets != b->offsets ? a->offsets < b->offsets
                                        : a < b;  // of equal ones the first in the text
    };
    std::sort(by_offset.begin(), by_offset.end(), before);
    std::uint64_t end = 0;
    for (const Entry* entry : by_offset) {
        const auto [first, last] = entry->offsets;
        if (first != end || last < first)
            return refuse(ErrorCode::InvalidOffset,
                          "offsets " + std::to_string(first) + " to " + std::to_string(last) + " where " +
                              std::to_string(end) + " is due",
                          entry->name)
                .error();
        const auto size = size_of_entry(*entry);
        if (!size) return size.error();
        if (last - first != *size)
            return refuse(ErrorCode::TensorInvalidInfo,
                          std::to_string(last - first) + " bytes for a shape of " + std::to_string(*size),
                          entry->name)
                .error();
        end = last;
    }
    if (end != buffer)
        return refuse(ErrorCode::MetadataIncompleteBuffer, "the tensors take " + std::to_string(end) +
                                                               " bytes, the file has " +
                                                               std::to_string(buffer))
            .error();
    return std::nullopt;
}

std::expected<File, Error> parse(std::span<const std::byte> bytes, std::shared_ptr<const void> storage) {
    const auto text = header_text(bytes);
    if (!text) return std::unexpected(text.error());
    auto header = parse_header(*text);
    if (!header) return std::unexpected(std::move(header.error()));
    const auto buffer = bytes.subspan(kLengthBytes + text->size());
    if (auto error = check_layout(header->entries, buffer.size())) return std::unexpected(std::move(*error));
    std::vector<Tensor> tensors;
    tensors.reserve(header->entries.size());
    for (Entry& entry : header->entries) {
        const auto first = static_cast<std::size_t>(entry.offsets[0]);
        const auto size = static_cast<std::size_t>(entry.offsets[1]) - first;
        tensors.emplace_back(std::move(entry.name), entry.dtype, std::move(entry.shape),
                             buffer.subspan(first, size));
    }
    return File(std::move(tensors), std::move(header->metadata), std::move(storage));
}

// A long header in little memory is the one thing here that may run out of it.
std::expected<File, Error> parse_named(std::span<const std::byte> bytes, std::shared_ptr<const void> storage,
                                       std::string name) {
    try {
        auto file = parse(bytes, std::move(storage));
        if (!file) file.error().file = std::move(name);
        return file;
    } catch (const std::bad_alloc&) {
        return std::unexpected(Error{ErrorCode::AllocationFailed, std::move(name), {}, {}});
    }
}

}  // namespace

std::expected<File, Error> read_safetensors(const std::string& path) {
    auto mapping = Mapping::open(path);
    if (!mapping) return std::unexpected(std::move(mapping.error()));
    const auto bytes = (*mapping)->bytes();
    return parse_named(bytes, std::move(*mapping), path);
}

std::expected<File, Error> parse_safetensors(std::span<const std::byte> bytes, std::string name) {
    auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    return parse_named(*copy, copy, std::move(name));
}

}  // namespace attest::dump
