// Exact integer sums against sums in eight hundred digits.
#include "oracle/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace attest::reference {
namespace {

class Numbers {
  public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    // A double of `bits` significant bits and an exponent in [−spread, spread]; every eighth is 0.
    double draw(int bits, int spread) {
        if (next() % 8 == 0) return 0;
        const auto mantissa = static_cast<std::int64_t>(next() >> (64 - bits));
        const int exponent = static_cast<int>(next() % static_cast<std::uint64_t>(2 * spread + 1)) - spread;
        return std::ldexp(static_cast<double>(next() % 2 == 0 ? mantissa : -mantissa), exponent - bits);
    }

  private:
    std::uint64_t state_;
};

std::vector<double> draw_row(Numbers& numbers, std::size_t width, int bits, int spread) {
    std::vector<double> row;
    for (std::size_t i = 0; i < width; ++i)
        row.push_back(numbers.draw(bits, spread));
    return row;
}

Real800 slow_dot(const std::vector<double>& a, const std::vector<double>& b) {
    Real800 sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += Real800(a[i]) * b[i];
    return sum;
}

TEST(Fixed, ExactDotsAreExact) {
    Numbers numbers(1);
    std::size_t one_limb = 0, two_limbs = 0, unfit = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        const std::size_t width = 1 + numbers.next() % 70;
        const int spread = static_cast<int>(numbers.next() % 40);
        std::vector<double> a = draw_row(numbers, width, trial % 2 == 0 ? 24 : 53, spread);
        std::vector<double> b = draw_row(numbers, width, trial % 3 == 0 ? 53 : 11, spread);
        // What cancels: the last term takes back the others' sum as nearly as a double can.
        if (trial % 5 == 0) {
            b.back() = 1;
            a.back() = 0;
            a.back() = static_cast<double>(-slow_dot(a, b));
        }
        const Matrix left(a, width), right(b, width);
        const Fixed::Row l = left.fixed.row(0), r = right.fixed.row(0);
        if (l.count == 0 || r.count == 0) {
            ++unfit;
            continue;
        }
        ++(l.count == 2 || r.count == 2 ? two_limbs : one_limb);
        bool agrees = true;
        const Real800 got =
            exact_dot<Real800>(l, r, width, left.residues.row(0), right.residues.row(0), &agrees);
        EXPECT_EQ(got, slow_dot(a, b)) << trial;
        EXPECT_TRUE(agrees) << trial;
        // In fifty digits it is that number, rounded a few times.
        const Real rounded = exact_dot<Real>(l, r, width);
        EXPECT_LE(abs(Real800(rounded) - got), abs(got) * 0x1p-164) << trial;
        // A residue that is off by one is noticed.
        if (width > 1 && a[0] != 0) {
            std::vector<std::uint64_t> spoiled(right.residues.row(0), right.residues.row(0) + width);
            spoiled[0] = spoiled[0] == 0 ? 1 : spoiled[0] - 1;
            (void)exact_dot<Real>(l, r, width, left.residues.row(0), spoiled.data(), &agrees);
            EXPECT_FALSE(agrees) << trial;
        }
    }
    EXPECT_GT(one_limb, 200U);
    EXPECT_GT(two_limbs, 500U);
    EXPECT_GT(unfit, 20U);
}

TEST(Fixed, TheLongestRowOfTheLargestNumbersFits) {
    const std::vector<double> a(kMostTerms, 0x1.fffffffffffffp+56), b(kMostTerms, -0x1.fffffffffffffp+56);
    std::vector<double> wide = a;
    wide[0] = 1;  // 2^57 beside 1: two limbs
    const Matrix left(wide, kMostTerms), right(b, kMostTerms);
    ASSERT_EQ(left.fixed.row(0).count, 2U);
    bool agrees = true;
    EXPECT_EQ(exact_dot<Real800>(left.fixed.row(0), right.fixed.row(0), kMostTerms, left.residues.row(0),
                                 right.residues.row(0), &agrees),
              slow_dot(wide, b));
    EXPECT_TRUE(agrees);
    const std::vector<double> longer(kMostTerms + 1, 1.0);
    EXPECT_EQ(Matrix(longer, kMostTerms + 1).fixed.row(0).count, 0U);
}

