// The libFuzzer driver, the same for every target; name.cpp says which target a binary drives. What libFuzzer
// leaves after a finding of a law is a case, a file that replay takes as it is.
#include "attest/case/print.hpp"
#include "attest/properties/subject.hpp"

#include "../src/arena.hpp"
#include "../src/box.hpp"
#include "../src/gauge.hpp"
#include "../src/inspect.hpp"
#include "../src/number_memory.hpp"
#include "../src/target.hpp"
#include "name.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// libFuzzer's own mutation of bytes. Weak, because an engine that only runs given files has none; no engine
// calls a custom mutator without it.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t bytes,
                                                      std::size_t bytes_max);

// What a campaign wants of AddressSanitizer unless ASAN_OPTIONS says otherwise. Freed memory is kept for as
// long as a few inputs run, and new memory holds what it held: a larger quarantine, and filling all that is
// allocated, cost more in missed caches than they find in runs of a millisecond, and numbers that were never
// set differ from run to run. A block whose caller is not known is no leak to LeakSanitizer, so a few frames
// are kept. Nothing here is reached by way of another library's thread-local storage alone, which MPFR asks
// for at every operation.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1:quarantine_size_mb=1:thread_local_quarantine_size_kb=16:"
           "max_malloc_fill_size=0:"
           "malloc_context_size=8:detect_stack_use_after_return=0:allocator_release_to_os_interval_ms=-1:"
           "intercept_tls_get_addr=0";
}

namespace {

namespace fuzzing = attest::fuzzing;
using attest::properties::VerdictKind;

// What the laws judge: the library, or the library with a bug planted, from a module (--planted=FILE).
fuzzing::MakeSubject& make_subject() {
    static fuzzing::MakeSubject chosen = attest::properties::make_attest_subject;
    return chosen;
}

const fuzzing::Target& target() {
    static const std::unique_ptr<fuzzing::Target> made = fuzzing::make_this_target(make_subject());
    return *made;
}

void load_planted(const std::string& path) {
    // RTLD_LOCAL: the module's library is its own and must not answer for ours, nor ours for it.
    void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const symbol = module == nullptr ? nullptr : ::dlsym(module, "attest_planted_subject");
    if (symbol == nullptr) {
        const char* const why = ::dlerror();
        std::fprintf(stderr, "%s: %s\n", path.c_str(), why == nullptr ? "no planted bug" : why);
        std::_Exit(2);
    }
    const auto make = reinterpret_cast<attest::properties::Subject* (*)()>(symbol);
    make_subject() = [make] { return std::unique_ptr<attest::properties::Subject>(make()); };
}

fuzzing::Box& box() {
    static fuzzing::Box held;
    return held;
}

// The children of libFuzzer's fork mode outlive it when it is killed, and would go on for minutes.
void die_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == 1) {
        std::_Exit(1);
    }
}

[[noreturn]] void report_failure(std::span<const std::uint8_t> input,
                                 const attest::properties::Verdict& verdict) {
    const auto one = target().decode(input);
    std::fprintf(stderr, "%s\n\n%s", verdict.text().c_str(), one ? attest::cases::print(*one).c_str() : "");
    std::abort();
}

// What libFuzzer is told of an input.
int run(std::span<const std::uint8_t> input) {
    const auto verdict = target().judge(input);
    if (verdict && verdict->kind == VerdictKind::fails) {
        report_failure(input, *verdict);
    }
    if (!verdict || (verdict->kind == VerdictKind::vacuous && !target().keeps_vacuous())) {
        return -1;
    }
    fuzzing::record(verdict->counters);
    return 0;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    fuzzing::keep_blocks_of_numbers();
    std::vector<std::string> arguments(*argv + 1, *argv + *argc);
    constexpr std::string_view kPlanted = "--planted=";
    if (!arguments.empty() && arguments.front().starts_with(kPlanted)) {
        load_planted(arguments.front().substr(kPlanted.size()));
        arguments.erase(arguments.begin());
    }
    if (const auto exit_code = fuzzing::inspect(target(), make_subject(), arguments)) {
        std::fflush(stdout);
        std::_Exit(*exit_code);
    }
    constexpr std::string_view kArtifacts = "-artifact_prefix=";
    bool parent_of_jobs = false;
    std::string folder;
    for (const std::string& argument : arguments) {
        if (argument.starts_with("-features_dir=") || argument.starts_with("-merge_inner=")) {
            die_with_parent();
        }
        parent_of_jobs = parent_of_jobs || argument.starts_with("-fork=");
        if (argument.starts_with(kArtifacts)) {
            folder = argument.substr(kArtifacts.size());
        }
    }
    if (!parent_of_jobs && folder.ends_with('/')) {
        box().open(folder + "boxes");
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    const std::span input(data, bytes);
    box().begin(input);
#ifdef ATTEST_FUZZ_ARENA
    const std::uint64_t blocks_before = fuzzing::blocks_in_use();
    int result = 0;
    {
        const fuzzing::InArena here;
        result = run(input);
    }
    if (fuzzing::blocks_in_use() > blocks_before) {
        // What it leaves behind may be a leak, and those are looked for on the heap.
        result = run(input);
    }
#else
    const int result = run(input);
#endif
    box().end();
    return result;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max,
                                               unsigned seed) {
#ifdef ATTEST_FUZZ_ARENA
    const fuzzing::InArena here;
#endif
    return target().mutate(data, bytes, bytes_max, seed, LLVMFuzzerMutate);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* left, std::size_t left_bytes,
                                                 const std::uint8_t* right, std::size_t right_bytes,
                                                 std::uint8_t* out, std::size_t bytes_max, unsigned seed) {
#ifdef ATTEST_FUZZ_ARENA
    const fuzzing::InArena here;
#endif
    return target().cross({left, left_bytes}, {right, right_bytes}, out, bytes_max, seed);
}
