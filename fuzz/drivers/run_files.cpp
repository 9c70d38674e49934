// The plainest engine: runs the driver once on each file named, so that drivers build and run with any
// compiler and no libFuzzer. Arguments with a leading dash are another engine's options and are ignored.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

// Engines call it once, before anything runs, where a driver has one.
extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int* argc, char*** argv);

int main(int argc, char** argv) {
    if (LLVMFuzzerInitialize != nullptr) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    int run = 0, unreadable = 0;
    for (int position = 1; position < argc; ++position) {
        if (argv[position][0] == '-') {
            continue;
        }
        std::ifstream in(argv[position], std::ios::binary);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        if (!in.is_open() || in.bad()) {
            std::fprintf(stderr, "%s: can't be read\n", argv[position]);
            ++unreadable;
            continue;
        }
        std::printf("%s\n", argv[position]);
        std::fflush(stdout);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++run;
    }
    std::printf("%d run, %d unreadable\n", run, unreadable);
    return unreadable > 0 || run == 0 ? 2 : 0;
}
