#include <attest/case/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace attest::cases {

namespace {

// Each table is in the order of its enumerators.
constexpr auto kTypes = std::to_array<std::string_view>({"float", "double"});
constexpr auto kStorages = std::to_array<std::string_view>({"computing", "bf16", "f16"});
constexpr auto kTensors =
    std::to_array<std::string_view>({"x", "wq", "wk", "wv", "wo", "gradient", "update"});
constexpr auto kFillings = std::to_array<std::string_view>({
    "zeros",
    "ones",
    "identity",
    "normal",
    "uniform",
    "xavier",
    "integers",
    "distinct",
    "needle",
    "huge",
    "tiny",
    "subnormal",
    "cancelling",
    "equal",
    "powers",
});
constexpr auto kVerbs = std::to_array<std::string_view>({
    "append",
    "prefill",
    "skip",
    "rewind",
    "reset",
    "update",
    "update_nonfinite",
    "adamw",
    "layer",
    "cache",
    "prepare",
    "commit",
    "commit_all",
    "discard",
    "copy",
    "snapshot",
    "fail",
});
constexpr auto kVariants = std::to_array<std::string_view>({
    "original",
    "rebuilt",
    "wider",
    "heads",
    "kv_heads",
    "head_width",
    "rope_base",
    "rope_width",
    "rope_pairs",
    "positions",
});
constexpr auto kPairs = std::to_array<std::string_view>({"interleaved", "half"});

static_assert(kTypes.size() == static_cast<std::size_t>(ElementType::float64) + 1);
static_assert(kStorages.size() == static_cast<std::size_t>(KvStorage::f16) + 1);
static_assert(kTensors.size() == static_cast<std::size_t>(Tensor::update) + 1);
static_assert(kFillings.size() == static_cast<std::size_t>(Filling::powers) + 1);
static_assert(kVerbs.size() == static_cast<std::size_t>(Verb::fail) + 1);
static_assert(kVariants.size() == static_cast<std::size_t>(Variant::positions) + 1);
static_assert(kPairs.size() == static_cast<std::size_t>(Pairs::half) + 1);

// An enumerator outside its list (a mutator wrote through it) has no text.
template <typename Enum, std::size_t N>
std::string_view text_of(const std::array<std::string_view, N>& table, Enum value) {
    const auto position = static_cast<std::size_t>(value);
    return position < N ? table[position] : std::string_view{};
}

template <typename Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<std::string_view, N>& table, std::string_view text) {
    const auto found = std::find(table.begin(), table.end(), text);
    if (found == table.end()) return std::nullopt;
    return static_cast<Enum>(found - table.begin());
}

template <typename Enum, std::size_t N>
constexpr std::array<Enum, N> enumerate(const std::array<std::string_view, N>&) {
    std::array<Enum, N> all = {};
    for (std::size_t i = 0; i < N; ++i)
        all[i] = static_cast<Enum>(i);
    return all;
}

constexpr auto kAllStorages = enumerate<KvStorage>(kStorages);
constexpr auto kAllTensors = enumerate<Tensor>(kTensors);
constexpr auto kAllFillings = enumerate<Filling>(kFillings);
constexpr auto kAllVerbs = enumerate<Verb>(kVerbs);
constexpr auto kAllVariants = enumerate<Variant>(kVariants);

}  // namespace

std::string_view to_text(ElementType type) {
    return text_of(kTypes, type);
}
std::string_view to_text(KvStorage storage) {
    return text_of(kStorages, storage);
}
std::string_view to_text(Tensor tensor) {
    return text_of(kTensors, tensor);
}
std::string_view to_text(Filling filling) {
    return text_of(kFillings, filling);
}
std::string_view to_text(Verb verb) {
    return text_of(kVerbs, verb);
}
std::string_view to_text(Variant variant) {
    return text_of(kVariants, variant);
}
std::string_view to_text(Pairs pairs) {
    return text_of(kPairs, pairs);
}

std::optional<ElementType> element_type_from_text(std::string_view text) {
    return value_of<ElementType>(kTypes, text);
}
std::optional<KvStorage> storage_from_text(std::string_view text) {
    return value_of<KvStorage>(kStorages, text);
}
std::optional<Tensor> tensor_from_text(std::string_view text) {
    return value_of<Tensor>(kTensors, text);
}
std::optional<Filling> filling_from_text(std::string_view text) {
    return value_of<Filling>(kFillings, text);
}
std::optional<Verb> verb_from_text(std::string_view text) {
    return value_of<Verb>(kVerbs, text);
}
std::optional<Variant> variant_from_text(std::string_view text) {
    return value_of<Variant>(kVariants, text);
}
std::optional<Pairs> pairs_from_text(std::string_view text) {
    return value_of<Pairs>(kPairs, text);
}

std::span<const KvStorage> all_storages() {
    return kAllStorages;
}
std::span<const Tensor> all_tensors() {
    return kAllTensors;
}
std::span<const Filling> all_fillings() {
    return kAllFillings;
}
std::span<const Verb> all_verbs() {
    return kAllVerbs;
}
std::span<const Variant> all_variants() {
    return kAllVariants;
}

Form form_of(Verb verb) {
    switch (verb) {
        case Verb::append:
        case Verb::prepare:
            return {.shape = true, .batch = true, .rows = true};
        case Verb::prefill:
            return {.count = CountUse::required, .shape = true, .batch = true};
        case Verb::skip:
        case Verb::rewind:
            return {.count = CountUse::required, .expect = false};
        case Verb::update:
        case Verb::update_nonfinite:
            return {.tensor = true};
        case Verb::layer:
            return {.variant = true};
        case Verb::cache:
            return {.count = CountUse::required, .count_max = kMaxCaches - 1, .batch = true};
        case Verb::commit:
            return {.count = CountUse::optional};
        case Verb::fail:
            return {.count = CountUse::required, .count_min = 1, .expect = false};
        case Verb::reset:
        case Verb::adamw:
        case Verb::commit_all:
        case Verb::discard:
        case Verb::copy:
        case Verb::snapshot:
            return {};
    }
    return {};
}

bool is_name(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    return !text.empty() && text.size() <= kMaxNameBytes && letter(text.front()) &&
           std::all_of(text.begin(), text.end(), rest);
}

}  // namespace attest::cases
