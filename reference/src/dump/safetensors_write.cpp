#include <attest/dump/safetensors.hpp>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace attest::dump {

namespace {

template <typename T, typename Bits>
std::vector<std::byte> little_endian(std::span<const T> elements) {
    std::vector<std::byte> out;
    out.reserve(elements.size() * sizeof(Bits));
    for (const T element : elements) {
        const auto bits = std::bit_cast<Bits>(element);
        for (std::size_t i = 0; i < sizeof(Bits); ++i)
            out.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xff));
    }
    return out;
}

bool write_all(std::FILE* file, std::span<const std::byte> bytes) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return std::fclose(file) == 0 && written;
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        if (byte >= 0x20) {
            out += c;
            continue;
        }
        out += "\\u00";
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    out += '"';
}

void append_metadata(std::string& out, const File::Metadata& metadata) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
        if (out.back() != '{') out += ',';
        append_quoted(out, key);
        out += ':';
        append_quoted(out, value);
    }
    out += '}';
}

void append_entry(std::string& out, const NewTensor& tensor, std::size_t first) {
    append_quoted(out, tensor.name);
    out += ":{\"dtype\":\"";
    out += to_text(tensor.dtype);
    out += "\",\"shape\":[";
    for (const std::uint64_t size : tensor.shape) {
        if (out.back() != '[') out += ',';
        out += std::to_string(size);
    }
    out += "],\"data_offsets\":[" + std::to_string(first) + "," +
           std::to_string(first + tensor.bytes.size()) + "]}";
}

std::string header_of(std::span<const NewTensor> tensors, const File::Metadata& metadata) {
    std::string out = "{";
    if (!metadata.empty()) append_metadata(out, metadata);
    std::size_t first = 0;
    for (const NewTensor& tensor : tensors) {
        if (out.back() != '{') out += ',';
        append_entry(out, tensor, first);
        first += tensor.bytes.size();
    }
    out += '}';
    out.append((8 - out.size() % 8) % 8, ' ');
    return out;
}

std::optional<Error> cannot_write(const std::string& path) {
    return Error{ErrorCode::CannotWrite, path, {}, std::generic_category().message(errno)};
}

}  // namespace

NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape, std::span<const double> elements) {
    return {std::move(name), Dtype::F64, std::move(shape), little_endian<double, std::uint64_t>(elements)};
}
NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape, std::span<const float> elements) {
    return {std::move(name), Dtype::F32, std::move(shape), little_endian<float, std::uint32_t>(elements)};
}
NewTensor make_tensor(std::string name, std::vector<std::uint64_t> shape,
                      std::span<const std::int64_t> elements) {
    return {std::move(name), Dtype::I64, std::move(shape),
            little_endian<std::int64_t, std::uint64_t>(elements)};
}

std::expected<std::vector<std::byte>, Error> format_safetensors(std::span<const NewTensor> tensors,
                                                                const File::Metadata& metadata) {
    const std::string header = header_of(tensors, metadata);
    const std::uint64_t length[] = {header.size()};
    std::vector<std::byte> out = little_endian<std::uint64_t, std::uint64_t>(length);
    const auto text = std::as_bytes(std::span(header));
    out.insert(out.end(), text.begin(), text.end());
    for (const NewTensor& tensor : tensors)
        out.insert(out.end(), tensor.bytes.begin(), tensor.bytes.end());
    // The reader is the one judge of what is well formed.
    if (auto back = parse_safetensors(out); !back) return std::unexpected(std::move(back.error()));
    return out;
}

std::optional<Error> write_safetensors(const std::string& path, std::span<const NewTensor> tensors,
                                       const File::Metadata& metadata) {
    auto bytes = format_safetensors(tensors, metadata);
    if (!bytes) {
        bytes.error().file = path;
        return std::move(bytes.error());
    }
    // A device or a pipe is written to; a link's target is what is replaced, and not the link.
    std::error_code failed;
    std::filesystem::path target = path;
    const auto kind = std::filesystem::status(target, failed).type();
    if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular) {
        std::FILE* const file = std::fopen(path.c_str(), "wb");
        if (file == nullptr) return cannot_write(path);
        return write_all(file, *bytes) ? std::nullopt : std::optional(cannot_write(path));
    }
    if (kind == std::filesystem::file_type::regular) {
        target = std::filesystem::canonical(target, failed);
        if (failed) return cannot_write(path);
    }
    const std::string part = target.string() + ".part" + std::to_string(::getpid());
    std::FILE* const file = std::fopen(part.c_str(), "wbx");
    if (file == nullptr) return cannot_write(part);
    if (write_all(file, *bytes) && std::rename(part.c_str(), target.c_str()) == 0) return std::nullopt;
    auto error = cannot_write(path);
    std::remove(part.c_str());
    return error;
}

}  // namespace attest::dump
