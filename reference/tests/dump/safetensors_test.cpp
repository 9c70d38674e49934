#include <attest/dump/safetensors.hpp>

#include "../vectors.hpp"
#include "bytes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace attest::dump {
namespace {

using testing::safetensors;
using testing::to_bytes;

std::string verdict(std::span<const std::byte> bytes) {
    const auto file = parse_safetensors(bytes);
    return file ? "accepted" : std::string(to_text(file.error().code));
}

std::string verdict(std::string_view header, std::size_t data = 0) {
    return verdict(safetensors(header, data));
}

// One tensor "a" with these fields.
std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return R"({"a":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
           R"(,"data_offsets":)" + std::string(offsets) + "}}";
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
    auto bytes = safetensors(R"( {"b":{"shape":[2,1],"dtype":"U16","data_offsets":[8,12]},)"
                             R"("__metadata__":{"attest":"layer","k":""},)"
                             R"("a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                             R"("e":{"dtype":"F32","shape":[3,0,9],"data_offsets":[12,12]}})"
                             "\n",
                             12);
    bytes[bytes.size() - 5] = std::byte{0x40};  // a = 2.0
    bytes[bytes.size() - 4] = std::byte{0x34};  // b = 0x1234, 0
    bytes[bytes.size() - 3] = std::byte{0x12};
    const auto file = parse_safetensors(bytes);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_EQ(file->tensors().size(), 3U);
    EXPECT_EQ(file->tensors()[0].name(), "b");
    EXPECT_EQ(file->tensors()[1].name(), "a");
    const Tensor* const a = file->find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->dtype(), Dtype::F64);
    EXPECT_TRUE(a->shape().empty());
    EXPECT_EQ(a->count(), 1U);
    EXPECT_EQ(a->number(0), 2.0);
    const Tensor* const b = file->find("b");
    EXPECT_EQ(b->shape()[0], 2U);
    EXPECT_EQ(b->integer(0), 0x1234);
    EXPECT_EQ(b->integer(1), 0);
    EXPECT_EQ(file->find("e")->count(), 0U);
    EXPECT_EQ(file->find("c"), nullptr);
    EXPECT_EQ(file->metadata("attest"), "layer");
    EXPECT_EQ(file->metadata("k"), "");
    EXPECT_EQ(file->metadata("x"), std::nullopt);
}

TEST(Safetensors, RefusesBadLengths) {
    EXPECT_EQ(verdict(to_bytes("")), "HeaderTooSmall");
    EXPECT_EQ(verdict(to_bytes(std::string(7, '\0'))), "HeaderTooSmall");
    EXPECT_EQ(verdict(to_bytes(std::string(8, '\0'))), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict(to_bytes(std::string("\x03\0\0\0\0\0\0\0{}", 10))), "InvalidHeaderLength");
    EXPECT_EQ(verdict(to_bytes(std::string("\x02\0\0\0\0\0\0\0{}", 10))), "accepted");
    // 100,000,000 is the last length of the format, and only missing here.
    EXPECT_EQ(verdict(to_bytes(std::string("\x00\xe1\xf5\x05\0\0\0\0{}", 10))), "InvalidHeaderLength");
    EXPECT_EQ(verdict(to_bytes(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10))), "HeaderTooLarge");
    EXPECT_EQ(verdict(to_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}")), "HeaderTooLarge");
    EXPECT_EQ(verdict(to_bytes("\xf8\xff\xff\xff\xff\xff\xff\xff{}")), "HeaderTooLarge");
}

