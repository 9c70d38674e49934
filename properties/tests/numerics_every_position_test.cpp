// Rotary tables against MPFR at every position up to 2^17, and around 2^20.
#include <cstddef>

#include <gtest/gtest.h>

#include "numerics_rotation_table.hpp"

namespace attest::properties::numerics {
namespace {

template <class T>
class EveryPosition : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EveryPosition, Types);

TYPED_TEST(EveryPosition, is_right_to_half_an_ulp) {
    using T = TypeParam;
    constexpr std::size_t kPositions = (std::size_t{1} << 17) + 1;
    check_table<T>({10000.0, 8, 0, kPositions, 1, 1});
    check_table<T>({500000.0, 128, 0, kPositions, 11, 1});
    check_table<T>({0.01, 4, 0, kPositions, 1, 1});
    check_table<T>({10000.0, 64, (std::size_t{1} << 20) - 2048, 4096, 1, 1});
}

}  // namespace
}  // namespace attest::properties::numerics
