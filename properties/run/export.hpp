// Our nastiest inputs as dumps without answers, for people whose kernel can't be linked: they fill in y, and
// attest-reference check judges.
#pragma once

#include <attest/dump/error.hpp>
#include <attest/dump/safetensors.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attest::properties {

// One dump: what is special about it (a file name's worth of words), its tensors and its metadata.
struct Exported {
    std::string name;
    std::vector<dump::NewTensor> tensors;
    dump::File::Metadata metadata;
};

// Kinds that can be exported: core, rotary.
bool is_export_kind(std::string_view kind);

// The dump of a kind and number under a seed. Numbers walk through the families of nasty inputs.
//
// core: q, k, v and a BOOL mask that says all of what is visible; causal and kv_lengths say the same where
// they can, for kernels that know these and no mask. Poison lies in columns that no row sees. rotary: x,
// positions up to 2^17.
Exported exported(std::string_view kind, std::uint64_t number, std::uint64_t seed);

// Writes `count` dumps into a folder, which is made. The files' names, or what went wrong.
std::optional<std::string> export_dumps(std::string_view kind, std::uint64_t count, std::uint64_t seed,
                                        const std::string& folder);

}  // namespace attest::properties