TEST(Safetensors, RefusesWhatIsNotUtf8) {
    for (const char* bad :
         {"\xff", "\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xe2\x28\xa1"})
        EXPECT_EQ(verdict(R"({"__metadata__":{"a":")" + std::string(bad) + "\"}}"), "InvalidHeader") << bad;
    for (const char* good : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                             "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(verdict(R"({"__metadata__":{"a":")" + std::string(good) + "\"}}"), "accepted") << good;
}

// The byte that would complete a character is the first of the data: the header ends before it.
TEST(Safetensors, CharactersEndWithTheHeader) {
    for (const std::string bad : {"\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
        EXPECT_EQ(verdict(bad), "InvalidHeader");
        auto bytes = safetensors(bad, 1);
        bytes.back() = std::byte{0x80};
        EXPECT_EQ(verdict(bytes), "InvalidHeader");
    }
}

TEST(Safetensors, RefusesWhatIsNotTheHeader) {
    for (const char* bad : {"",
                            " ",
                            "{",
                            "}",
                            "[]",
                            "5",
                            "null",
                            "\"a\"",
                            "{}{}",
                            "{} x",
                            "{,}",
                            "{'a':1}",
                            "{\"a\":}",
                            "{\"a\":1}",
                            "{\"a\":null}",
                            "{\"a\":[]}",
                            "{\"a\":\"b\"}",
                            "{\"a\":{}}",
                            "{\"a\":true}",
                            "// c\n{}",
                            "{\"__metadata__\":null}",
                            "{\"__metadata__\":[]}",
                            "{\"__metadata__\":{\"a\":1}}",
                            "{\"__metadata__\":{\"a\":null}}",
                            "{\"__metadata__\":{\"a\":{}}}",
                            "{\"__metadata__\":{\"a\":[\"b\"]}}",
                            "{\"__metadata__\":{\"a\":\"\\ud800\"}}"})
        EXPECT_EQ(verdict(bad), "InvalidHeaderDeserialization") << bad;
    EXPECT_EQ(verdict(std::string("{}\0", 3)), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict(std::string("{}\0garbage", 10)), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict("\xef\xbb\xbf{}"), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict("\t\n\r {} \t\n\r"), "accepted");
    EXPECT_EQ(verdict(R"({"__metadata__":{}})"), "accepted");
    EXPECT_EQ(verdict(std::string(100'000, '[')), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict("{\"a\":" + std::string(100'000, '{')), "InvalidHeaderDeserialization");
}

TEST(Safetensors, RefusesBadEntries) {
    EXPECT_EQ(verdict(one("F32", "[2]", "[0,8]"), 8), "accepted");
    for (const auto& [shape, offsets] : std::to_array<std::array<const char*, 2>>({
             {"2", "[0,8]"},
             {"null", "[0,8]"},
             {"[-2]", "[0,8]"},
             {"[-0]", "[0,8]"},
             {"[2.0]", "[0,8]"},
             {"[2e0]", "[0,8]"},
             {"[\"2\"]", "[0,8]"},
             {"[[2]]", "[0,8]"},
             {"[true]", "[0,8]"},
             {"[null]", "[0,8]"},
             {"{}", "[0,8]"},
             {"[2]", "[0]"},
             {"[2]", "[]"},
             {"[2]", "[0,8,8]"},
             {"[2]", "8"},
             {"[2]", "[0,-8]"},
             {"[2]", "[0,8.0]"},
             {"[2]", "[[0,8]]"},
             {"[2]", "\"0,8\""},
             {"[2]", "{\"a\":1}"},
             {"[18446744073709551616]", "[0,8]"},
             {"[2]", "[0,18446744073709551616]"},
             {"[02]", "[0,8]"},
             {"[2,]", "[0,8]"},
             {"[+2]", "[0,8]"},
             {"[0x2]", "[0,8]"},
         }))
        EXPECT_EQ(verdict(one("F32", shape, offsets), 8), "InvalidHeaderDeserialization")
            << shape << " " << offsets;
    for (const char* entry :
         {R"("dtype":"F32","shape":[2])", R"("dtype":"F32","data_offsets":[0,8])",
          R"("shape":[2],"data_offsets":[0,8])", R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1)",
          R"("dtype":5,"shape":[2],"data_offsets":[0,8])", R"("dtype":null,"shape":[2],"data_offsets":[0,8])",
          R"("Dtype":"F32","shape":[2],"data_offsets":[0,8])"})
        EXPECT_EQ(verdict("{\"a\":{" + std::string(entry) + "}}", 8), "InvalidHeaderDeserialization")
            << entry;
    for (const char* dtype : {"f32", "F31", "", "float", "F32 ", "I128"})
        EXPECT_EQ(verdict(one(dtype, "[2]", "[0,8]"), 8), "UnknownDtype") << dtype;
    for (const char* dtype : {"F8_E5M2", "F8_E4M3", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4", "C64"})
        EXPECT_EQ(verdict(one(dtype, "[8]", "[0,8]"), 8), "UnsupportedDtype") << dtype;
}

std::string shape_of_ones(std::size_t rank) {
    std::string shape = "[1";
    for (std::size_t i = 1; i < rank; ++i)
        shape += ",1";
    return shape + "]";
}

TEST(Safetensors, RefusesTooManyDimensions) {
    EXPECT_EQ(verdict(one("U8", shape_of_ones(kMaxDimensions), "[0,1]"), 1), "accepted");
    EXPECT_EQ(verdict(one("U8", shape_of_ones(kMaxDimensions + 1), "[0,1]"), 1), "TooManyDimensions");
}

TEST(Safetensors, RefusesWhatStandsTwice) {
    const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
    EXPECT_EQ(verdict("{" + a + "}", 1), "accepted");
    EXPECT_EQ(verdict("{" + a + "," + a + "}", 1), "DuplicateName");
    EXPECT_EQ(verdict("{" + a + R"(,"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)" + a + "}", 1),
              "DuplicateName");
    // The same name in another spelling.
    EXPECT_EQ(verdict("{" + a + R"(,"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2),
              "DuplicateName");
    EXPECT_EQ(verdict(R"({"__metadata__":{},"__metadata__":{}})"), "DuplicateName");
    EXPECT_EQ(verdict(R"({"__metadata__":{"k":"1","k":"2"}})"), "DuplicateKey");
    EXPECT_EQ(verdict(R"({"__metadata__":{"k":"1","\u006b":"1"}})"), "DuplicateKey");
    for (const char* again : {R"("dtype":"U8")", R"("shape":[1])", R"("data_offsets":[0,1])"})
        EXPECT_EQ(
            verdict(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],)" + std::string(again) + "}}", 1),
            "DuplicateKey")
            << again;
}

