#include <attest/reference/error.hpp>

namespace attest::reference {

std::string_view name_of(Error::Code code) noexcept {
    switch (code) {
        case Error::Code::missing_tensor:
            return "MissingTensor";
        case Error::Code::unknown_tensor:
            return "UnknownTensor";
        case Error::Code::shape_mismatch:
            return "ShapeMismatch";
        case Error::Code::type_mismatch:
            return "TypeMismatch";
        case Error::Code::non_finite:
            return "NonFinite";
        case Error::Code::out_of_range:
            return "OutOfRange";
        case Error::Code::missing_key:
            return "MissingKey";
        case Error::Code::unknown_key:
            return "UnknownKey";
        case Error::Code::bad_value:
            return "BadValue";
        case Error::Code::nothing_to_judge:
            return "NothingToJudge";
        case Error::Code::disagreement:
            return "Disagreement";
    }
    return "Unknown";
}

std::string_view name_of(NoBound reason) noexcept {
    switch (reason) {
        case NoBound::none:
            return "none";
        case NoBound::gamma_undefined:
            return "too many roundings for this precision";
        case NoBound::input_overflow:
            return "an input lies beyond the range of the arithmetic";
        case NoBound::projection_overflow:
            return "a projection may overflow";
        case NoBound::rotation_overflow:
            return "a rotated feature may overflow";
        case NoBound::score_overflow:
            return "a score may overflow";
        case NoBound::mix_overflow:
            return "a mix of values may overflow";
        case NoBound::hidden_by_finite_bias:
            return "every key of the row is hidden by a finite bias";
        case NoBound::unbounded:
            return "the errors allowed upstream leave no finite bound";
    }
    return "unknown";
}

}  // namespace attest::reference
