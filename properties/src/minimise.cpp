#include "attest/properties/minimise.hpp"

#include "attest/case/parse.hpp"
#include "attest/properties/draw.hpp"
#include "attest/properties/laws.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstring>
#include <string_view>

namespace attest::properties {
namespace {

constexpr int kHolds = 0;
constexpr int kFails = 1;

void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string read_all(int descriptor) {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(descriptor, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
}

[[noreturn]] void run_child(const cases::Case& one, const Law& law, const MakeSubject& make_subject,
                            unsigned seconds, int descriptor) {
    // The default action of SIGALRM ends the process, and the parent sees by which signal it died.
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds);
    const auto subject = make_subject();
    const Verdict verdict = verdict_of(law, one, *subject);
    const bool failed = verdict.kind == VerdictKind::fails;
    write_all(descriptor, verdict.place + '\n' + verdict.text());
    ::_exit(failed ? kFails : kHolds);
}

// A place without its numbers: they are those of one case.
std::string words_of(std::string_view place) {
    std::string words;
    for (const char c : place) {
        if (c < '0' || c > '9') {
            words += c;
        }
    }
    return words;
}

std::string first_comment(const std::string& text) {
    std::string line = text.substr(0, text.find('\n'));
    for (char& c : line) {
        c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    while (line.ends_with(' ')) {
        line.pop_back();
    }
    return line;
}

}  // namespace

bool Ending::alike(const Ending& other) const {
    return failed == other.failed && words_of(place) == words_of(other.place);
}

std::optional<Ending> judge_apart(const cases::Case& one, const MakeSubject& make_subject, unsigned seconds) {
    const Law* law = find_law(one.law);
    int ends[2];
    if (law == nullptr || ::pipe(ends) != 0) {
        return std::nullopt;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        run_child(one, *law, make_subject, seconds, ends[1]);
    }
    ::close(ends[1]);
    Ending ending;
    const std::string told = read_all(ends[0]);
    const std::size_t end_of_place = told.find('\n');
    if (end_of_place != std::string::npos) {
        ending.place = told.substr(0, end_of_place);
        ending.text = told.substr(end_of_place + 1);
    }
    ::close(ends[0]);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) {
        return std::nullopt;
    }
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        ending.text = signal == SIGALRM ? "hangs: more than " + std::to_string(seconds) + " s"
                                        : std::string("dies of ") + ::strsignal(signal);
    } else if (end_of_place == std::string::npos) {
        // A sanitizer ends the process with a code of its own, before the law could say anything.
        ending.text = "dies with exit " + std::to_string(WEXITSTATUS(status));
    }
    ending.failed = status != 0;
    return ending;
}

std::optional<Minimised> minimise(const cases::Case& one, const MakeSubject& make_subject,
                                  const ShrinkLimits& limits) {
    const auto end = std::chrono::steady_clock::now() + limits.all;
    const auto seconds = static_cast<unsigned>(limits.one.count());
    const auto before = judge_apart(one, make_subject, seconds);
    if (!before || !before->failed) {
        return std::nullopt;
    }
    Minimised best{one, before->text, 1};
    best.one.comments.clear();
    for (bool simpler = true; simpler;) {
        simpler = false;
        for (const cases::Case& candidate : shrink(best.one)) {
            if (std::chrono::steady_clock::now() >= end) {
                break;
            }
            ++best.tried;
            const auto ending = judge_apart(candidate, make_subject, seconds);
            if (ending && ending->alike(*before)) {
                best.one = candidate;
                best.text = ending->text;
                simpler = true;
                break;
            }
        }
    }
    best.one.comments = {first_comment(best.text)};
    cases::normalise(best.one);
    return best;
}

}  // namespace attest::properties
