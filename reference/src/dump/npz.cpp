#include <attest/dump/npy.hpp>

#include "mapping.hpp"
#include "npy_array.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <zip.h>

namespace attest::dump {

namespace {

struct CloseArchive {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
    void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

std::unexpected<Error> refuse(ErrorCode code, std::string reason, std::string member = {}) {
    return std::unexpected(Error{code, {}, std::move(member), std::move(reason)});
}

std::unexpected<Error> refuse(zip_error_t& error) {
    auto refusal = refuse(ErrorCode::InvalidArchive, zip_error_strerror(&error));
    zip_error_fini(&error);
    return refusal;
}

std::expected<Archive, Error> open_archive(std::span<const std::byte> bytes) {
    // libzip takes an empty file for an archive that is yet to be written.
    if (bytes.empty()) return refuse(ErrorCode::InvalidArchive, "an empty file");
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source == nullptr) return refuse(error);
    zip_t* const archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    if (archive == nullptr) {
        zip_source_free(source);
        return refuse(error);
    }
    zip_error_fini(&error);
    return Archive(archive);
}

// What the directory says of a member, believed only so far as to refuse it.
std::expected<zip_stat_t, Error> stat_member(zip_t* archive, zip_uint64_t position) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive, position, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
        return refuse(ErrorCode::InvalidArchive, "a member without name, size or method");
    const std::string name = stat.name;
    if (stat.encryption_method != ZIP_EM_NONE) return refuse(ErrorCode::EncryptedArchive, "encrypted", name);
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
        return refuse(ErrorCode::UnsupportedCompression, "method " + std::to_string(stat.comp_method), name);
    // Deflate makes at most 1032 bytes of one (two bits for 258).
    if (stat.size > kMaxArchiveBytes || stat.size / 1032 > stat.comp_size)
        return refuse(ErrorCode::ArchiveTooLarge,
                      std::to_string(stat.size) + " bytes out of " + std::to_string(stat.comp_size), name);
    return stat;
}

// survey reads the whole directory, before memory is taken for any member.
std::expected<std::vector<zip_stat_t>, Error> survey(zip_t* archive, std::uint64_t archive_bytes) {
    const auto members = static_cast<zip_uint64_t>(zip_get_num_entries(archive, 0));
    if (members > kMaxArchiveMembers)
        return refuse(ErrorCode::ArchiveTooLarge, std::to_string(members) + " members");
    const std::uint64_t bytes_max =
        std::min(kMaxArchiveBytes, std::max(kFreeArchiveBytes, kMaxArchiveExpansion * archive_bytes));
    std::vector<zip_stat_t> stats;
    std::uint64_t total = 0, packed = 0;
    for (zip_uint64_t position = 0; position < members; ++position) {
        auto stat = stat_member(archive, position);
        if (!stat) return std::unexpected(std::move(stat.error()));
        const std::string_view name = stat->name;
        if (!name.ends_with(".npy")) return refuse(ErrorCode::InvalidArchive, "no .npy", stat->name);
        // Neither sum wraps: a member's size is capped, and its packed size, where it is beyond the
        // archive's, ends this at once.
        total += stat->size;
        if (total > bytes_max)
            return refuse(ErrorCode::ArchiveTooLarge,
                          std::to_string(total) + " bytes out of an archive of " +
                              std::to_string(archive_bytes) + ", which may hold " + std::to_string(bytes_max),
                          stat->name);
        if (stat->comp_size > archive_bytes - packed)
            return refuse(ErrorCode::InvalidArchive, "members share bytes of the archive", stat->name);
        packed += stat->comp_size;
        stats.push_back(*stat);
    }
    return stats;
}

// Memory grows with the bytes that really come, not with the size the directory claims.
std::expected<std::vector<std::byte>, Error> inflate_member(zip_t* archive, zip_uint64_t position,
                                                            const zip_stat_t& stat) {
    const Member member(zip_fopen_index(archive, position, 0));
    if (!member) return refuse(ErrorCode::InvalidArchive, zip_strerror(archive), stat.name);
    std::vector<std::byte> out;
    std::array<std::byte, 65536> chunk;
    for (;;) {
        const zip_int64_t got = zip_fread(member.get(), chunk.data(), chunk.size());
        if (got < 0) return refuse(ErrorCode::InvalidArchive, zip_file_strerror(member.get()), stat.name);
        if (got == 0) break;
        out.insert(out.end(), chunk.begin(), chunk.begin() + got);
        if (out.size() > stat.size) break;
    }
    if (out.size() != stat.size)
        return refuse(ErrorCode::InvalidArchive, "another size than the directory's", stat.name);
    return out;
}

std::expected<File, Error> parse(std::span<const std::byte> bytes) {
    const auto archive = open_archive(bytes);
    if (!archive) return std::unexpected(archive.error());
    const auto stats = survey(archive->get(), bytes.size());
    if (!stats) return std::unexpected(stats.error());
    Gathering gathering;
    for (zip_uint64_t position = 0; position < stats->size(); ++position) {
        const zip_stat_t& stat = (*stats)[position];
        std::string name = stat.name;
        name.resize(name.size() - std::string_view(".npy").size());
        auto inflated = inflate_member(archive->get(), position, stat);
        if (!inflated) return std::unexpected(std::move(inflated.error()));
        auto array = decode_npy(gathering.keep(std::move(*inflated)));
        if (!array) {
            array.error().tensor = std::move(name);
            return std::unexpected(std::move(array.error()));
        }
        if (auto error = gathering.add(std::move(name), std::move(*array)))
            return std::unexpected(std::move(*error));
    }
    return gathering.finish();
}

std::expected<File, Error> parse_named(std::span<const std::byte> bytes, std::string name) {
    try {
        auto file = parse(bytes);
        if (!file) file.error().file = std::move(name);
        return file;
    } catch (const std::bad_alloc&) {
        return std::unexpected(Error{ErrorCode::AllocationFailed, std::move(name), {}, {}});
    }
}

}  // namespace

std::expected<File, Error> read_npz(const std::string& path) {
    const auto mapping = Mapping::open(path);
    if (!mapping) return std::unexpected(mapping.error());
    return parse_named((*mapping)->bytes(), path);
}

std::expected<File, Error> parse_npz(std::span<const std::byte> bytes, std::string name) {
    return parse_named(bytes, std::move(name));
}

}  // namespace attest::dump
