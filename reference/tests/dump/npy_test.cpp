#include <attest/dump/npy.hpp>

#include "../vectors.hpp"
#include "bytes.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace attest::dump {
namespace {

using testing::npy;
using testing::npy_header;
using testing::to_bytes;

std::string verdict_of_npy(std::string_view bytes) {
    const auto file = parse_npy(to_bytes(bytes));
    return file ? "accepted" : std::string(to_text(file.error().code));
}
std::string verdict_of_npy(std::string_view header, std::size_t data) {
    return verdict_of_npy(npy(header, std::string(data, '\0')));
}

std::vector<double> numbers(std::string_view bytes) {
    const auto file = parse_npy(to_bytes(bytes));
    EXPECT_TRUE(file) << file.error().text();
    return file ? file->find("arr_0")->numbers() : std::vector<double>{};
}

TEST(Npy, ReadsEveryTypeAndByteOrder) {
    EXPECT_EQ(numbers(npy(npy_header("<f8", "()"), std::string_view("\0\0\0\0\0\0\x04\x40", 8))),
              std::vector{2.5});
    EXPECT_EQ(numbers(npy(npy_header(">f8", "()"), std::string_view("\x40\x04\0\0\0\0\0\0", 8))),
              std::vector{2.5});
    EXPECT_EQ(numbers(npy(npy_header(">f4", "(1,)"), std::string_view("\x40\x20\0\0", 4))), std::vector{2.5});
    EXPECT_EQ(numbers(npy(npy_header("<f2", "(2,)"), std::string_view("\0\x41\0\xc1", 4))),
              (std::vector{2.5, -2.5}));
    EXPECT_EQ(numbers(npy(npy_header(">i2", "(2,)"), "\xff\xfe\x01\x02")), (std::vector{-2.0, 258.0}));
    EXPECT_EQ(numbers(npy(npy_header("<u2", "(2,)"), "\xff\xfe\x01\x02")), (std::vector{65279.0, 513.0}));
    EXPECT_EQ(numbers(npy(npy_header("|i1", "(2,)"), "\xff\x7f")), (std::vector{-1.0, 127.0}));
    EXPECT_EQ(numbers(npy(npy_header(">u1", "(2,)"), "\xff\x7f")), (std::vector{255.0, 127.0}));
    EXPECT_EQ(numbers(npy(npy_header("|b1", "(2,)"), std::string_view("\1\0", 2))), (std::vector{1.0, 0.0}));
    EXPECT_EQ(numbers(npy(npy_header(">i8", "()"), "\xff\xff\xff\xff\xff\xff\xff\xfe")), std::vector{-2.0});
    EXPECT_EQ(numbers(npy(npy_header("<u8", "(0,)"), "")), std::vector<double>{});
    EXPECT_EQ(numbers(npy(npy_header(">f8", "(3, 0, 2)", true), "")), std::vector<double>{});
}

// Fortran order counts the first index fastest: element (i, j, k) of a [2, 3, 4] lies at i + 2j + 6k.
TEST(Npy, PutsFortranOrderInCOrder) {
    for (const char* descr : {"|u1", ">u2", "<u2"}) {
        std::string data;
        for (char at = 0; at < 24; ++at) {
            if (descr[0] == '>') data += '\0';
            data += at;
            if (descr[0] == '<') data += '\0';
        }
        const auto got = numbers(npy(npy_header(descr, "(2, 3, 4)", true), data));
        std::vector<double> want;
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 3; ++j) {
                for (int k = 0; k < 4; ++k)
                    want.push_back(i + 2 * j + 6 * k);
            }
        }
        EXPECT_EQ(got, want) << descr;
    }
}

