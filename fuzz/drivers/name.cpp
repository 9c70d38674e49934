// ATTEST_FUZZ_TARGET is the name of one target; all else is shared by the drivers.
#include "name.hpp"

#include <utility>

#ifdef ATTEST_FUZZ_NPZ
std::unique_ptr<attest::fuzzing::Target> attest::fuzzing::make_this_target(MakeSubject) {
    return make_reader_target(npz_bytes);
}
#else
std::unique_ptr<attest::fuzzing::Target> attest::fuzzing::make_this_target(MakeSubject make_subject) {
    return make_target(ATTEST_FUZZ_TARGET, std::move(make_subject));
}
#endif
