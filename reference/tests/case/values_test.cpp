#include <attest/case/number.hpp>
#include <attest/case/rows.hpp>
#include <attest/case/values.hpp>
#include <attest/case/words.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attest::cases {
namespace {

Case small(ElementType type, Filling filling, std::uint64_t seed = 7) {
    Case one;
    one.type = type;
    one.batch = 2;
    one.width = 24;
    one.heads = 6;
    one.kv_heads = 2;
    one.head_width = 4;
    one.values = {filling, seed};
    one.steps = {{.verb = Verb::prefill, .count = 9}};
    return one;
}

template <typename T = double>
std::vector<T> filled(const Case& one, Tensor tensor, Tensor of = Tensor::wq, std::uint64_t ordinal = 0) {
    auto out = fill<T>(one, tensor, of, ordinal);
    EXPECT_TRUE(out) << out.error().text();
    return out.value_or(std::vector<T>{});
}

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float64};

// FNV-1a over all patterns of all tensors of one filling.
std::uint64_t digest(ElementType type, Filling filling) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const Tensor tensor : all_tensors()) {
        for (const double value : filled(small(type, filling), tensor, Tensor::wo, 3)) {
            const auto bits = std::bit_cast<std::uint64_t>(value);
            for (int shift = 0; shift < 64; shift += 8)
                hash = (hash ^ ((bits >> shift) & 0xff)) * 0x100000001b3;
        }
    }
    return hash;
}

// A case means the same bits for ever and under every compiler: these digests may only change together with
// every case file anybody keeps.
TEST(Values, BitsAreTheSameEverywhere) {
    std::string got;
    for (const Filling filling : all_fillings()) {
        for (const ElementType type : kTypes)
            got += std::string(to_text(filling)) + " " + std::string(to_text(type)) + " " +
                   std::to_string(digest(type, filling)) + "\n";
    }
    EXPECT_EQ(got,
              "zeros float 12209476146982945061\n"
              "zeros double 12209476146982945061\n"
              "ones float 13294038020717950501\n"
              "ones double 13294038020717950501\n"
              "identity float 1252173396969256485\n"
              "identity double 1252173396969256485\n"
              "normal float 13601570315457647598\n"
              "normal double 11756413019043007996\n"
              "uniform float 11866189531343796976\n"
              "uniform double 2729785586985273545\n"
              "xavier float 3106462560357642714\n"
              "xavier double 3877877578612941902\n"
              "integers float 1705037699377883728\n"
              "integers double 1705037699377883728\n"
              "distinct float 7870284954988508841\n"
              "distinct double 12272782098230113262\n"
              "needle float 9191738049045873173\n"
              "needle double 16786981636003315227\n"
              "huge float 18356889398337218515\n"
              "huge double 8633012401615098414\n"
              "tiny float 4572220674156710551\n"
              "tiny double 13916026833682405871\n"
              "subnormal float 13139752568416967535\n"
              "subnormal double 4247335836483757572\n"
              "cancelling float 9707243987541477731\n"
              "cancelling double 46926462471297036\n"
              "equal float 12815174080857791141\n"
              "equal double 2056768297822084165\n"
              "powers float 2510353007688803861\n"
              "powers double 2510353007688803861\n");
}

TEST(Values, ShapesFollowTheGeometry) {
    Case one = small(ElementType::float64, Filling::zeros);
    one.head_width = 5;
    const auto sizes = [&](Tensor tensor, Tensor of = Tensor::wq) {
        const auto shape = shape_of(one, tensor, of);
        EXPECT_TRUE(shape);
        std::string text;
        for (unsigned axis = 0; axis < shape->rank; ++axis)
            text += std::to_string(shape->sizes[axis]) + " ";
        return text + std::to_string(shape->elements);
    };
    EXPECT_EQ(sizes(Tensor::x), "2 9 24 432");
    EXPECT_EQ(sizes(Tensor::wq), "30 24 720");
    EXPECT_EQ(sizes(Tensor::wk), "10 24 240");
    EXPECT_EQ(sizes(Tensor::wv), "10 24 240");
    EXPECT_EQ(sizes(Tensor::wo), "24 30 720");
    EXPECT_EQ(sizes(Tensor::gradient, Tensor::wo), "24 30 720");
    EXPECT_EQ(sizes(Tensor::update, Tensor::wk), "10 24 240");
}

