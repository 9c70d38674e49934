#include "engine.hpp"

#include "distribution.hpp"

#include "attest/case/print.hpp"
#include "attest/properties/draw.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <string_view>
#include <utility>

namespace attest::properties {

namespace {

using Clock = std::chrono::steady_clock;

// A case, as RapidCheck shows and shrinks it.
struct Drawn {
    cases::Case one;
};

void showValue(const Drawn& drawn, std::ostream& stream) {
    stream << cases::print(drawn.one);
}

// RapidCheck hands a generator one random number and a size; the case is drawn from that number as a seed, so
// that arrays never pass through RapidCheck, and shrunk as a case.
rc::Gen<Drawn> drawing(std::string_view law, const Record& record, double seconds) {
    auto deadline = std::make_shared<Clock::time_point>(Clock::time_point::max());
    return [=, &record](const rc::Random& random, int size) {
        rc::Random source = random;
        SeededChoices choices(source.next());
        cases::Case one = draw(choices, law, static_cast<unsigned>(std::clamp(size, 0, 100)));
        const auto simpler = [=, &record](const Drawn& drawn) {
            if (record.failed && *deadline == Clock::time_point::max()) {
                *deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(seconds));
            }
            std::vector<Drawn> all;
            for (cases::Case& candidate : shrink(drawn.one)) {
                all.push_back({std::move(candidate)});
            }
            // Out of time, no candidate is left.
            return rc::seq::takeWhile(rc::seq::fromContainer(std::move(all)),
                                      [=](const Drawn&) { return Clock::now() < *deadline; });
        };
        return rc::shrinkable::shrinkRecur(Drawn{std::move(one)}, simpler);
    };
}

class Quiet final : public rc::detail::TestListener {
  public:
    void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
    void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
    void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

const char* environment_params() {
    const char* const params = std::getenv("RC_PARAMS");
    return params == nullptr ? "" : params;
}

// The keys of "key=value key='a value'".
std::vector<std::string> keys_of(std::string_view params) {
    std::vector<std::string> keys;
    std::string key;
    char quote = 0;
    bool in_key = true;
    for (const char c : params) {
        if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            if (in_key && !key.empty()) keys.push_back(std::exchange(key, ""));
            in_key = true;
        } else if (c == '=' && in_key) {
            keys.push_back(std::exchange(key, ""));
            in_key = false;
        } else if (in_key) {
            key += c;
        }
    }
    if (in_key && !key.empty()) keys.push_back(key);
    return keys;
}

rc::detail::TestParams params_of(const EngineOptions& options, std::uint64_t default_cases) {
    rc::detail::Configuration defaults;
    defaults.testParams.seed = options.seed;
    defaults.testParams.maxSuccess = static_cast<int>(default_cases);
    rc::detail::TestParams params = rc::detail::configFromString(environment_params(), defaults).testParams;
    if (options.seed_given) params.seed = options.seed;
    if (options.cases_given) params.maxSuccess = static_cast<int>(options.cases);
    return params;
}

}  // namespace

std::optional<std::string> wrong_rc_params() {
    constexpr std::array<std::string_view, 8> known = {
        "seed",     "max_success",       "max_size",  "max_discard_ratio", "verbose_progress",
        "noshrink", "verbose_shrinking", "reproduce",
    };
    for (const std::string& key : keys_of(environment_params())) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            return "unknown key in RC_PARAMS: " + key;
        }
    }
    try {
        rc::detail::configFromString(environment_params());
    } catch (const rc::detail::ConfigurationException& error) {
        return std::string("RC_PARAMS: ") + error.what();
    }
    return std::nullopt;
}

std::uint64_t seed_in_use(const EngineOptions& options) {
    return params_of(options, 1).seed;
}

namespace {

void run_round(const Law& law, Subject& subject, const rc::detail::TestParams& params,
               const EngineOptions& options, Clock::time_point deadline, Record& record) {
    const rc::Gen<Drawn> generator = drawing(law.name, record, options.shrink_seconds);
    Distribution drawn_so_far;
    bool over = false;
    const auto property = [&] {
        // To end a round in its middle is to let it fail, of which the record hears nothing. Shrinking has a
        // time of its own.
        over = !record.failed && Clock::now() > deadline;
        if (over) RC_FAIL("time is over");
        const Drawn drawn = *generator;
        if (options.distribution && !record.failed) drawn_so_far.add(drawn.one);
        record.begin(drawn.one);
        const Verdict verdict = verdict_of(law, drawn.one, subject);
        record.end(verdict);
        if (verdict.kind == VerdictKind::fails) RC_FAIL(verdict.text());
    };
    rc::detail::TestMetadata metadata;
    metadata.id = law.name;
    Quiet listener;
    const rc::detail::TestResult result = rc::detail::checkTestable(
        property, metadata, params, listener, rc::detail::configFromString(environment_params()).reproduce);
    rc::detail::Error error;
    if (result.match(error)) record.trouble.set("RapidCheck: " + error.description);
    rc::detail::GaveUpResult gave_up;
    if (result.match(gave_up)) record.trouble.set("RapidCheck gave up: " + gave_up.description);
    rc::detail::FailureResult failure;
    if (result.match(failure) && !record.failed && !over) {
        record.trouble.set("RapidCheck: " + failure.description);
    }
    if (options.distribution) record.distribution.set(drawn_so_far.text());
}

}  // namespace

void run_rapidcheck(const Law& law, Subject& subject, const EngineOptions& options, Record& record) {
    rc::detail::TestParams params =
        params_of(options, options.cases != 0 ? options.cases : law.default_cases);
    if (!(options.seconds > 0)) {
        return run_round(law, subject, params, options, Clock::time_point::max(), record);
    }
    // RapidCheck keeps something of each case of a round, so a round has an end of its own.
    params.maxSuccess = std::min(params.maxSuccess, 10000);
    const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                          std::chrono::duration<double>(options.seconds));
    for (; !record.failed && record.trouble.empty() && Clock::now() < deadline; ++params.seed) {
        run_round(law, subject, params, options, deadline, record);
    }
}

}  // namespace attest::properties
