#include "oracle_input.hpp"

#include "attest/case/parse.hpp"
#include "attest/case/values.hpp"
#include "attest/case/words.hpp"
#include "attest/properties/laws.hpp"

#include "cost.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace attest::fuzzing {
namespace {

// Where each choice stands in the header.
enum Byte : std::size_t {
    kFlags,
    kKvHeads,
    kGroup,
    kHeadWidth,
    kWidth,
    kRopeWidth,
    kBase,
    kRows,
    kFilling,
    kSeed,         // two
    kFirst = 11,   // two
    kChunks = 13,  // two: a bit ends a chunk
    kSpare = 15,
};

constexpr std::array<cases::Tensor, 5> kTensors = {cases::Tensor::x, cases::Tensor::wq, cases::Tensor::wk,
                                                   cases::Tensor::wv, cases::Tensor::wo};

template <typename T, std::size_t N>
T choice(const std::array<T, N>& from, std::uint8_t byte) {
    return from[byte % N];
}

void decode_geometry(std::span<const std::uint8_t> bytes, cases::Case& one) {
    static constexpr std::array<std::uint64_t, 8> kHeadWidths = {4, 8, 2, 6, 16, 3, 5, 17};
    static constexpr std::array<std::uint64_t, 8> kWidths = {8, 12, 9, 16, 17, 10, 33, 4};
    static constexpr std::array<double, 6> kBases = {10000.0, 500000.0, 100.0, 2.0, 1e6, 0x1.8p-1};
    using cases::Filling;
    static constexpr std::array<Filling, 10> kFillings = {
        Filling::normal,   Filling::uniform, Filling::xavier,     Filling::distinct, Filling::integers,
        Filling::identity, Filling::powers,  Filling::cancelling, Filling::needle,   Filling::equal};
    one.law = "inside_the_bound";
    one.type = (bytes[kFlags] & 1U) == 0 ? cases::ElementType::float32 : cases::ElementType::float64;
    one.rope.pairs = (bytes[kFlags] & 2U) == 0 ? cases::Pairs::interleaved : cases::Pairs::half;
    one.batch = (bytes[kFlags] & 4U) == 0 ? 1 : 2;
    one.kv_heads = 1 + bytes[kKvHeads] % 3U;
    one.heads = one.kv_heads * (1 + bytes[kGroup] % 3U);
    one.head_width = choice(kHeadWidths, bytes[kHeadWidth]);
    one.width = choice(kWidths, bytes[kWidth]);
    const std::uint64_t most = one.head_width / 2 * 2;
    one.rope.width =
        bytes[kRopeWidth] % 4U == 3 ? std::min<std::uint64_t>(most, 2) * (bytes[kRopeWidth] % 8U == 3) : most;
    one.rope.base = choice(kBases, bytes[kBase]);
    one.values.filling = choice(kFillings, bytes[kFilling]);
    one.values.seed = bytes[kSeed] + 256U * bytes[kSeed + 1];
    // Tables for far positions take longer to make than the rest to judge.
    const bool far = (bytes[kFlags] & 0x38U) == 0x38U;
    one.rope.first = bytes[kFirst] + (far ? 256U * bytes[kFirst + 1] : 0U);
}

// Between four and nineteen rows, as the header's bits cut them: single ones are appended, others prefilled.
void decode_steps(std::span<const std::uint8_t> bytes, cases::Case& one) {
    const std::uint64_t rows = 4 + bytes[kRows] % 16U;
    const unsigned ends = bytes[kChunks] + 256U * bytes[kChunks + 1];
    std::uint64_t chunk = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
        ++chunk;
        if (row + 1 < rows && ((ends >> (row % 16U)) & 1U) == 0) {
            continue;
        }
        cases::Step step;
        if (chunk > 1) {
            step.verb = cases::Verb::prefill;
            step.count = chunk;
        }
        one.steps.push_back(step);
        chunk = 0;
    }
    one.capacity = rows + bytes[kSpare] % 4U;
    one.rope.positions = one.rope.first + one.capacity + (bytes[kSpare] >> 4U);
}

// A pattern of a double from four bytes: sign, folded exponent, and the mantissa as far as the type has one.
std::uint64_t decode_bits(std::uint32_t raw, cases::ElementType type) {
    constexpr std::uint64_t kBias = 1023;
    const std::uint64_t sign = raw >> 31U;
    const std::uint64_t exponent = ((raw >> 23U) & 0x3fU) + kBias - 32;
    std::uint64_t mantissa = std::uint64_t{raw & 0x7fffffU} << 29U;
    if (type == cases::ElementType::float64) {
        mantissa |= Random(raw).next() >> 35U;
    }
    return (sign << 63U) | (exponent << 52U) | mantissa;
}

void decode_elements(std::span<const std::uint8_t> bytes, cases::Case& one) {
    std::size_t at = kOracleHeaderBytes;
    for (const cases::Tensor tensor : kTensors) {
        const auto shape = cases::shape_of(one, tensor);
        if (!shape) {
            return;
        }
        cases::Set set;
        set.tensor = tensor;
        for (std::uint64_t element = 0; element < shape->elements; ++element) {
            if (at + kOracleElementBytes > bytes.size() || one.sets.size() == cases::kMaxSets) {
                return;
            }
            std::uint32_t raw = 0;
            for (std::size_t byte = 0; byte < kOracleElementBytes; ++byte) {
                raw |= std::uint32_t{bytes[at + byte]} << (8U * byte);
            }
            at += kOracleElementBytes;
            std::uint64_t rest = element;
            for (unsigned axis = shape->rank; axis > 0; --axis) {
                set.index[axis - 1] = rest % shape->sizes[axis - 1];
                rest /= shape->sizes[axis - 1];
            }
            set.bits = decode_bits(raw, one.type);
            one.sets.push_back(set);
        }
    }
}

}  // namespace

std::optional<cases::Case> oracle_case(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < kOracleHeaderBytes) {
        return std::nullopt;
    }
    cases::Case one;
    decode_geometry(bytes, one);
    decode_steps(bytes, one);
    if (!affordable(one, kForTheOracle)) {
        return std::nullopt;
    }
    decode_elements(bytes, one);
    cases::normalise(one);
    return one;
}

std::vector<std::uint8_t> draw_oracle_input(Random& random, std::size_t bytes_max) {
    const std::size_t elements = random.chance(1, 4) ? 0 : random.position(300);
    std::vector<std::uint8_t> bytes(std::min(bytes_max, kOracleHeaderBytes + elements * kOracleElementBytes));
    for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(random.below(256));
    }
    return bytes;
}

properties::Verdict against_the_oracle(std::span<const std::byte> bytes) {
    const auto one = oracle_case({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!one) {
        return properties::vacuous("no header, or too large a case");
    }
    const auto subject = properties::make_attest_subject();
    return properties::law::inside_the_bound(*one, *subject);
}

}  // namespace attest::fuzzing