TEST(Values, VirtualGeometryIsATypedRefusal) {
    const auto code = [](const Case& one, Tensor tensor) {
        const auto out = fill<double>(one, tensor);
        return out ? std::string("filled ") + std::to_string(out->size())
                   : std::string(to_text(out.error().code));
    };
    Case one = small(ElementType::float64, Filling::normal);
    one.width = UINT64_MAX;
    EXPECT_EQ(code(one, Tensor::x), "ShapeOverflow");
    EXPECT_EQ(code(one, Tensor::wq), "ShapeOverflow");
    one.width = 1ULL << 40;
    EXPECT_EQ(code(one, Tensor::x), "TooManyElements");
    one.batch = 0;
    EXPECT_EQ(code(one, Tensor::x), "filled 0");
    one.batch = 1ULL << 63;  // a zero behind an overflow leaves nothing to fill either
    one.width = 0;
    EXPECT_EQ(code(one, Tensor::x), "filled 0");
    one = small(ElementType::float64, Filling::normal);
    one.heads = one.head_width = 1ULL << 32;
    EXPECT_EQ(code(one, Tensor::wq), "ShapeOverflow");
    EXPECT_EQ(code(one, Tensor::wo), "ShapeOverflow");
    EXPECT_EQ(code(one, Tensor::wk), "TooManyElements");
    one.kv_heads = 1ULL << 32;
    EXPECT_EQ(code(one, Tensor::wk), "ShapeOverflow");
    one = small(ElementType::float64, Filling::normal);
    one.batch = 1;
    one.steps[0].count = 1;
    one.width = kMaxElements;
    EXPECT_EQ(code(one, Tensor::x), "filled 4194304");
    one.width = kMaxElements + 1;
    EXPECT_EQ(code(one, Tensor::x), "TooManyElements");
    EXPECT_EQ(fill<float>(one, Tensor::x).error().code, ErrorCode::TypeMismatch);
    EXPECT_EQ(fill<double>(one, Tensor::x).error().text(), "x: TooManyElements: 4194305 elements");
    EXPECT_EQ(fill<double>(one, Tensor::update, Tensor::wv).error().key, "update.wv");
}

TEST(Values, EveryElementIsExactInItsType) {
    for (const Filling filling : all_fillings()) {
        const Case one = small(ElementType::float32, filling);
        for (const Tensor tensor : all_tensors()) {
            const auto wide = filled<double>(one, tensor);
            const auto narrow_values = filled<float>(one, tensor);
            ASSERT_EQ(wide.size(), narrow_values.size());
            for (std::size_t i = 0; i < wide.size(); ++i) {
                ASSERT_TRUE(representable_in_float(std::bit_cast<std::uint64_t>(wide[i])))
                    << to_text(filling);
                ASSERT_EQ(static_cast<double>(narrow_values[i]), wide[i]);
                ASSERT_TRUE(std::isfinite(wide[i]));
                ASSERT_EQ(element(one, tensor, Tensor::wq, 0, i), wide[i]);
            }
        }
    }
}

// Values of 24 bits would hide every rounding of a double product.
TEST(Values, ADoubleCaseUsesBitsThatAFloatLacks) {
    for (const Filling filling :
         {Filling::normal, Filling::uniform, Filling::xavier, Filling::distinct, Filling::needle,
          Filling::huge, Filling::tiny, Filling::cancelling, Filling::equal}) {
        const auto values = filled(small(ElementType::float64, filling), Tensor::x);
        const auto fine = std::count_if(values.begin(), values.end(), [](double value) {
            return (std::bit_cast<std::uint64_t>(value) & 0xffff) != 0;
        });
        EXPECT_GT(fine, static_cast<std::ptrdiff_t>(values.size() / 2)) << to_text(filling);
    }
}

TEST(Values, TensorsSeedsAndOrdinalsDrawApart) {
    const Case one = small(ElementType::float64, Filling::normal);
    const Case other = small(ElementType::float64, Filling::normal, 8);
    std::set<std::vector<double>> seen;
    for (const Case& each : {one, other}) {
        EXPECT_TRUE(seen.insert(filled(each, Tensor::x)).second);
        for (const Tensor of : all_tensors().subspan(1, 4)) {
            EXPECT_TRUE(seen.insert(filled(each, of)).second);
            for (const std::uint64_t ordinal : {0U, 1U}) {
                EXPECT_TRUE(seen.insert(filled(each, Tensor::gradient, of, ordinal)).second);
                EXPECT_TRUE(seen.insert(filled(each, Tensor::update, of, ordinal)).second);
            }
        }
    }
    EXPECT_EQ(seen.size(), 42U);
    EXPECT_EQ(filled(one, Tensor::wq, Tensor::wq, 0), filled(one, Tensor::wq, Tensor::wq, 1));
}