TEST(Npy, ReadsTextOfRankZeroAsMetadata) {
    const auto text = [](std::string_view bytes) {
        const auto file = parse_npy(to_bytes(bytes));
        EXPECT_TRUE(file) << file.error().text();
        return file ? std::string(file->metadata("arr_0").value_or("nothing")) : std::string();
    };
    EXPECT_EQ(text(npy(npy_header("|S4", "()"), std::string_view("csr\0", 4))), "csr");
    EXPECT_EQ(text(npy(npy_header("<U2", "()"), std::string_view("\xf6\0\0\0\0\xf6\1\0", 8))),
              "\xc3\xb6\xf0\x9f\x98\x80");
    EXPECT_EQ(text(npy(npy_header(">U2", "()"), std::string_view("\0\0\x20\xac\0\0\0\0", 8))),
              "\xe2\x82\xac");
    EXPECT_EQ(text(npy(npy_header("<U0", "()"), "")), "");
    EXPECT_EQ(verdict_of_npy(npy(npy_header("|S1", "()"), "\xff")), "InvalidHeader");
    EXPECT_EQ(verdict_of_npy(npy(npy_header("<U1", "()"), std::string_view("\0\xd8\0\0", 4))),
              "InvalidHeader");
    EXPECT_EQ(verdict_of_npy(npy(npy_header("<U1", "()"), std::string_view("\0\0\x11\0", 4))),
              "InvalidHeader");
    // Beyond Unicode, and of the same low bits as U+10000.
    EXPECT_EQ(verdict_of_npy(npy(npy_header("<U1", "()"), std::string_view("\0\0\1\4", 4))), "InvalidHeader");
    EXPECT_EQ(verdict_of_npy(npy_header("<U2", "()"), 4), "SizeMismatch");
    EXPECT_EQ(verdict_of_npy(npy_header("<U4611686018427387904", "()"), 4), "UnknownDtype");
    EXPECT_EQ(verdict_of_npy(npy_header("<U1", "(1,)"), 4), "UnsupportedDtype");
}

TEST(Npy, RefusesBadStarts) {
    EXPECT_EQ(verdict_of_npy(""), "BadMagic");
    EXPECT_EQ(verdict_of_npy("\x93NUMP"), "BadMagic");
    EXPECT_EQ(verdict_of_npy("\x93NUMPY"), "BadMagic");
    EXPECT_EQ(verdict_of_npy("\x93NUMPY\x01"), "BadMagic");
    EXPECT_EQ(verdict_of_npy("\x92NUMPY\x01\x02 {}"), "BadMagic");
    for (const std::string& version :
         {std::string("\0\0", 2), std::string("\4\0", 2), std::string("\1\1", 2)})
        EXPECT_EQ(verdict_of_npy("\x93NUMPY" + version + "  {}"), "UnsupportedVersion");
    EXPECT_EQ(verdict_of_npy(std::string("\x93NUMPY\1\0\1", 9)), "HeaderTooSmall");
    EXPECT_EQ(verdict_of_npy(std::string("\x93NUMPY\2\0\1\0\0", 11)), "HeaderTooSmall");
    EXPECT_EQ(verdict_of_npy(std::string("\x93NUMPY\1\0\3\0{}", 12)), "InvalidHeaderLength");
    EXPECT_EQ(verdict_of_npy(std::string("\x93NUMPY\2\0\0\0\x10\0{}", 14)), "InvalidHeaderLength");
    EXPECT_EQ(verdict_of_npy(std::string("\x93NUMPY\2\0\1\0\x10\0{}", 14)), "HeaderTooLarge");
    EXPECT_EQ(verdict_of_npy("\x93NUMPY" + std::string("\3\0\xff\xff\xff\xff{}", 8)), "HeaderTooLarge");
}

TEST(Npy, ReadsEveryVersion) {
    const std::string header = npy_header("|u1", "(1,)");
    for (const char major : {'\2', '\3'}) {
        std::string bytes = "\x93NUMPY";
        bytes += major;
        bytes += '\0';
        bytes += static_cast<char>(header.size());
        bytes.append(3, '\0').append(header).append("\x07");
        EXPECT_EQ(numbers(bytes), std::vector{7.0});
    }
}

TEST(Npy, RefusesBadHeaders) {
    const std::string d = "'descr': '|u1'";
    const std::string f = "'fortran_order': False";
    const std::string s = "'shape': (1,)";
    EXPECT_EQ(verdict_of_npy("{" + d + ", " + f + ", " + s + "}", 1), "accepted");
    EXPECT_EQ(verdict_of_npy(" {" + s + "," + f + ",\"descr\":\"|u1\",}\n", 1), "accepted");
    for (const std::string& bad : {std::string(),
                                   std::string("{"),
                                   std::string("{}"),
                                   "{" + d + "," + f + "}",
                                   "{" + d + "," + s + "}",
                                   "{" + f + "," + s + "}",
                                   "{" + d + "," + f + "," + s + "} x",
                                   "{" + d + "," + f + "," + s + "}" + std::string(1, '\0'),
                                   "{" + d + "," + d + "," + f + "," + s + "}",
                                   "{" + d + "," + f + "," + f + "," + s + "}",
                                   "{" + d + "," + f + "," + s + "," + s + "}",
                                   "{" + d + "," + f + "," + s + ",'more': 1}",
                                   "{" + d + " " + f + "," + s + "}",
                                   "{" + d + "," + f + "," + s + ",,}",
                                   "{'descr' '|u1'," + f + "," + s + "}",
                                   "{descr: '|u1'," + f + "," + s + "}",
                                   "{'descr: '|u1'," + f + "," + s + "}",
                                   "{'de\\x73cr': '|u1'," + f + "," + s + "}",
                                   "{" + d + ",'fortran_order': false," + s + "}",
                                   "{" + d + ",'fortran_order': 0," + s + "}",
                                   "{" + d + ",'fortran_order': Trueish," + s + "}",
                                   "{'descr': 5," + f + "," + s + "}",
                                   "{'descr': u'|u1'," + f + "," + s + "}",
                                   "{'descr': '\\x7cu1'," + f + "," + s + "}"})
        EXPECT_EQ(verdict_of_npy(bad, 1), "InvalidNpyHeader") << bad;
    for (const char* shape :
         {"(1)", "1", "[1]", "(,)", "(1,,)", "(1 1)", "(-1,)", "(1.0,)", "(01,)", "(+1,)", "(1", "(1,",
          "(None,)", "(0x1,)", "(18446744073709551616,)", "('1',)", "((1,),)", "(1_0,)"})
        EXPECT_EQ(verdict_of_npy(npy_header("|u1", shape), 1), "InvalidNpyHeader") << shape;
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", "(1L, 1L)"), 1), "accepted");
    std::string many = "(";
    for (std::size_t i = 0; i < kMaxDimensions; ++i)
        many += "1, ";
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", many + ")"), 1), "accepted");
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", many + "1)"), 1), "TooManyDimensions");
}

