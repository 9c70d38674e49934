#include <attest/dump/npy.hpp>

#include "mapping.hpp"
#include "npy_array.hpp"

#include <memory>
#include <new>
#include <utility>

namespace attest::dump {

namespace {

std::expected<File, Error> parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    constexpr const char* kName = "arr_0";
    auto array = decode_npy(bytes);
    if (!array) return std::unexpected(std::move(array.error()));
    Gathering gathering;
    gathering.keep(std::move(owner));
    if (auto error = gathering.add(kName, std::move(*array))) return std::unexpected(std::move(*error));
    return gathering.finish();
}

std::expected<File, Error> parse_named(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                       std::string name) {
    try {
        auto file = parse(bytes, std::move(owner));
        if (!file) file.error().file = std::move(name);
        return file;
    } catch (const std::bad_alloc&) {
        return std::unexpected(Error{ErrorCode::AllocationFailed, std::move(name), {}, {}});
    }
}

}  // namespace

std::expected<File, Error> read_npy(const std::string& path) {
    auto mapping = Mapping::open(path);
    if (!mapping) return std::unexpected(std::move(mapping.error()));
    const auto bytes = (*mapping)->bytes();
    return parse_named(bytes, std::move(*mapping), path);
}

std::expected<File, Error> parse_npy(std::span<const std::byte> bytes, std::string name) {
    auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    return parse_named(*copy, copy, std::move(name));
}

}  // namespace attest::dump