TEST(Values, FillLinesRuleOverValues) {
    Case one = small(ElementType::float64, Filling::normal);
    const auto plain = filled(one, Tensor::wk);
    one.fills = {{Tensor::wq, Filling::ones, std::nullopt},
                 {Tensor::wk, Filling::normal, 9},
                 {Tensor::update, Filling::zeros, std::nullopt}};
    EXPECT_EQ(filled(one, Tensor::wq), std::vector<double>(576, 1.0));
    EXPECT_NE(filled(one, Tensor::wk), plain);
    EXPECT_EQ(filled(one, Tensor::wk), filled(small(ElementType::float64, Filling::normal, 9), Tensor::wk));
    EXPECT_EQ(filled(one, Tensor::update, Tensor::wv), std::vector<double>(192, 0.0));
    EXPECT_NE(filled(one, Tensor::gradient, Tensor::wv), std::vector<double>(192, 0.0));
}

// Shrinking a case by its last steps must not move the numbers of the rows that stay.
TEST(Values, FurtherRowsLeaveEarlierRowsAlone) {
    for (const Filling filling : all_fillings()) {
        if (filling == Filling::needle) continue;  // places its needle by the number of rows
        Case one = small(ElementType::float64, filling);
        const auto longer = filled(one, Tensor::x);
        one.steps[0].count = 4;
        const auto shorter = filled(one, Tensor::x);
        for (std::size_t b = 0; b < 2; ++b) {
            for (std::size_t i = 0; i < std::size_t{4 * 24}; ++i)
                ASSERT_EQ(shorter[b * 4 * 24 + i], longer[b * 9 * 24 + i]) << to_text(filling);
        }
    }
}

TEST(Values, SetOverridesByBits) {
    Case one = small(ElementType::float32, Filling::ones);
    one.sets = {{Tensor::x, Tensor::wq, {1, 8, 23}, widen(0x7fc00001)},
                {Tensor::x, Tensor::wq, {0, 0, 0}, widen(0xff800001)},
                {Tensor::x, Tensor::wq, {0, 1, 0}, widen(1)},
                {Tensor::x, Tensor::wq, {0, 1, 0}, widen(0x80000000)},
                {Tensor::update, Tensor::wk, {7, 23, 0}, 0x7ff0000000000000}};
    const auto x = filled<float>(one, Tensor::x);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(x[431]), 0x7fc00001U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(x[0]), 0xff800001U);  // signalling, and still so
    EXPECT_EQ(std::bit_cast<std::uint32_t>(x[24]), 0x80000000U);
    EXPECT_EQ(std::count(x.begin(), x.end(), 1.0F), 429);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(filled(one, Tensor::x)[0]), 0xfff0000020000000U);
    EXPECT_TRUE(std::isinf(filled<float>(one, Tensor::update, Tensor::wk, 0)[191]));
    EXPECT_TRUE(std::isinf(filled<float>(one, Tensor::update, Tensor::wk, 5)[191]));
    EXPECT_EQ(filled<float>(one, Tensor::update, Tensor::wv), std::vector<float>(192, 1.0F));
    EXPECT_EQ(filled<float>(one, Tensor::wk), std::vector<float>(192, 1.0F));
    one.sets = {{Tensor::wk, Tensor::wq, {8, 0, 0}, 0}};
    EXPECT_EQ(fill<float>(one, Tensor::wk).error().code, ErrorCode::IndexOutOfRange);
    one.type = ElementType::float64;
    one.sets = {{Tensor::wo, Tensor::wq, {23, 23, 0}, 0xfff0000000000001}};
    EXPECT_EQ(std::bit_cast<std::uint64_t>(filled(one, Tensor::wo)[575]), 0xfff0000000000001U);
}

// What each filling promises.

