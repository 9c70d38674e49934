#include "npy_array.hpp"

#include <attest/dump/npy.hpp>

#include "find_twice.hpp"
#include "npy_header.hpp"
#include "safetensors_header.hpp"
#include "utf8.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace attest::dump {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

std::unexpected<Error> refuse(ErrorCode code, std::string reason) {
    return std::unexpected(Error{code, {}, {}, std::move(reason)});
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
}

// The dictionary's text; `bytes` becomes what lies behind it.
std::expected<std::string_view, Error> take_header(std::span<const std::byte>& bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 2)
        return refuse(ErrorCode::BadMagic, "does not begin as an array of NumPy");
    const auto major = std::to_integer<unsigned>(bytes[6]);
    const auto minor = std::to_integer<unsigned>(bytes[7]);
    if (major < 1 || major > 3 || minor != 0)
        return refuse(ErrorCode::UnsupportedVersion, std::to_string(major) + "." + std::to_string(minor));
    const std::size_t width = major == 1 ? 2 : 4;
    if (bytes.size() - 8 < width) return refuse(ErrorCode::HeaderTooSmall, "ends inside the header's length");
    const std::uint64_t length = little_endian(bytes.subspan(8, width));
    if (length > kMaxNpyHeaderBytes)
        return refuse(ErrorCode::HeaderTooLarge, std::to_string(length) + " bytes of header");
    if (length > bytes.size() - 8 - width)
        return refuse(
            ErrorCode::InvalidHeaderLength,
            std::to_string(length) + " bytes of header in a file of " + std::to_string(bytes.size()));
    bytes = bytes.subspan(8 + width + static_cast<std::size_t>(length));
    return text.substr(8 + width, static_cast<std::size_t>(length));
}

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
    if (b != 0 && a > UINT64_MAX / b) return std::nullopt;
    return a * b;
}

std::expected<void, Error> check_size(const NpyHeader& header, std::uint64_t bytes) {
    std::optional<std::uint64_t> size = 1;
    for (std::size_t axis = 0; size && axis < header.shape.size(); ++axis)
        size = product(*size, header.shape[axis]);
    if (size) size = product(*size, header.item_size);
    if (!size) return refuse(ErrorCode::ValidationOverflow, "the shape's size exceeds 64 bits");
    if (*size != bytes)
        return refuse(ErrorCode::SizeMismatch,
                      std::to_string(bytes) + " bytes for a shape of " + std::to_string(*size));
    return {};
}

// UTF-32 of either byte order, or bytes that must be UTF-8; NULs at the end are padding.
std::expected<std::string, Error> decode_text(const NpyHeader& header, std::span<const std::byte> bytes) {
    std::string out;
    if (header.text_width == 1) {
        out.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else {
        for (std::size_t at = 0; at < bytes.size(); at += 4) {
            auto unit = static_cast<std::uint32_t>(little_endian(bytes.subspan(at, 4)));
            if (header.big_endian) unit = __builtin_bswap32(unit);
            const auto tail = [&](unsigned shift) {
                out += static_cast<char>(0x80 | ((unit >> shift) & 0x3f));
            };
            if (unit > 0x10ffff) return refuse(ErrorCode::InvalidHeader, "text beyond Unicode");
            if (unit < 0x80) {
                out += static_cast<char>(unit);
            } else if (unit < 0x800) {
                out += static_cast<char>(0xc0 | unit >> 6);
            } else if (unit < 0x10000) {
                out += static_cast<char>(0xe0 | unit >> 12);
                tail(6);
            } else {
                out += static_cast<char>(0xf0 | unit >> 18);
                tail(12);
                tail(6);
            }
            if (unit >= 0x80) tail(0);
        }
    }
    out.erase(out.find_last_not_of('\0') + 1);
    if (!is_utf8(out)) return refuse(ErrorCode::InvalidHeader, "text that is not UTF-8");
    return out;
}

// Copies elements into little-endian C order. In Fortran order the first index runs fastest.
std::vector<std::byte> reorder(const NpyHeader& header, std::span<const std::byte> bytes) {
    std::vector<std::byte> out(bytes.size());
    if (bytes.empty()) return out;
    const auto size = static_cast<std::size_t>(header.item_size);
    const std::size_t rank = header.shape.size();
    std::vector<std::size_t> strides(rank, size);
    for (std::size_t axis = 1; axis < rank; ++axis)
        strides[axis] = strides[axis - 1] * static_cast<std::size_t>(header.shape[axis - 1]);
    std::vector<std::uint64_t> index(rank, 0);
    std::size_t from = 0;
    for (std::size_t to = 0; to < out.size(); to += size) {
        const std::size_t source = header.fortran ? from : to;
        for (std::size_t i = 0; i < size; ++i)
            out[to + i] = bytes[source + (header.big_endian ? size - 1 - i : i)];
        for (std::size_t axis = rank; axis-- > 0;) {  // the next index in C order
            from += strides[axis];
            if (++index[axis] < header.shape[axis]) break;
            from -= strides[axis] * static_cast<std::size_t>(header.shape[axis]);
            index[axis] = 0;
        }
    }
    return out;
}

}  // namespace

