#include <attest/reference/exact.hpp>

#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

// Two doubles whose sum is exactly a + b (Knuth, TAOCP 2, §4.2.2, theorem B); no sum here overflows unless
// the answer does.
struct Sum {
    double high;
    double low;
};

Sum two_sum(double a, double b) noexcept {
    const double high = a + b;
    const double of_b = high - a;
    return {high, (a - (high - of_b)) + (b - of_b)};
}

}  // namespace

double error_of(const Exact& want, double got) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(want.head)) return std::isnan(got) ? 0 : infinity;
    if (std::isinf(want.head)) return got == want.head ? 0 : infinity;
    if (!std::isfinite(got)) return std::isnan(got) ? got : infinity;
    // got − head − tail = rest.high + low, exactly, low being the sum of the two parts that were left over.
    const Sum difference = two_sum(got, -want.head);
    if (!std::isfinite(difference.high)) return infinity;
    const Sum rest = two_sum(difference.high, -want.tail);
    const Sum low = two_sum(rest.low, difference.low);
    const Sum whole = two_sum(rest.high, low.high);
    // What whole.high leaves out is whole.low + low.low; only its sign matters.
    const double left = whole.low != 0 ? whole.low : low.low;
    const double error = std::abs(whole.high);
    const bool too_small = left != 0 && (whole.high == 0 || std::signbit(left) == std::signbit(whole.high));
    return too_small ? std::nextafter(error, infinity) : error;
}

}  // namespace attest::reference