TEST(Fillings, ZerosOnesIdentity) {
    for (const ElementType type : kTypes) {
        for (const double value : filled(small(type, Filling::zeros), Tensor::x))
            ASSERT_EQ(std::bit_cast<std::uint64_t>(value), 0U);
        EXPECT_EQ(filled(small(type, Filling::ones), Tensor::wk), std::vector<double>(192, 1.0));
        const auto wk = filled(small(type, Filling::identity), Tensor::wk);
        const auto x = filled(small(type, Filling::identity), Tensor::x);
        for (std::size_t i = 0; i < wk.size(); ++i)
            ASSERT_EQ(wk[i], i / 24 == i % 24 ? 1.0 : 0.0);
        for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_EQ(x[i], i / 24 % 9 == i % 24 ? 1.0 : 0.0);
    }
    Case tall = small(ElementType::float64, Filling::identity);
    tall.head_width = 5;  // wq [30, 24]: its rows begin again at column 0
    const auto wq = filled(tall, Tensor::wq);
    EXPECT_EQ(wq[25 * 24 + 1], 1.0);
    EXPECT_EQ(std::count(wq.begin(), wq.end(), 1.0), 30);
}

struct Moments {
    double mean = 0.0;
    double square = 0.0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
};

Moments moments(const std::vector<double>& values) {
    Moments out;
    for (const double value : values) {
        out.mean += value;
        out.square += value * value;
        out.low = std::min(out.low, value);
        out.high = std::max(out.high, value);
    }
    out.mean /= static_cast<double>(values.size());
    out.square /= static_cast<double>(values.size());
    return out;
}

std::vector<double> many(ElementType type, Filling filling) {
    Case one = small(type, filling);
    one.width = 96;
    one.steps[0].count = 2000;
    return filled(one, Tensor::x);
}

TEST(Fillings, NormalUniformXavierHaveTheirMoments) {
    for (const ElementType type : kTypes) {
        const Moments normal = moments(many(type, Filling::normal));
        EXPECT_NEAR(normal.mean, 0.0, 0.01);
        EXPECT_NEAR(normal.square, 1.0, 0.01);
        EXPECT_GE(normal.low, -3.0);
        EXPECT_LT(normal.low, -2.5);
        EXPECT_LE(normal.high, 3.0);
        EXPECT_GT(normal.high, 2.5);
        const Moments uniform = moments(many(type, Filling::uniform));
        EXPECT_NEAR(uniform.mean, 0.0, 0.01);
        EXPECT_NEAR(uniform.square, 1.0 / 3.0, 0.01);
        EXPECT_GE(uniform.low, -1.0);
        EXPECT_LT(uniform.high, 1.0);
        const double limit = std::sqrt(6.0 / 192.0);
        const Moments xavier = moments(many(type, Filling::xavier));
        EXPECT_NEAR(xavier.square, limit * limit / 3.0, 0.01 * limit * limit);
        EXPECT_LE(std::max(-xavier.low, xavier.high), limit);
        EXPECT_GT(std::max(-xavier.low, xavier.high), 0.999 * limit);
        // wk [8, 24]: fans 8 and 24.
        const Moments weight = moments(filled(small(type, Filling::xavier), Tensor::wk));
        EXPECT_LE(std::max(-weight.low, weight.high), std::sqrt(6.0 / 32.0));
        EXPECT_GT(std::max(-weight.low, weight.high), 0.9 * std::sqrt(6.0 / 32.0));
    }
}

TEST(Fillings, IntegersPowersEqual) {
    for (const ElementType type : kTypes) {
        const auto integers = many(type, Filling::integers);
        EXPECT_EQ(std::set<double>(integers.begin(), integers.end()),
                  (std::set<double>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
        const auto powers = many(type, Filling::powers);
        std::set<double> want;
        for (int exponent = -8; exponent <= 8; ++exponent) {
            want.insert(std::ldexp(1.0, exponent));
            want.insert(-std::ldexp(1.0, exponent));
        }
        EXPECT_EQ(std::set<double>(powers.begin(), powers.end()), want);
        const auto equal = many(type, Filling::equal);
        EXPECT_EQ(std::set<double>(equal.begin(), equal.end()).size(), 1U);
        EXPECT_GE(equal[0], 1.0);
        EXPECT_LT(equal[0], 2.0);
        EXPECT_NE(equal[0], filled(small(type, Filling::equal), Tensor::wk)[0]);
    }
}

TEST(Fillings, DistinctNeverRepeats) {
    for (const ElementType type : kTypes) {
        Case one = small(type, Filling::distinct);
        one.batch = 1;
        one.width = 1;
        one.steps[0].count = kMaxElements;
        auto values = filled(one, Tensor::x);
        std::sort(values.begin(), values.end());
        EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
        EXPECT_GT(values.front(), -1.0);
        EXPECT_LT(values.back(), 1.0);
        EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), 0);
    }
}