TEST(Npy, RefusesTypesItCannotCompute) {
    for (const char* descr : {"|O", "|O8", "<O4"})
        EXPECT_EQ(verdict_of_npy(npy_header(descr, "(1,)"), 8), "ObjectArray") << descr;
    EXPECT_EQ(
        verdict_of_npy("{'descr': [('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,)}", 8),
        "StructuredArray");
    for (const char* descr : {"<c8", "<c16", "<f16", "<f12", "<M8", "<m8", "|V2", "<i16", "<b2", "|a3"})
        EXPECT_EQ(verdict_of_npy(npy_header(descr, "(1,)"), 8), "UnsupportedDtype") << descr;
    for (const char* descr :
         {"", "<", "f8", "=f8", "|f8", "|i2", "<x8", "<f", "<f8[s]", "<f08", "<f-8", "<f8L", "<f 8"})
        EXPECT_EQ(verdict_of_npy(npy_header(descr, "(1,)"), 8), "UnknownDtype") << descr;
}

TEST(Npy, BytesMustFitTheShape) {
    EXPECT_EQ(verdict_of_npy(npy_header("<f8", "(2, 3)"), 48), "accepted");
    EXPECT_EQ(verdict_of_npy(npy_header("<f8", "(2, 3)"), 47), "SizeMismatch");
    EXPECT_EQ(verdict_of_npy(npy_header("<f8", "(2, 3)"), 49), "SizeMismatch");
    EXPECT_EQ(verdict_of_npy(npy_header("<f8", "()"), 0), "SizeMismatch");
    EXPECT_EQ(verdict_of_npy(npy_header("<f8", "(2305843009213693952,)"), 0), "ValidationOverflow");
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", "(18446744073709551615,)"), 0), "SizeMismatch");
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", "(4294967296, 4294967296)", true), 0), "ValidationOverflow");
    EXPECT_EQ(verdict_of_npy(npy_header("|u1", "(0, 18446744073709551615, 2)", true), 0), "accepted");
}