std::expected<NpyArray, Error> decode_npy(std::span<const std::byte> bytes) {
    const auto text = take_header(bytes);
    if (!text) return std::unexpected(text.error());
    auto header = parse_npy_header(*text);
    if (!header) return std::unexpected(std::move(header.error()));
    if (auto done = check_size(*header, bytes.size()); !done) return std::unexpected(std::move(done.error()));
    NpyArray array;
    if (!header->dtype) {
        if (!header->shape.empty()) return refuse(ErrorCode::UnsupportedDtype, "an array of texts");
        auto decoded = decode_text(*header, bytes);
        if (!decoded) return std::unexpected(std::move(decoded.error()));
        array.text = std::move(*decoded);
        return array;
    }
    array.dtype = *header->dtype;
    array.bytes = bytes;
    if ((header->big_endian && header->item_size > 1) || (header->fortran && header->shape.size() > 1)) {
        array.moved = reorder(*header, bytes);
        array.bytes = array.moved;
    }
    array.shape = std::move(header->shape);
    return array;
}

std::span<const std::byte> Gathering::keep(std::vector<std::byte> buffer) {
    auto kept = std::make_shared<const std::vector<std::byte>>(std::move(buffer));
    const std::span<const std::byte> bytes = *kept;
    owners_.push_back(std::move(kept));
    return bytes;
}

std::optional<Error> Gathering::add(std::string name, NpyArray array) {
    if (array.text && name == "metadata") {
        auto metadata = parse_metadata(*array.text);
        if (!metadata) return std::move(metadata.error());
        std::move(metadata->begin(), metadata->end(), std::back_inserter(metadata_));
        return std::nullopt;
    }
    if (array.text) {
        metadata_.emplace_back(std::move(name), std::move(*array.text));
        return std::nullopt;
    }
    const auto bytes = array.bytes;  // a buffer stays where it is when its vector moves
    if (!array.moved.empty()) keep(std::move(array.moved));
    tensors_.emplace_back(std::move(name), array.dtype, std::move(array.shape), bytes);
    return std::nullopt;
}

std::expected<File, Error> Gathering::finish() {
    if (auto name =
            find_twice(tensors_, [](const Tensor& tensor) -> const std::string& { return tensor.name(); }))
        return std::unexpected(Error{ErrorCode::DuplicateName, {}, *name, "two tensors of this name"});
    if (auto key = find_twice(metadata_, [](const auto& pair) -> const std::string& { return pair.first; }))
        return refuse(ErrorCode::DuplicateKey, "metadata key " + *key + " stands twice");
    return File(std::move(tensors_), std::move(metadata_),
                std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(owners_)));
}

}  // namespace attest::dump
