#include "attest/properties/subject.hpp"

namespace attest::properties {

std::string_view to_text(Capability capability) {
    switch (capability) {
        case Capability::full_prefix:
            return "a forward pass over a full prefix";
        case Capability::prefill:
            return "prefill";
        case Capability::tickets:
            return "prepare and commit";
        case Capability::update:
            return "updating a weight";
        case Capability::adamw:
            return "an optimiser step";
        case Capability::binding:
            return "binding a cache to its layer";
        case Capability::identity:
            return "layers that share parameters";
        case Capability::first_position:
            return "caches that start at another position";
        case Capability::storage:
            return "reading its storage";
        case Capability::poison:
            return "writing to dead slots";
        case Capability::copy:
            return "copying a cache";
        case Capability::evidence:
            return "the evidence of a step";
        case Capability::work:
            return "work counts";
        case Capability::strides:
            return "strided views";
        case Capability::allocation:
            return "failing allocations";
        case Capability::typed_refusals:
            return "typed refusals";
        case Capability::same_bits:
            return "the same bits for cached and full prefix";
        case Capability::seeded_geometry:
            return "layers made from a seed";
        case Capability::executors:
            return "executors";
        case Capability::threads:
            return "sessions in several threads";
        case Capability::narrow_storage:
            return "narrow storage of keys and values";
        case Capability::arithmetic:
            return "Attest's own order of sums";
    }
    return "unknown";
}

std::string_view to_text(Layout layout) {
    switch (layout) {
        case Layout::dense:
            return "dense";
        case Layout::transposed:
            return "transposed";
        case Layout::sliced:
            return "sliced";
        case Layout::reversed:
            return "reversed";
        case Layout::repeated:
            return "repeated";
        case Layout::aliased:
            return "aliased";
    }
    return "unknown";
}

}  // namespace attest::properties
