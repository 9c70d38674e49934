#include "safetensors_mutator.hpp"

#include "attest/dump/safetensors.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace attest::fuzzing {
namespace {

constexpr std::size_t kLengthBytes = 8;

constexpr std::array<dump::Dtype, 13> kDtypes = {
    dump::Dtype::BOOL, dump::Dtype::U8,   dump::Dtype::I8,  dump::Dtype::U16, dump::Dtype::I16,
    dump::Dtype::F16,  dump::Dtype::BF16, dump::Dtype::U32, dump::Dtype::I32, dump::Dtype::F32,
    dump::Dtype::U64,  dump::Dtype::I64,  dump::Dtype::F64};

dump::NewTensor draw_tensor(Random& random, std::string name) {
    dump::NewTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = random.pick(kDtypes);
    std::uint64_t count = 1;
    for (std::uint64_t rank = random.below(4); rank > 0; --rank) {
        tensor.shape.push_back(random.below(4));
        count *= tensor.shape.back();
    }
    tensor.bytes.resize(static_cast<std::size_t>(count * dump::size_of(tensor.dtype)));
    for (std::byte& one : tensor.bytes) {
        one = static_cast<std::byte>(tensor.dtype == dump::Dtype::BOOL ? random.below(2) : random.below(256));
    }
    return tensor;
}

// One beyond the brace that closes the object which starts at `first`; 0 where it stays open.
std::size_t end_of_object(std::span<const std::byte> file, std::size_t first) {
    std::size_t depth = 0;
    bool inside_string = false;
    for (std::size_t position = first; position < file.size(); ++position) {
        const char c = static_cast<char>(file[position]);
        if (inside_string) {
            if (c == '\\') {
                ++position;
            }
            inside_string = c != '"';
        } else if (c == '"') {
            inside_string = true;
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && depth > 0 && --depth == 0) {
            return position + 1;
        }
    }
    return 0;
}

}  // namespace

std::vector<std::byte> draw_safetensors(Random& random) {
    static constexpr std::array<const char*, 6> kNames = {"x", "wq", "y", "", "\xc3\xa9 \"quoted\"", "keys"};
    std::vector<dump::NewTensor> tensors;
    const std::size_t first = random.position(kNames.size());
    for (std::size_t count = random.position(5); count > 0; --count) {
        tensors.push_back(draw_tensor(random, kNames[(first + count) % kNames.size()]));
    }
    dump::File::Metadata metadata;
    if (random.chance(1, 2)) {
        metadata.emplace_back("attest", "layer");
        metadata.emplace_back("heads", std::to_string(random.below(9)));
    }
    auto file = dump::format_safetensors(tensors, metadata);
    return file ? std::move(*file) : std::vector<std::byte>{};
}

void repair_safetensors(std::span<std::byte> file, Random& random) {
    if (file.size() <= kLengthBytes) {
        return;
    }
    std::size_t end = end_of_object(file, kLengthBytes);
    if (end == 0) {
        return;
    }
    while (end < file.size() && static_cast<char>(file[end]) == ' ' && random.chance(7, 8)) {
        ++end;
    }
    std::uint64_t length = end - kLengthBytes;
    for (std::size_t position = 0; position < kLengthBytes; ++position) {
        file[position] = static_cast<std::byte>(length & 0xffU);
        length >>= 8U;
    }
}

}  // namespace attest::fuzzing