TEST(Fixed, SubnormalsAndTheLargestAreExactToo) {
    const std::vector<double> tiny{0x1p-1074, -0x1p-1060, 0}, vast{0x1p1023, 0x1p1000, 0x1p980};
    const Matrix left(tiny, 3), right(vast, 3);
    ASSERT_EQ(left.fixed.row(0).count, 1U);
    ASSERT_EQ(right.fixed.row(0).count, 1U);
    EXPECT_EQ(exact_dot<Real800>(left.fixed.row(0), right.fixed.row(0), 3), slow_dot(tiny, vast));
    const std::vector<double> zeros(4, 0.0);
    const Matrix none(zeros, 4);
    EXPECT_EQ(exact_dot<Real>(none.fixed.row(0), none.fixed.row(0), 4), Real(0));
}

// What the cut loses is below what fifty digits lose anyway, or the sum is made in Real.
TEST(Fixed, CutDotsAreAsGoodAsReal) {
    Numbers numbers(2);
    std::size_t refused = 0, cut = 0;
    for (int trial = 0; trial < 1000; ++trial) {
        const std::size_t width = 1 + numbers.next() % 40;
        const std::vector<double> a = draw_row(numbers, width, 24, 10);
        std::vector<Real> b;
        for (const double value : draw_row(numbers, width, 53, 60))
            b.push_back(value == 0 ? Real(0) : Real(value) / 3);
        if (trial % 4 == 0 && width > 2) {
            // The sum all but cancels.
            Real rest = 0;
            for (std::size_t i = 1; i < width; ++i)
                rest += a[i] * b[i];
            if (a[0] != 0) b[0] = -rest / a[0];
        }
        Real800 exact = 0;
        for (std::size_t i = 0; i < width; ++i)
            exact += Real800(a[i]) * Real800(b[i]);
        const Fixed row = Fixed::cut_to<Real>(b.data(), 1, width, limbs_for<Real>());
        const auto got = cut_dot<Real>(Fixed::exact(a, width).row(0), row.row(0), width);
        cut += row.row(0).cut ? 1U : 0U;
        if (!got) {
            ++refused;
            continue;
        }
        EXPECT_LE(abs(Real800(*got) - exact), abs(exact) * 0x1p-163) << trial;
    }
    EXPECT_GT(cut, 100U);
    EXPECT_GT(refused, 20U);
    EXPECT_LT(refused, 500U);
}

// Merging in both formulations, with rows that fit and rows that don't; a spoiled answer is noticed by the
// exchanged sums.
TEST(Product, MergesAgreeInBothFormulations) {
    Numbers numbers(3);
    const std::size_t features = 12, width = 7;
    std::vector<double> wo = draw_row(numbers, width * features, 24, 4);
    wo[0] = 0x1p600;
    wo[1] = 0x1p-600;  // this row fits no two limbs
    const Matrix matrix(wo, features);
    ASSERT_EQ(matrix.fixed.row(0).count, 0U);
    Heads<Real> mixed(2, 3, 5, 4);
    for (Real& value : mixed.data)
        value = Real(numbers.draw(53, 5)) / 7;
    Checked one{.formulation = Formulation::definition, .threads = 2};
    Checked two{.formulation = Formulation::second, .threads = 2};
    const std::vector<Real> first = merge(mixed, matrix, one), second = merge(mixed, matrix, two);
    EXPECT_TRUE(one.agrees);
    EXPECT_TRUE(two.agrees);
    ASSERT_EQ(first.size(), 2U * 5U * width);
    for (std::size_t n = 0; n < first.size(); ++n) {
        EXPECT_LE(abs(first[n] - second[n]), abs(first[n]) * 0x1p-150);
        Real plain = 0;
        for (std::size_t j = 0; j < features; ++j)
            plain += wo[n % width * features + j] * mixed.at(n / width / 5, j / 4, n / width % 5)[j % 4];
        EXPECT_LE(abs(first[n] - plain), abs(plain) * 0x1p-120);
    }
}

// One wrong element, however little wrong, and the exchanged sums differ.
TEST(Product, TheExchangedSumsNoticeAWrongElement) {
    Numbers numbers(4);
    const std::size_t features = 6, width = 9;
    const std::vector<double> wo = draw_row(numbers, width * features, 24, 4);
    const Matrix matrix(wo, features);
    Heads<Real> mixed(1, 2, 1, 3);
    for (Real& value : mixed.data)
        value = Real(numbers.draw(53, 5)) / 7;
    Checked how{.formulation = Formulation::definition, .threads = 1};
    std::vector<Real> y = merge(mixed, matrix, how);
    const Exchange<Real> exchange(matrix);
    EXPECT_TRUE(exchange.agrees(y.data(), width, mixed.data));
    for (Real& element : y) {
        const Real right = element;
        element += (1 + abs(right)) * 0x1p-60;
        EXPECT_FALSE(exchange.agrees(y.data(), width, mixed.data));
        element = right;
    }
}

}  // namespace
}  // namespace attest::reference
