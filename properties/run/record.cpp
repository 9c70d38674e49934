#include "record.hpp"

#include "attest/case/print.hpp"
#include "attest/properties/scene.hpp"

#include <new>
#include <stdexcept>

#include <sys/mman.h>

namespace attest::properties {

namespace {

void note(std::array<Reason, 24>& reasons, const std::string& text) {
    // Numbers and names after a colon tell cases apart, not reasons.
    const std::string shown = text.substr(0, 150);
    for (Reason& reason : reasons) {
        if (reason.count == 0) reason.text.set(shown);
        if (reason.text.text() == shown) {
            ++reason.count;
            return;
        }
    }
    ++reasons.back().count;
}

}  // namespace

void Record::begin(const cases::Case& one) {
    running.set(cases::print(one));
    ++started;
    if (failed) ++shrinks;
}

void Record::end(const Verdict& one) {
    if (one.kind == VerdictKind::fails) {
        failing.set(running.text());
        verdict.set(one.text());
        note_failure();
        return;
    }
    if (failed) return;
    checks += one.counters.checks;
    if (one.counters.worst > worst) {
        worst = one.counters.worst;
        worst_place.set(one.counters.worst_place);
    }
    switch (one.kind) {
        case VerdictKind::holds:
            ++held;
            break;
        case VerdictKind::vacuous:
            ++vacuous;
            if (one.why.find(kUnable) != std::string::npos) ++unable;
            note(reasons, one.why);
            break;
        case VerdictKind::blind:
            ++blind;
            note(blindness, one.why);
            break;
        case VerdictKind::fails:
            break;
    }
}

void Record::note_failure() {
    if (!failed) {
        failed_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    failed = true;
}

SharedRecord::SharedRecord() {
    void* const memory =
        mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory for the running case");
    record_ = new (memory) Record;
}

SharedRecord::~SharedRecord() {
    record_->~Record();
    munmap(record_, sizeof(Record));
}

}  // namespace attest::properties
