// The words of the format: every enumerator's text, and which arguments a verb takes.
#pragma once

#include <attest/case/case.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attest::cases {

std::string_view to_text(ElementType type);
std::string_view to_text(KvStorage storage);
std::string_view to_text(Tensor tensor);
std::string_view to_text(Filling filling);
std::string_view to_text(Verb verb);
std::string_view to_text(Variant variant);
std::string_view to_text(Pairs pairs);

std::optional<ElementType> element_type_from_text(std::string_view text);
std::optional<KvStorage> storage_from_text(std::string_view text);
std::optional<Tensor> tensor_from_text(std::string_view text);
std::optional<Filling> filling_from_text(std::string_view text);
std::optional<Verb> verb_from_text(std::string_view text);
std::optional<Variant> variant_from_text(std::string_view text);
std::optional<Pairs> pairs_from_text(std::string_view text);

// All enumerators in order, for generators, mutators and dictionaries.
std::span<const KvStorage> all_storages();
std::span<const Tensor> all_tensors();
std::span<const Filling> all_fillings();
std::span<const Verb> all_verbs();
std::span<const Variant> all_variants();

inline bool is_weight(Tensor tensor) {
    return tensor >= Tensor::wq && tensor <= Tensor::wo;
}
inline bool is_family(Tensor tensor) {
    return tensor == Tensor::gradient || tensor == Tensor::update;
}

// Which fields of a Step a verb uses. Parsing, printing, check and normalise all ask here.
enum class CountUse : std::uint8_t { none, required, optional };

struct Form {
    CountUse count = CountUse::none;  // an optional count is printed where it is not 0
    std::uint64_t count_min = 0;
    std::uint64_t count_max = UINT64_MAX;
    bool tensor = false;  // a weight
    bool variant = false;
    bool shape = false;  // rank, width
    bool batch = false;
    bool rows = false;
    bool expect = true;
};

Form form_of(Verb verb);

// A law or an expected code: a letter, then letters, digits and underscores, at most kMaxNameBytes.
bool is_name(std::string_view text);

}  // namespace attest::cases