std::string two(std::string_view first, std::string_view second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + std::string(first) +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + std::string(second) + "}}";
}

TEST(Safetensors, RefusesHolesAndOverlaps) {
    EXPECT_EQ(verdict(two("[0,2]", "[2,4]"), 4), "accepted");
    EXPECT_EQ(verdict(two("[2,4]", "[0,2]"), 4), "accepted");
    EXPECT_EQ(verdict(two("[0,2]", "[3,5]"), 5), "InvalidOffset");
    EXPECT_EQ(verdict(two("[0,2]", "[1,3]"), 3), "InvalidOffset");
    EXPECT_EQ(verdict(two("[0,2]", "[0,2]"), 2), "InvalidOffset");
    EXPECT_EQ(verdict(two("[1,3]", "[3,5]"), 5), "InvalidOffset");
    EXPECT_EQ(verdict(two("[0,2]", "[2,1]"), 4), "InvalidOffset");
    EXPECT_EQ(verdict(two("[0,2]", "[2,18446744073709551615]"), 4), "TensorInvalidInfo");
    EXPECT_EQ(verdict(two("[0,2]", "[18446744073709551615,0]"), 4), "InvalidOffset");
    EXPECT_EQ(verdict(two("[0,2]", "[2,4]"), 5), "MetadataIncompleteBuffer");
    EXPECT_EQ(verdict(two("[0,2]", "[2,4]"), 3), "MetadataIncompleteBuffer");
    EXPECT_EQ(verdict("{}", 1), "MetadataIncompleteBuffer");
    EXPECT_EQ(verdict(one("F32", "[2]", "[0,4]"), 4), "TensorInvalidInfo");
    EXPECT_EQ(verdict(one("F32", "[2]", "[0,9]"), 9), "TensorInvalidInfo");
    EXPECT_EQ(verdict(one("F32", "[]", "[0,0]"), 0), "TensorInvalidInfo");
    EXPECT_EQ(verdict(one("F32", "[0]", "[0,4]"), 4), "TensorInvalidInfo");
}

