#include <attest/dump/npy.hpp>
#include <attest/dump/safetensors.hpp>

#include "bytes.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

namespace attest::dump {
namespace {

using testing::little_endian;
using testing::to_bytes;

struct MemberOf {
    std::string name;
    std::string bytes;
    zip_int32_t method = ZIP_CM_DEFLATE;
    bool encrypted = false;
};

std::string npy(std::string_view descr, std::string_view shape, std::string_view data) {
    return testing::npy(testing::npy_header(descr, shape), data);
}

std::string text(std::string_view value) {
    return npy("|S" + std::to_string(value.size()), "()", value);
}

// An archive written by libzip.
std::vector<std::byte> archive(const std::vector<MemberOf>& members) {
    const auto path =
        std::filesystem::path(::testing::TempDir()) / ("archive" + std::to_string(::getpid()) + ".npz");
    zip_t* const zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const MemberOf& member : members) {
        zip_source_t* const source = zip_source_buffer(zip, member.bytes.data(), member.bytes.size(), 0);
        const zip_int64_t at = zip_file_add(zip, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
        EXPECT_GE(at, 0) << member.name;
        EXPECT_EQ(zip_set_file_compression(zip, static_cast<zip_uint64_t>(at), member.method, 0), 0);
        if (member.encrypted) {
            EXPECT_EQ(zip_file_set_encryption(zip, static_cast<zip_uint64_t>(at), ZIP_EM_AES_256, "secret"),
                      0);
        }
    }
    EXPECT_EQ(zip_close(zip), 0);
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(path);
    return to_bytes(bytes);
}

// Where a text begins.
std::vector<std::byte>::iterator find_text(std::vector<std::byte>& bytes, std::string_view what) {
    return std::search(bytes.begin(), bytes.end(), what.begin(), what.end(),
                       [](std::byte a, char b) { return std::to_integer<char>(a) == b; });
}

std::string verdict_of_npz(std::span<const std::byte> bytes) {
    const auto file = parse_npz(bytes);
    return file ? "accepted" : std::string(to_text(file.error().code));
}

const std::string kOne = npy("<u2", "(2,)", std::string_view("\1\0\2\0", 4));

TEST(Npz, ReadsStoredAndDeflatedMembersAndMetadata) {
    const auto bytes = archive({{"x.npy", kOne},
                                {"a/w.npy", npy(">u2", "(1, 1)", std::string_view("\1\2", 2)), ZIP_CM_STORE},
                                {"attest.npy", text("core")},
                                {"metadata.npy", text(R"({"causal":"1","scale":"0.5"})")}});
    const auto file = parse_npz(bytes);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_EQ(file->tensors().size(), 2U);
    EXPECT_EQ(file->find("x")->numbers(), (std::vector{1.0, 2.0}));
    EXPECT_EQ(file->find("a/w")->numbers(), std::vector{258.0});
    EXPECT_EQ(file->metadata("attest"), "core");
    EXPECT_EQ(file->metadata("causal"), "1");
    EXPECT_EQ(file->metadata("scale"), "0.5");
    EXPECT_EQ(file->metadata("metadata"), std::nullopt);
}

TEST(Npz, AnEmptyArchiveIsAnEmptyDump) {
    const auto file = parse_npz(to_bytes(std::string("PK\5\6", 4) + std::string(18, '\0')));
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_TRUE(file->tensors().empty());
}

TEST(Npz, RefusesWhatItMust) {
    EXPECT_EQ(verdict_of_npz(to_bytes("")), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(to_bytes("PK\3\4 and nothing more")), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(archive({{"x.npy", kOne, ZIP_CM_DEFLATE, true}})), "EncryptedArchive");
    EXPECT_EQ(verdict_of_npz(archive({{"x.npy", kOne, ZIP_CM_BZIP2}})), "UnsupportedCompression");
    EXPECT_EQ(verdict_of_npz(archive({{"x.txt", kOne}})), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(archive({{"x.npy", "no array"}})), "BadMagic");
    EXPECT_EQ(verdict_of_npz(archive({{"x.npy", npy("|O", "(1,)", "pickle")}})), "ObjectArray");
    EXPECT_EQ(verdict_of_npz(archive({{"metadata.npy", text("no JSON")}})), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict_of_npz(archive({{"metadata.npy", text(R"({"heads":8})")}})),
              "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict_of_npz(archive({{"metadata.npy", text(R"({"a":"1"},"b":{})")}})),
              "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict_of_npz(archive({{"metadata.npy", text(R"([])")}})), "InvalidHeaderDeserialization");
    EXPECT_EQ(verdict_of_npz(archive({{"metadata.npy", text(R"({"a":"1","a":"2"})")}})), "DuplicateKey");
    EXPECT_EQ(verdict_of_npz(archive({{"a.npy", text("1")}, {"metadata.npy", text(R"({"a":"1"})")}})),
              "DuplicateKey");
    const auto file =
        parse_npz(archive({{"good.npy", kOne}, {"bad.npy", npy("<f8", "(2,)", "short")}}), "dump.npz");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().text(), "dump.npz: tensor bad: SizeMismatch: 5 bytes for a shape of 16");
}

// libzip writes no two members of one name, so the second is renamed in both its headers.
TEST(Npz, RefusesANameTwice) {
    auto bytes = archive({{"aa.npy", kOne}, {"ab.npy", kOne}});
    const std::string name = "ab.npy";
    std::size_t renamed = 0;
    for (auto at = find_text(bytes, name); at != bytes.end(); at = find_text(bytes, name), ++renamed)
        at[1] = std::byte{'a'};
    EXPECT_EQ(renamed, 2U);
    const auto file = parse_npz(bytes);
    ASSERT_FALSE(file);
    EXPECT_TRUE(file.error().code == ErrorCode::DuplicateName ||
                file.error().code == ErrorCode::InvalidArchive)
        << file.error().text();
}

// The directory of a small archive claims more than deflate can make of its bytes, or less than comes.
TEST(Npz, BelievesNoClaimedSize) {
    const auto good = archive({{"x.npy", kOne}});
    const auto claim = [&](std::uint32_t size) {
        auto bytes = good;
        const auto put = [&](std::string_view mark, std::ptrdiff_t offset) {
            const auto at = find_text(bytes, mark);
            EXPECT_NE(at, bytes.end());
            std::ranges::copy(to_bytes(little_endian(size, 4)), at + offset);
        };
        put("PK\3\4", 22);
        put("PK\1\2", 24);
        return bytes;
    };
    EXPECT_EQ(verdict_of_npz(claim(static_cast<std::uint32_t>(kOne.size()))), "accepted");
    EXPECT_EQ(verdict_of_npz(claim(0xfffffffe)), "ArchiveTooLarge");
    EXPECT_EQ(verdict_of_npz(claim(static_cast<std::uint32_t>(kOne.size()) + 1)), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(claim(static_cast<std::uint32_t>(kOne.size()) - 1)), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(claim(0)), "InvalidArchive");
}

std::string array_of(std::string_view data) {
    return npy("|u1", "(" + std::to_string(data.size()) + ",)", data);
}
std::string noise(std::size_t bytes) {
    testing::Random random(43);
    std::string data(bytes, '\0');
    for (char& byte : data)
        byte = static_cast<char>(random.next());
    return data;
}

// Zeros deflate to a thousandth. By the directory alone: the member before them is damaged, and nobody saw
// it.
TEST(Npz, RefusesABombBeforeItInflatesAnything) {
    const MemberOf first{"a.npy", array_of("checked"), ZIP_CM_STORE};
    const auto bomb = [&](std::size_t zeros, std::size_t beside) {
        auto bytes = archive({first,
                              {"b.npy", array_of(std::string(zeros, '\0'))},
                              {"c.npy", array_of(noise(beside)), ZIP_CM_STORE}});
        const auto at = find_text(bytes, "checked");
        EXPECT_NE(at, bytes.end());
        *at ^= std::byte{1};
        return bytes;
    };
    const auto refused = bomb(kFreeArchiveBytes, 0);
    EXPECT_LT(refused.size(), std::size_t{70'000});
    EXPECT_EQ(verdict_of_npz(refused), "ArchiveTooLarge");
    // What may come out is read, so that the damage is seen.
    EXPECT_EQ(verdict_of_npz(bomb(kFreeArchiveBytes / 32, 0)), "InvalidArchive");
    EXPECT_EQ(verdict_of_npz(bomb(kFreeArchiveBytes, kFreeArchiveBytes / kMaxArchiveExpansion)),
              "InvalidArchive");
}

// One member's fields, as both headers have them: deflated, no checksum.
std::string fields(const std::string& name, std::size_t packed, std::size_t size) {
    return little_endian(20, 2) + little_endian(0, 2) + little_endian(8, 2) + little_endian(0, 8) +
           little_endian(packed, 4) + little_endian(size, 4) + little_endian(name.size(), 2) +
           little_endian(0, 2);
}

// A block of deflate that stores its bytes.
std::string stored(bool last, const std::string& data) {
    return little_endian(last, 1) + little_endian(data.size(), 2) + little_endian(~data.size(), 2) + data;
}

// The first member's bytes are the second member whole, its header in a block of its own: so the bytes of a
// small archive can be counted as often as it likes (D. Fifield, "A better zip bomb", WOOT 2019).
TEST(Npz, RefusesMembersThatShareBytes) {
    const std::string kernel = stored(true, array_of(noise(5000))), inner = "b.npy", outer = "a.npy";
    const std::size_t size = kernel.size() - 5;
    const std::string header = "PK\3\4" + fields(inner, kernel.size(), size) + inner;
    const std::string around = stored(false, header) + kernel;
    const std::size_t size_around = header.size() + size;
    const std::string body = "PK\3\4" + fields(outer, around.size(), size_around) + outer + around;
    const auto entry = [](const std::string& name, std::size_t packed, std::size_t bytes, std::size_t at) {
        return "PK\1\2" + little_endian(20, 2) + fields(name, packed, bytes) + little_endian(0, 10) +
               little_endian(at, 4) + name;
    };
    const std::string directory =
        entry(outer, around.size(), size_around, 0) +
        entry(inner, kernel.size(), size, body.size() - kernel.size() - header.size());
    const std::string end = "PK\5\6" + little_endian(0, 4) + little_endian(2, 2) + little_endian(2, 2) +
                            little_endian(directory.size(), 4) + little_endian(body.size(), 4) +
                            little_endian(0, 2);
    const auto file = parse_npz(to_bytes(body + directory + end));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().text(), "tensor b.npy: InvalidArchive: members share bytes of the archive");
}

TEST(Npz, RefusesBytesThatDoNotFitTheirChecksum) {
    auto bytes = archive({{"x.npy", kOne, ZIP_CM_STORE}});
    const auto at = find_text(bytes, "(2,)");
    ASSERT_NE(at, bytes.end());
    at[3] = std::byte{' '};
    EXPECT_EQ(verdict_of_npz(bytes), "InvalidArchive");
}

TEST(Npz, ReadTellsFormatsApart) {
    const auto folder =
        std::filesystem::path(::testing::TempDir()) / ("formats" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto put = [&](const std::string& name, std::span<const std::byte> bytes) {
        std::ofstream(folder / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        const auto file = read((folder / name).string());
        return file ? std::to_string(file->tensors().size()) : std::string(to_text(file.error().code));
    };
    const auto zip = archive({{"x.npy", kOne}, {"y.npy", kOne}});
    EXPECT_EQ(put("a", zip), "2");
    EXPECT_EQ(put("b", to_bytes(kOne)), "1");
    EXPECT_EQ(put("c.npz", format_safetensors({}, {}).value()), "InvalidArchive");
    EXPECT_EQ(put("c.npy", format_safetensors({}, {}).value()), "BadMagic");
    EXPECT_EQ(put("d", format_safetensors({}, {}).value()), "0");
    EXPECT_EQ(put("e.safetensors", zip), "2");
    EXPECT_EQ(put("f", to_bytes("anything")), "HeaderTooLarge");
    EXPECT_EQ(put("h", to_bytes(std::string("PK\5\6", 4) + std::string(18, '\0'))), "0");
    EXPECT_EQ(put("g", to_bytes("")), "HeaderTooSmall");
    EXPECT_EQ(read((folder / "none").string()).error().code, ErrorCode::CannotOpen);
    std::filesystem::remove_all(folder);
}

TEST(Npz, DamagedBytesAreReadOrRefused) {
    const auto good = archive({{"x.npy", kOne}, {"y.npy", kOne, ZIP_CM_STORE}, {"attest.npy", text("core")}});
    testing::Random random(41);
    std::size_t accepted = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto bytes = good;
        const std::uint64_t edits = 1 + random.below(3);
        for (std::uint64_t edit = 0; edit < edits; ++edit) {
            const auto at = static_cast<std::size_t>(random.below(bytes.size()));
            switch (random.below(4)) {
                case 0:
                    bytes[at] ^= static_cast<std::byte>(1U << random.below(8));
                    break;
                case 1:
                    bytes[at] = static_cast<std::byte>(random.next());
                    break;
                case 2:
                    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0});
                    break;
                default:
                    bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        accepted += testing::read_whole(parse_npz(bytes, "damaged")) ? 1U : 0U;
    }
    EXPECT_GT(accepted, 200U);
    EXPECT_LT(accepted, 10'000U);
}

}  // namespace
}  // namespace attest::dump