// Every published file: what is right is read to its last element, the rest refused for the reason it is
// there for.
TEST(Npy, PublishedFiles) {
    ATTEST_VECTORS_OR_SKIP(folder, "npy");
    const std::map<std::string, std::string> refused = {
        {"ExpHP__structured.npy", "StructuredArray"},
        {"ExpHP__unicode_ok.npy", "UnsupportedDtype"},
        {"ExpHP__unicode_surrogate-pair.npy", "UnsupportedDtype"},
        {"jturner314__example_c64_big_endian_fortran.npy", "UnsupportedDtype"},
        {"jturner314__example_c64_big_endian_standard.npy", "UnsupportedDtype"},
        {"jturner314__example_c64_little_endian_fortran.npy", "UnsupportedDtype"},
        {"numpy__py2-np0-objarr.npy", "ObjectArray"},
        {"numpy__py2-objarr.npy", "ObjectArray"},
        {"numpy__py2-objarr.npz", "ObjectArray"},
        {"numpy__py3-objarr.npy", "ObjectArray"},
        {"numpy__py3-objarr.npz", "ObjectArray"},
        {"sbinet__ragged-array.npy", "ObjectArray"},
        {"bad_magic_00.npy", "UnsupportedVersion"},
        {"bad_magic_01.npy", "UnsupportedVersion"},
        {"bad_magic_02.npy", "UnsupportedVersion"},
        {"bad_magic_03.npy", "UnsupportedVersion"},
        {"bad_magic_04.npy", "UnsupportedVersion"},
        {"bad_magic_05.npy", "BadMagic"},
        {"bad_magic_06.npy", "BadMagic"},
        {"bad_magic_07.npy", "BadMagic"},
        {"bad_magic_08.npy", "BadMagic"},
        {"bad_magic_10.npy", "BadMagic"},
        {"bad_magic_11.npy", "BadMagic"},
    };
    std::size_t read_files = 0;
    std::size_t refused_files = 0;
    for (const char* part : {"npy", "npy_malformed"}) {
        for (const auto& entry : std::filesystem::directory_iterator(*folder / part)) {
            const std::string name = entry.path().filename().string();
            const auto file = read(entry.path().string());
            const auto want = refused.find(name);
            if (want != refused.end()) {
                ++refused_files;
                EXPECT_FALSE(file) << name;
                if (!file) {
                    EXPECT_EQ(to_text(file.error().code), want->second) << file.error().text();
                }
                continue;
            }
            ++read_files;
            ASSERT_TRUE(file) << file.error().text();
            ASSERT_FALSE(file->tensors().empty()) << name;
            for (const Tensor& tensor : file->tensors())
                EXPECT_EQ(tensor.numbers().size(), tensor.count()) << name;
        }
    }
    EXPECT_EQ(refused_files, refused.size());
    EXPECT_GE(read_files, 75U);
}

// The same array stored in two ways must come out the same, and the order of elements must be what the header
// says.
TEST(Npy, PublishedFilesAgreeWithEachOther) {
    ATTEST_VECTORS_OR_SKIP(folder, "npy/npy");
    const auto array = [&](const std::string& name) {
        const auto file = read((*folder / name).string());
        EXPECT_TRUE(file) << name;
        const Tensor& tensor = file->tensors().front();
        return std::pair(std::vector(tensor.shape().begin(), tensor.shape().end()), tensor.numbers());
    };
    // These hold the same bytes, 0 to 5 in a row, read in either order.
    const std::vector<std::uint64_t> shape = {2, 3};
    for (const char* type : {"float64", "int64", "uint16"}) {
        const std::string name = "sbinet__data_" + std::string(type) + "_2x3_";
        EXPECT_EQ(array(name + "corder.npy"), std::pair(shape, std::vector<double>({0, 1, 2, 3, 4, 5})));
        EXPECT_EQ(array(name + "forder.npy"), std::pair(shape, std::vector<double>({0, 2, 4, 1, 3, 5})));
    }
    EXPECT_EQ(array("jturner314__example_f64_big_endian_fortran.npy"),
              array("jturner314__example_f64_little_endian_fortran.npy"));
    EXPECT_EQ(array("jturner314__example_f64_big_endian_fortran.npy").second[4], 4.0);
    EXPECT_EQ(array("xtensor-stack__bool.le.npy"), array("xtensor-stack__bool_fortran.be.npy"));
    const auto sparse = read((*folder / "ExpHP__sparse_csr-unsorted.npz").string());
    ASSERT_TRUE(sparse);
    EXPECT_EQ(sparse->metadata("format"), "csr");
    EXPECT_EQ(sparse->tensors().size(), 4U);
    const auto halves = read((*folder / "numpy_crosscheck.npz").string());
    ASSERT_TRUE(halves);
    EXPECT_EQ(halves->find("half")->dtype(), Dtype::F16);
}

TEST(Npy, DamagedBytesAreReadOrRefused) {
    const std::string good = npy(npy_header(">f4", "(2, 3)", true), std::string(24, 'a'));
    testing::Random random(31);
    std::size_t accepted = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string bytes = good;
        const std::uint64_t edits = 1 + random.below(3);
        for (std::uint64_t edit = 0; edit < edits; ++edit) {
            const auto at = static_cast<std::size_t>(random.below(bytes.size() + 1));
            switch (random.below(4)) {
                case 0:
                    if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
                    break;
                case 1:
                    if (at < bytes.size()) bytes[at] = "{}()',:0129<>|fiubSUO"[random.below(21)];
                    break;
                case 2:
                    bytes.insert(at, 1, static_cast<char>(random.next()));
                    break;
                default:
                    bytes.erase(at, 1);
            }
        }
        accepted += testing::read_whole(parse_npy(to_bytes(bytes), "damaged")) ? 1U : 0U;
    }
    EXPECT_GT(accepted, 5'000U);
    EXPECT_LT(accepted, 60'000U);
}

}  // namespace
}  // namespace attest::dump
