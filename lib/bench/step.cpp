// attest-bench-step SHAPE: one attention step under a function of its own, attest_bench_step, whose
// instructions callgrind can be told to count. It links nothing but the library, so that nothing else has to
// run there.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "stepper.hpp"

namespace attest::bench {

extern "C" [[gnu::noinline]] bool attest_bench_step(Stepper<float>& stepper) {
    return stepper.step();
}

}  // namespace attest::bench

int main(int argc, char** argv) {
    using namespace attest::bench;
    const auto* const shape = std::ranges::find_if(
        kAttentionShapes, [&](const AttentionShape& each) { return argc == 2 && each.name() == argv[1]; });
    if (shape == std::end(kAttentionShapes))
        return std::fputs("attest-bench-step: no such shape\n", stderr), 2;
    static_cast<void>(Arena<float>::get(shape->elements()));
    Stepper<float> stepper(*shape, 1);
    return attest_bench_step(stepper) ? 0 : 1;
}