TEST(Safetensors, RefusesSizesThatOverflow) {
    EXPECT_EQ(verdict(one("U8", "[18446744073709551615]", "[0,8]"), 8), "ValidationOverflow");
    EXPECT_EQ(verdict(one("U8", "[2305843009213693952]", "[0,0]"), 0),
              "ValidationOverflow");  // 2^61 · 8 bits
    EXPECT_EQ(verdict(one("U8", "[2305843009213693951]", "[0,0]"), 0), "TensorInvalidInfo");
    EXPECT_EQ(verdict(one("F64", "[4294967296,4294967296]", "[0,0]"), 0), "ValidationOverflow");
    EXPECT_EQ(verdict(one("F64", "[4294967296,4294967297,4294967295]", "[0,0]"), 0), "ValidationOverflow");
    EXPECT_EQ(verdict(one("U8", "[18446744073709551615,18446744073709551615,0]", "[0,0]"), 0),
              "ValidationOverflow");
    EXPECT_EQ(verdict(one("U8", "[0,18446744073709551615,18446744073709551615]", "[0,0]"), 0), "accepted");
}

TEST(Safetensors, ErrorsNameFileTensorAndReason) {
    const auto file = parse_safetensors(safetensors(one("F32", "[2]", "[0,4]"), 4), "layer.safetensors");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().text(),
              "layer.safetensors: tensor a: TensorInvalidInfo: 4 bytes for a shape of 8");
    // What stands behind a tensor is not that tensor's fault.
    const auto behind =
        parse_safetensors(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                      R"("__metadata__":{"k":1}})",
                                      1));
    ASSERT_FALSE(behind);
    EXPECT_EQ(behind.error().tensor, "");
    const auto odd = parse_safetensors(safetensors(R"({"\u001b[2J":{"dtype":"X"}})"));
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().text(), "tensor \\x1b[2J: UnknownDtype: dtype X");
}

TEST(Safetensors, ReadsRegularFilesAlone) {
    EXPECT_EQ(read_safetensors("/nonexistent/x").error().code, ErrorCode::CannotOpen);
    EXPECT_EQ(read_safetensors("/").error().code, ErrorCode::NotRegularFile);
    EXPECT_EQ(read_safetensors("/dev/null").error().code, ErrorCode::NotRegularFile);
    EXPECT_EQ(read_safetensors(std::string("/dev/null\0x", 11)).error().code, ErrorCode::CannotOpen);
    EXPECT_EQ(read_safetensors("/nonexistent/x").error().text(),
              "/nonexistent/x: CannotOpen: No such file or directory");
}

std::filesystem::path scratch(const std::string& name) {
    return std::filesystem::path(::testing::TempDir()) / (name + std::to_string(::getpid()));
}

