#include "inspect.hpp"

#include "attest/case/print.hpp"

#include "attest/properties/minimise.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

namespace attest::fuzzing {
namespace {

using properties::ShrinkLimits;

constexpr int kDone = 0;
constexpr int kDoesNotFail = 1;
constexpr int kUnusable = 2;

std::optional<std::vector<std::uint8_t>> read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        return std::nullopt;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

// One field of a line: what would end the field or the line is a blank.
std::string field(std::string text) {
    for (char& c : text) {
        c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    return text;
}

int judge(const Target& target, std::span<const std::string> paths) {
    int result = paths.empty() ? kUnusable : kDone;
    for (const std::string& path : paths) {
        // The name stands there before the law runs, so that a crash has one.
        std::printf("%s", field(path).c_str());
        std::fflush(stdout);
        const auto bytes = read(path);
        if (!bytes) {
            std::printf("\tunreadable\t\t0\t\t\n");
            result = kUnusable;
            continue;
        }
        const auto one = target.decode(*bytes);
        const auto verdict = target.judge(*bytes);
        if (!verdict) {
            std::printf("\tturned_away\t\t0\t\t\n");
            continue;
        }
        std::printf("\t%s\t%s\t%.17g\t%s\t%s\n", std::string(properties::to_text(verdict->kind)).c_str(),
                    one ? one->law.c_str() : "", verdict->counters.worst, field(verdict->place).c_str(),
                    field(verdict->text()).c_str());
    }
    return result;
}

int print_case(const Target& target, const std::string& path) {
    const auto bytes = read(path);
    const auto one = bytes ? target.decode(*bytes) : std::nullopt;
    if (!one) {
        std::fprintf(stderr, "%s stands for no case\n", path.c_str());
        return kUnusable;
    }
    std::fputs(cases::print(*one).c_str(), stdout);
    return kDone;
}

int shrink(const Target& target, const MakeSubject& make_subject, const std::string& path,
           const ShrinkLimits& limits) {
    const auto bytes = read(path);
    const auto one = bytes ? target.decode(*bytes) : std::nullopt;
    if (!one) {
        std::fprintf(stderr, "%s stands for no case\n", path.c_str());
        return kUnusable;
    }
    const auto smallest = minimise(*one, make_subject, limits);
    if (!smallest) {
        std::fprintf(stderr, "%s does not fail\n", path.c_str());
        return kDoesNotFail;
    }
    std::fputs(cases::print(smallest->one).c_str(), stdout);
    return kDone;
}

}  // namespace

std::optional<int> inspect(const Target& target, const MakeSubject& make_subject,
                           std::span<const std::string> arguments) {
    if (arguments.empty()) {
        return std::nullopt;
    }
    const std::string& command = arguments.front();
    if (command == "--judge") {
        return judge(target, arguments.subspan(1));
    }
    if (command == "--case") {
        return arguments.size() == 2 ? print_case(target, arguments[1]) : kUnusable;
    }
    if (command == "--shrink") {
        if (arguments.size() < 2 || arguments.size() > 4) {
            return kUnusable;
        }
        ShrinkLimits limits;
        if (arguments.size() > 2) {
            limits.all = std::chrono::seconds(std::atoi(arguments[2].c_str()));
        }
        if (arguments.size() > 3) {
            limits.one = std::chrono::seconds(std::atoi(arguments[3].c_str()));
        }
        const bool usable = limits.all.count() > 0 && limits.one.count() > 0;
        return usable ? shrink(target, make_subject, arguments[1], limits) : kUnusable;
    }
    return std::nullopt;
}

}  // namespace attest::fuzzing
