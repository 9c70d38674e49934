// The libFuzzer driver of one reader. ATTEST_FUZZ_BYTES names the property that must hold for any bytes
// (../src/bytes.hpp); libFuzzer's own mutators make them.
#include "../src/bytes.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    const auto verdict = attest::fuzzing::ATTEST_FUZZ_BYTES(std::as_bytes(std::span(data, bytes)));
    if (verdict.kind == attest::properties::VerdictKind::fails) {
        std::fprintf(stderr, "%s\n", verdict.text().c_str());
        std::abort();
    }
    // Refused bytes stay interesting: each refusal is a path of the reader.
    return 0;
}