TEST(Safetensors, WritesWhatItReads) {
    const double doubles[] = {1.5, -0.0, 5e-324};
    const float floats[] = {0.1F, -3.0F};
    const std::int64_t integers[] = {-1, INT64_MIN};
    const std::vector<NewTensor> tensors = {make_tensor("d \"q\" \\ \n ö", {3, 1}, doubles),
                                            make_tensor("f", {2}, floats),
                                            make_tensor("i", {2}, integers),
                                            {"e", Dtype::BF16, {0, 7}, {}}};
    const File::Metadata metadata = {{"attest", "core"}, {"x\ty", "\"\\/"}};
    const auto path = scratch("written.safetensors");
    ASSERT_FALSE(write_safetensors(path.string(), tensors, metadata));
    const auto file = read_safetensors(path.string());
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->metadata(), metadata);
    ASSERT_EQ(file->tensors().size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const Tensor& got = file->tensors()[i];
        EXPECT_EQ(got.name(), tensors[i].name);
        EXPECT_EQ(got.dtype(), tensors[i].dtype);
        EXPECT_TRUE(std::equal(got.shape().begin(), got.shape().end(), tensors[i].shape.begin(),
                               tensors[i].shape.end()));
        EXPECT_TRUE(std::equal(got.bytes().begin(), got.bytes().end(), tensors[i].bytes.begin(),
                               tensors[i].bytes.end()));
    }
    EXPECT_EQ(file->find("f")->number(0), static_cast<double>(0.1F));
    EXPECT_EQ(file->find("i")->integer(1), INT64_MIN);
    // The data starts aligned, and a second writing leaves no half file behind.
    EXPECT_EQ((std::filesystem::file_size(path) - 24 - 8 - 16) % 8, 0U);
    ASSERT_FALSE(write_safetensors(path.string(), {}, {}));
    EXPECT_TRUE(read_safetensors(path.string())->tensors().empty());
    std::filesystem::remove(path);
    EXPECT_EQ(write_safetensors("/nonexistent/x", tensors, metadata)->code, ErrorCode::CannotWrite);
}

TEST(Safetensors, WrittenElementsStartAligned) {
    const double number[] = {1.0};
    for (std::size_t length = 1; length <= 16; ++length) {
        const std::vector<NewTensor> tensors = {make_tensor(std::string(length, 'a'), {1}, number)};
        const auto bytes = format_safetensors(tensors, {});
        ASSERT_TRUE(bytes);
        EXPECT_EQ(bytes->size() % 8, 0U) << length;
    }
}

TEST(Safetensors, AFailedWritingLeavesNothingBehind) {
    const auto folder = scratch("folder");
    std::filesystem::create_directories(folder / "taken");
    const auto error = write_safetensors((folder / "taken").string(), {}, {});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::CannotWrite);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    std::filesystem::remove_all(folder);
}

TEST(Safetensors, RefusesToWriteWhatItWouldNotRead) {
    const auto code = [](const std::vector<NewTensor>& tensors, const File::Metadata& metadata) {
        const auto bytes = format_safetensors(tensors, metadata);
        return bytes ? std::string("written") : std::string(to_text(bytes.error().code));
    };
    const std::vector<std::byte> two_bytes(2);
    EXPECT_EQ(code({{"a", Dtype::U8, {2}, two_bytes}}, {}), "written");
    EXPECT_EQ(code({{"a", Dtype::U8, {3}, two_bytes}}, {}), "TensorInvalidInfo");
    EXPECT_EQ(code({{"a", Dtype::U8, {1ULL << 63, 2}, two_bytes}}, {}), "ValidationOverflow");
    EXPECT_EQ(code({{"a", Dtype::U8, {2}, two_bytes}, {"a", Dtype::U8, {2}, two_bytes}}, {}),
              "DuplicateName");
    EXPECT_EQ(code({{"a\xff", Dtype::U8, {2}, two_bytes}}, {}), "InvalidHeader");
    EXPECT_EQ(code({{"__metadata__", Dtype::U8, {2}, two_bytes}}, {}), "InvalidHeaderDeserialization");
    EXPECT_EQ(code({{"__metadata__", Dtype::U8, {2}, two_bytes}}, {{"a", "b"}}), "DuplicateName");
    EXPECT_EQ(code({}, {{"a", "b"}, {"a", "c"}}), "DuplicateKey");
    EXPECT_EQ(code({}, {{"a", "\x80"}}), "InvalidHeader");
}

