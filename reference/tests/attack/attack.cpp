#include "attack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace attest::reference::attack {

Trial compare_all(const std::vector<Judged>& judged, const Answers& got) {
    Trial trial;
    for (std::size_t tensor = 0; tensor < judged.size(); ++tensor) {
        const Judged& one = judged[tensor];
        const std::vector<double>& answer = got[tensor].second;
        for (std::size_t n = 0; n < answer.size(); ++n) {
            const double allowed = one.allowed[n];
            // A NaN or infinity where nothing was promised is no violation.
            if (!std::isfinite(allowed)) continue;
            trial.judged = true;
            const double error = std::isfinite(answer[n]) ? error_of(one.exact[n], answer[n])
                                                          : std::numeric_limits<double>::infinity();
            if (error == 0) continue;
            trial.ratio = std::max(trial.ratio, error / allowed);
            if (error <= allowed || trial.violated) continue;
            trial.violated = true;
            std::ostringstream out;
            out << one.name << " element " << n << " got " << answer[n] << " want "
                << static_cast<double>(one.exact[n]) << " error " << error << " allowed " << allowed;
            trial.violation = out.str();
        }
    }
    return trial;
}

Climb::Climb(Setup setup, Judge judge)
    : setup_(std::move(setup)), judge_(judge), judged_(judge(setup_)), answers_(answers_of(setup_)) {
    best_ = compare_all(judged_, answers_);
}

Trial Climb::step(Random& random) {
    Setup changed = setup_;
    const bool rejudged = mutate(changed, random) == Change::numbers;
    std::vector<Judged> judged;
    if (rejudged) {
        judged = judge_(changed);
        if (judged.empty()) return {};
    }
    Answers answers = answers_of(changed);
    const Trial trial = compare_all(rejudged ? judged : judged_, answers);
    if (trial.judged && trial.ratio >= best_.ratio) {
        setup_ = std::move(changed);
        if (rejudged) judged_ = std::move(judged);
        answers_ = std::move(answers);
        best_ = trial;
    }
    return trial;
}

Campaign attack_many(Target target, Number number, std::uint64_t first_seed, std::uint64_t count) {
    constexpr std::uint64_t kDraws = 32, kSteps = 32;
    Campaign campaign;
    const auto look = [&](const Trial& trial, const Setup& setup, std::uint64_t seed) {
        ++campaign.trials;
        if (trial.judged) ++campaign.judged;
        if (trial.violated && campaign.violations++ == 0)
            campaign.first_violation =
                "seed " + std::to_string(seed) + ": " + trial.violation + ": " + describe(setup);
        if (trial.judged && std::isfinite(trial.ratio) && trial.ratio > campaign.worst) {
            campaign.worst = trial.ratio;
            campaign.worst_seed = seed;
            campaign.worst_description = describe(setup);
        }
    };
    for (std::uint64_t seed = first_seed; campaign.trials < count; ++seed) {
        Random random(seed);
        Climb climb(draw(target, number, random));
        look(climb.best(), climb.setup(), seed);
        if ((seed - first_seed) % kDraws != kDraws - 1 || !climb.best().judged) continue;
        for (std::uint64_t step = 0; step < kSteps && campaign.trials < count; ++step)
            look(climb.step(random), climb.setup(), seed);
    }
    return campaign;
}

}  // namespace attest::reference::attack
