// One named array of a dump, whatever file format it came in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest::dump {

enum class Dtype : std::uint8_t { BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64 };

std::string_view to_text(Dtype dtype);
std::optional<Dtype> dtype_from_text(std::string_view text);
std::uint64_t size_of(Dtype dtype);  // bytes of one element
bool is_float(Dtype dtype);

inline constexpr std::size_t kMaxDimensions = 64;

// Elements lie little-endian in C order (last dimension fastest) at any alignment, so they are copied out one
// by one and never cast. The bytes belong to the File.
class Tensor {
  public:
    // `bytes` holds exactly the elements of `shape`; readers have checked it.
    Tensor(std::string name, Dtype dtype, std::vector<std::uint64_t> shape, std::span<const std::byte> bytes);

    const std::string& name() const { return name_; }
    Dtype dtype() const { return dtype_; }
    std::span<const std::uint64_t> shape() const { return shape_; }
    std::uint64_t count() const { return bytes_.size() / size_of(dtype_); }
    std::span<const std::byte> bytes() const { return bytes_; }

    // bits gives the pattern of element `index` in its low bits.
    std::uint64_t bits(std::uint64_t index) const;

    // number gives element `index` as a double: exactly for every float type (NaN payloads kept), BOOL and
    // integers of up to 53 bits; a wider integer is rounded to nearest, so ask integer() for those.
    double number(std::uint64_t index) const;

    // integer gives element `index` of an integer type or BOOL; nothing for floats and for U64 beyond 2^63
    // − 1.
    std::optional<std::int64_t> integer(std::uint64_t index) const;

    // numbers gives all elements in order.
    std::vector<double> numbers() const;

  private:
    std::string name_;
    Dtype dtype_;
    std::vector<std::uint64_t> shape_;
    std::span<const std::byte> bytes_;
};

// to_double widens a pattern exactly.
double to_double(Dtype dtype, std::uint64_t bits);

}  // namespace attest::dump
