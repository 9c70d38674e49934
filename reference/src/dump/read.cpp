#include <attest/dump/file.hpp>
#include <attest/dump/npy.hpp>
#include <attest/dump/safetensors.hpp>

#include "mapping.hpp"

#include <algorithm>
#include <string_view>

namespace attest::dump {

std::expected<File, Error> read(const std::string& path) {
    std::string start;
    {
        const auto mapping = Mapping::open(path);
        if (!mapping) return std::unexpected(mapping.error());
        const auto bytes = (*mapping)->bytes();
        for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 6)))
            start += std::to_integer<char>(byte);
    }
    const std::string_view name = path;
    if (start == "\x93NUMPY" || name.ends_with(".npy")) return read_npy(path);
    // An archive begins with a member, or with the end of its directory if it has none.
    if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06") || name.ends_with(".npz"))
        return read_npz(path);
    return read_safetensors(path);
}

}  // namespace attest::dump
