// What several laws need: images of caches, runs of rows, and calls that must be refused.
#pragma once

#include "attest/properties/laws.hpp"
#include "attest/properties/play.hpp"
#include "attest/properties/scene.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest::properties {

// Everything that a refused call must leave alone in a cache.
struct CacheImage {
    Storage storage;  // empty where the subject shows none
    Array keys;
    Array values;
    std::uint64_t length = 0;
};

CacheImage image_of(const Subject& subject, const Cache& cache);
bool unchanged(Checks& checks, const Subject& subject, Text place, const Cache& cache,
               const CacheImage& before);

// A run of rows: their answers, [B, count, D] joined, up to the first that is refused.
struct Run {
    std::string code;  // "" when none was refused
    Array y;
    Array keys;
    Array values;
};

// Appends rows [first, first + count) of the scene's x one by one, or in chunks of the given sizes (a chunk
// of one through append where `single` says so).
Run run_rows(Scene& scene, Layer& layer, Cache& cache, std::uint64_t first, std::uint64_t count);
Run run_chunks(Scene& scene, Layer& layer, Cache& cache, std::span<const std::uint64_t> chunks,
               bool single_through_append);

// same_run compares two runs of the same rows. Both must be refused or none; a refusal over numbers may name
// an earlier stage where rows were offered together, so only its kind is compared.
bool same_run(Checks& checks, Text place, const Run& got, const Run& want);

// Whether keys and values are rounded to be stored. What is said of exact numbers is said of layers that
// round nothing more than their arithmetic does.
inline bool is_narrow(const cases::Case& one) {
    return one.storage != cases::KvStorage::computing;
}
inline constexpr const char* kUnrounded = "this law is about layers that store keys and values as computed";

// Numbers as they are stored: to nearest, ties to even, by the definition of the formats and no bit of
// theirs.
Array as_stored(cases::KvStorage storage, Array values);

// A refusal over numbers that left the finite ones.
bool is_non_finite(std::string_view code);

// The ways of calling badly that need no other layer.
enum class BadCall : std::uint8_t {
    rank,
    tokens,
    no_rows,
    batch,
    width,
    overfull,
    answer_shape,
    answer_not_writable,
    nan_input,
    infinite_input,
    overflow,
};
inline constexpr std::uint64_t kBadCalls = 11;
std::string_view to_text(BadCall kind);

// call_badly offers `row` [batch, 1, D], of any batch, spoilt, to the layer. It checks that the call is
// refused with the right code and leaves its answer's storage alone; false when this way does not exist here
// (a scalar answer is always writable).
bool call_badly(Scene& scene, Layer& layer, Cache& cache, BadCall kind, std::span<const double> row);

}  // namespace attest::properties
