#include "attest/properties/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::properties {

Prediction::Prediction(std::initializer_list<std::string_view> codes) {
    for (const std::string_view code : codes) {
        add(code);
    }
}

void Prediction::add(std::string_view code) {
    if (!allows(code)) codes_.push_back(code);
}

bool Prediction::allows(std::string_view code) const {
    return std::find(codes_.begin(), codes_.end(), code) != codes_.end();
}

std::string Prediction::text() const {
    std::string text;
    for (const std::string_view code : codes_) {
        text += text.empty() ? "" : " or ";
        text += code.empty() ? "no refusal" : code;
    }
    return text;
}

std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors) {
    std::uint64_t result = 1;
    bool overflow = false;
    for (const std::uint64_t factor : factors) {
        if (factor == 0) return 0;
        overflow = __builtin_mul_overflow(result, factor, &result) || overflow;
    }
    return overflow ? std::nullopt : std::optional(result);
}

std::uint64_t element_bytes(cases::ElementType type) {
    return type == cases::ElementType::float32 ? 4 : 8;
}

double largest_of(cases::ElementType type) {
    return type == cases::ElementType::float32 ? static_cast<double>(std::numeric_limits<float>::max())
                                               : std::numeric_limits<double>::max();
}

namespace {

// Whether a buffer of so many bytes can be had. A library may add a header or put a few buffers into one, so
// between a quarter of the limit and the limit both answers are right.
Prediction predict_bytes(const std::optional<std::uint64_t>& bytes) {
    if (!bytes) return {"ElementCountOverflow"};
    if (*bytes > kAllocationLimit) return {"AllocationFailed"};
    if (*bytes > kAllocationLimit / 4) return {"", "AllocationFailed"};
    return {""};
}

Prediction predict_rope(const cases::Case& geometry) {
    const cases::Rope& rope = geometry.rope;
    if (rope.width % 2 != 0) return {"RopeWidthOdd"};
    if (!std::isfinite(rope.base) || !(rope.base > 0)) return {"RopeBaseInvalid"};
    if (rope.positions == 0) return {"RopeZeroPositions"};
    return predict_bytes(product({rope.positions, rope.width / 2, element_bytes(geometry.type)}));
}

// The refusals of a layer that its counts alone decide, before and after the shapes are compared.
std::string_view geometry_refusal(const cases::Case& geometry) {
    if (geometry.heads == 0) return "ZeroHeads";
    if (geometry.kv_heads == 0) return "ZeroKvHeads";
    if (geometry.heads % geometry.kv_heads != 0) return "KvHeadsDoNotDivideHeads";
    if (geometry.width == 0) return "ZeroModelWidth";
    if (geometry.head_width == 0) return "ZeroHeadWidth";
    if (geometry.rope.width > geometry.head_width) return "RopeWidthExceedsHead";
    return "";
}

}  // namespace

Prediction predict_layer(const cases::Case& geometry, const std::array<Array, 4>* weights) {
    const Prediction rope = predict_rope(geometry);
    if (!rope.allows("")) return rope;
    Prediction prediction;
    if (rope.allows("AllocationFailed")) prediction.add("AllocationFailed");

    if (weights != nullptr) {
        for (const Array& weight : *weights) {
            if (!std::all_of(weight.begin(), weight.end(), [](double w) { return std::isfinite(w); })) {
                prediction.add("NonFiniteParameter");
                return prediction;
            }
        }
    }
    const std::string_view refusal = geometry_refusal(geometry);
    if (!refusal.empty() && refusal != "RopeWidthExceedsHead") {
        prediction.add(refusal);
        return prediction;
    }
    const std::uint64_t bytes = element_bytes(geometry.type);
    Prediction storage = predict_bytes(product({geometry.heads, geometry.head_width, geometry.width, bytes}));
    for (const std::uint64_t heads : {geometry.kv_heads, geometry.heads}) {
        const Prediction one = predict_bytes(product({heads, geometry.head_width, geometry.width, bytes}));
        if (storage.success()) storage = one;
    }
    if (refusal.empty()) {
        // The storage is asked of a layer that could be made.
        if (geometry.storage != cases::KvStorage::computing && geometry.type == cases::ElementType::float64) {
            if (storage.allows("")) prediction.add("StorageUnsupported");
            for (const std::string_view code : {"ElementCountOverflow", "AllocationFailed"}) {
                if (storage.allows(code)) prediction.add(code);
            }
            return prediction;
        }
        for (const std::string_view code : {"", "ElementCountOverflow", "AllocationFailed"}) {
            if (storage.allows(code)) prediction.add(code);
        }
        return prediction;
    }
    // A seeded layer may find its rope too wide before or after it finds its weights too large.
    prediction.add(refusal);
    for (const std::string_view code : {"ElementCountOverflow", "AllocationFailed"}) {
        if (storage.allows(code)) prediction.add(code);
    }
    return prediction;
}

Prediction predict_cache(const cases::Case& geometry, std::uint64_t batch, std::uint64_t capacity,
                         std::uint64_t first) {
    if (batch == 0) return {"ZeroBatchSize"};
    if (capacity == 0) return {"ZeroCapacity"};
    if (first > geometry.rope.positions || capacity > geometry.rope.positions - first) {
        return {"CapacityExceedsPositions"};
    }
    const std::uint64_t bytes = element_bytes(geometry.type);
    const std::uint64_t stored = geometry.storage == cases::KvStorage::computing ? bytes : 2;
    Prediction prediction =
        predict_bytes(product({batch, geometry.kv_heads, capacity, geometry.head_width, stored}));
    if (!prediction.allows("")) return prediction;
    // The workspace of one row holds heads, and at most one score a key and head.
    const std::optional<std::uint64_t> row = product({4, batch, geometry.heads, geometry.head_width, bytes});
    const std::optional<std::uint64_t> scores = product({2, batch, geometry.heads, capacity, bytes});
    const std::optional<std::uint64_t> widths = product({2, batch, geometry.width, bytes});
    for (const auto& size : {row, scores, widths}) {
        if (!size) prediction.add("ElementCountOverflow");
        if (!size || *size > kAllocationLimit / 16) prediction.add("AllocationFailed");
    }
    return prediction;
}

Prediction predict_adamw(const cases::Case& geometry, const std::array<Array, 4>& weights,
                         const std::array<Array, 4>& gradients) {
    const double large = std::sqrt(largest_of(geometry.type)) / 64;
    bool risky = false;
    for (std::size_t i = 0; i < 4; ++i) {
        for (const double gradient : gradients[i]) {
            if (!std::isfinite(gradient)) return {"NonFiniteGradient"};
            risky = risky || std::abs(gradient) > large;
        }
        for (const double weight : weights[i]) {
            risky = risky || std::abs(weight) > largest_of(geometry.type) / 64;
        }
    }
    if (risky) return {"", "NonFiniteUpdate"};
    return {""};
}

}  // namespace attest::properties
