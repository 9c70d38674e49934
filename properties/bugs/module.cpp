// The one symbol that a planted bug's module shows.

#include "attest/properties/subject.hpp"

extern "C" __attribute__((visibility("default"))) attest::properties::Subject* attest_planted_subject() {
    return attest::properties::make_attest_subject().release();
}
