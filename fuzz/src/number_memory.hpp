// Memory for the oracle's numbers. MPFR allocates in every exponential and every tangent, and under
// AddressSanitizer each allocation takes longer than the sum it is for. What lies in these blocks is not
// under test.
#pragma once

namespace attest::fuzzing {

// keep_blocks_of_numbers has GMP and MPFR take small blocks from a list of those given back before, a list a
// thread. It is called before they allocate anything.
void keep_blocks_of_numbers();

}  // namespace attest::fuzzing