// Every verdict of the published list, from a file (mapped) and from memory.
TEST(Safetensors, PublishedVerdicts) {
    ATTEST_VECTORS_OR_SKIP(folder, "safetensors");
    std::ifstream list(*folder / "EXPECT.txt");
    std::string name;
    std::uintmax_t size = 0;
    std::string want;
    std::size_t checked = 0;
    while (list >> name >> size >> want) {
        const auto path = *folder / name;
        ASSERT_EQ(std::filesystem::file_size(path), size) << name;
        const auto file = read_safetensors(path.string());
        EXPECT_EQ(file ? "valid" : "reject:" + std::string(to_text(file.error().code)), want) << name;
        std::ifstream in(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const auto memory = parse_safetensors(to_bytes(text));
        EXPECT_EQ(memory ? "valid" : "reject:" + std::string(to_text(memory.error().code)), want) << name;
        ++checked;
    }
    EXPECT_GE(checked, 17U);
}

TEST(Safetensors, PublishedDumpsAreReadToTheirLastElement) {
    std::size_t files = 0;
    for (const char* name : {"stories260k", "onnx/right", "onnx/wrong", "torch", "rope"}) {
        ATTEST_VECTORS_OR_SKIP(folder, name);
        for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
            if (entry.path().extension() != ".safetensors") continue;
            const auto file = read_safetensors(entry.path().string());
            ASSERT_TRUE(file) << file.error().text();
            EXPECT_FALSE(file->tensors().empty()) << entry.path();
            EXPECT_TRUE(file->metadata("attest")) << entry.path();
            for (const Tensor& tensor : file->tensors())
                EXPECT_EQ(tensor.numbers().size(), tensor.count());
            ++files;
        }
    }
    EXPECT_GE(files, 80U);
}

// A valid file, then damage: whatever is still accepted lies inside its bytes and says so in every accessor.
TEST(Safetensors, DamagedBytesAreReadOrRefused) {
    const double numbers[] = {1, 2, 3, 4};
    const std::vector<NewTensor> tensors = {make_tensor("wq", {2, 2}, numbers),
                                            make_tensor("x", {1, 4}, numbers)};
    const auto good = format_safetensors(tensors, {{"attest", "layer"}, {"heads", "2"}});
    ASSERT_TRUE(good);
    testing::Random random(11);
    std::size_t accepted = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::vector<std::byte> bytes = *good;
        const std::uint64_t edits = 1 + random.below(3);
        for (std::uint64_t edit = 0; edit < edits; ++edit) {
            const auto at = static_cast<std::ptrdiff_t>(random.below(bytes.size() + 1));
            const bool inside = at < static_cast<std::ptrdiff_t>(bytes.size());
            switch (random.below(5)) {
                case 0:
                    if (inside)
                        bytes[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << random.below(8));
                    break;
                case 1:
                    if (inside)
                        bytes[static_cast<std::size_t>(at)] =
                            static_cast<std::byte>("{}[]\",:0129e-\\u "[random.below(16)]);
                    break;
                case 2:
                    bytes.insert(bytes.begin() + at, static_cast<std::byte>(random.next()));
                    break;
                case 3:
                    if (inside) bytes.erase(bytes.begin() + at);
                    break;
                default:
                    if (random.below(8) == 0) bytes.resize(static_cast<std::size_t>(at));
            }
        }
        // Half the time the header length is mended, so that damage reaches behind it.
        if (bytes.size() > 8 && random.below(2) == 0) {
            const std::uint64_t length = bytes.size() >= good->size() ? good->size() - 72 : bytes.size() - 8;
            for (std::size_t k = 0; k < 8; ++k)
                bytes[k] = static_cast<std::byte>((length >> (8 * k)) & 0xff);
        }
        const auto file = parse_safetensors(bytes, "damaged");
        if (!testing::read_whole(file)) continue;
        ++accepted;
        std::uint64_t total = 0;
        for (const Tensor& tensor : file->tensors()) {
            std::uint64_t count = 1;
            for (const std::uint64_t size : tensor.shape())
                count *= size;
            ASSERT_EQ(count, tensor.count());
            total += tensor.bytes().size();
        }
        ASSERT_LT(total, bytes.size());
    }
    EXPECT_GT(accepted, 5'000U);
    EXPECT_LT(accepted, 60'000U);
}

}  // namespace
}  // namespace attest::dump