TEST(Fillings, HugeTinySubnormalStayInTheirRanges) {
    struct Range {
        ElementType type;
        int huge_low, huge_high, tiny_low, tiny_high, least;
    };
    for (const Range& range : {Range{ElementType::float32, 60, 126, -126, -60, -149},
                               Range{ElementType::float64, 500, 1022, -1022, -500, -1074}}) {
        const auto exponents = [&](Filling filling) {
            int low = 9999;
            int high = -9999;
            for (const double value : many(range.type, filling)) {
                EXPECT_NE(value, 0.0);
                low = std::min(low, std::ilogb(value));
                high = std::max(high, std::ilogb(value));
            }
            return std::pair(low, high);
        };
        EXPECT_EQ(exponents(Filling::huge), std::pair(range.huge_low, range.huge_high));
        EXPECT_EQ(exponents(Filling::tiny), std::pair(range.tiny_low, range.tiny_high));
        EXPECT_EQ(exponents(Filling::subnormal), std::pair(range.least, range.tiny_low - 1));
        for (const Filling filling :
             {Filling::huge, Filling::tiny, Filling::subnormal, Filling::cancelling}) {
            const auto values = many(range.type, filling);
            const auto negative = std::count_if(values.begin(), values.end(), [](double v) { return v < 0; });
            EXPECT_NEAR(static_cast<double>(negative) / static_cast<double>(values.size()), 0.5, 0.01);
        }
    }
}

TEST(Fillings, CancellingPairsAlmostCancelInADotProduct) {
    for (const ElementType type : kTypes) {
        const Case one = small(type, Filling::cancelling);
        const double ulp = type == ElementType::float32 ? 0x1p-15 : 0x1p-44;  // of [256, 512)
        const auto x = filled(one, Tensor::x);
        const auto wk = filled(one, Tensor::wk);
        for (std::size_t i = 0; i < x.size(); i += 2) {
            ASSERT_GE(std::abs(x[i]), 256.0);
            ASSERT_LT(std::abs(x[i + 1]), 512.0);
            ASSERT_LE(std::abs(x[i] + x[i + 1]), 4.0 * ulp);
            ASSERT_NE(x[i], -x[i + 1]);
        }
        for (std::size_t i = 0; i < wk.size(); i += 2) {
            ASSERT_LE(std::abs(wk[i] - wk[i + 1]), 4.0 * ulp);
            ASSERT_NE(wk[i], wk[i + 1]);
            ASSERT_LE(std::abs(x[i] * wk[i] + x[i + 1] * wk[i + 1]), 10'000.0 * ulp);
        }
    }
}

// Under the weights of the same filling and no rotation, the needle takes almost all the weight in every row
// that sees it.
TEST(Fillings, OneKeyDominatesUnderNeedle) {
    std::size_t newest = 0;
    for (const ElementType type : kTypes) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Case one = small(type, Filling::needle, seed);
            const auto x = filled(one, Tensor::x);
            const auto wq = filled(one, Tensor::wq);
            const auto wk = filled(one, Tensor::wk);
            const auto project = [&](const std::vector<double>& w, std::size_t row, const double* in) {
                double sum = 0.0;
                for (std::size_t f = 0; f < 24; ++f)
                    sum += w[row * 24 + f] * in[f];
                return sum;
            };
            for (std::size_t b = 0; b < 2; ++b) {
                std::vector<double> scores;
                for (std::size_t t = 0; t < 9; ++t) {
                    double score = 0.0;
                    for (std::size_t f = 0; f < 4; ++f)
                        score += project(wq, f, &x[(b * 9 + 8) * 24]) * project(wk, f, &x[(b * 9 + t) * 24]);
                    scores.push_back(score / 2.0);
                }
                const auto top = std::max_element(scores.begin(), scores.end());
                double sum = 0.0;
                for (const double score : scores)
                    sum += std::exp(score - *top);
                ASSERT_GT(1.0 / sum, 0.99) << seed;
                if (top + 1 == scores.end()) ++newest;
            }
        }
    }
    EXPECT_GT(newest, 30U);
    EXPECT_LT(newest, 65U);
}

}  // namespace
}  // namespace attest::cases
