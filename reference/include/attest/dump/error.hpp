// What can be wrong with a dump, and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attest::dump {

enum class ErrorCode : std::uint8_t {
    // The file system.
    CannotOpen,
    CannotRead,
    CannotWrite,
    NotRegularFile,

    // safetensors, in the order in which they are looked for.
    HeaderTooSmall,                // fewer than the 8 bytes of the header length
    HeaderTooLarge,                // a header beyond the format's 100 MB
    InvalidHeaderLength,           // the header would end beyond the file
    InvalidHeader,                 // the header (or a text of NumPy's) is not UTF-8
    InvalidHeaderDeserialization,  // not the JSON the format wants
    DuplicateName,                 // two tensors of one name, or __metadata__ twice
    DuplicateKey,                  // one key twice inside a tensor's entry or inside __metadata__
    UnknownDtype,
    UnsupportedDtype,          // a type of the format that nothing here computes with (F8, F4, complex)
    TooManyDimensions,         // more than kMaxDimensions
    InvalidOffset,             // offsets that overlap, leave a hole or run backwards
    ValidationOverflow,        // a shape whose size in bits does not fit 64 bits
    TensorInvalidInfo,         // offsets that do not fit shape and type
    MetadataIncompleteBuffer,  // the last tensor ends before or beyond the end of the file

    // npy.
    BadMagic,
    UnsupportedVersion,
    InvalidNpyHeader,  // not the dictionary the format wants
    ObjectArray,       // pickled objects are never run
    StructuredArray,   // fields, sub-arrays
    SizeMismatch,      // more or fewer bytes than shape and type say

    // npz.
    InvalidArchive,
    UnsupportedCompression,
    EncryptedArchive,
    ArchiveTooLarge,  // members that would inflate beyond the limit

    AllocationFailed,
};

std::string_view to_text(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::CannotOpen;
    std::string file;    // as it was named; empty for bytes in memory
    std::string tensor;  // empty where no tensor is at fault
    std::string reason;

    // One line, control characters escaped: "layer.safetensors: tensor wq: InvalidOffset: …".
    std::string text() const;
};

}  // namespace attest::dump
