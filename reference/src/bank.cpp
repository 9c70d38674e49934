#include <attest/reference/bank.hpp>

#include "bank/scene.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace attest::reference {
namespace {

// |a − b|, a hair below: the difference of two Exacts in long double.
double distance(const Exact& a, const Exact& b) {
    const auto wide = [](double x) { return static_cast<long double>(x); };
    const long double difference = (wide(a.head) - wide(b.head)) + (wide(a.tail) - wide(b.tail));
    return static_cast<double>(std::fabs(difference)) * (1 - 0x1p-40);
}

// The share of what is allowed by which the right kernel, run as the wrong ones are, may stray, and twice
// which a wrong one must go further to be refused.
constexpr double kShare = 0x1p-6;

std::optional<Part> part_of(const Judged& judged) {
    if (judged.name == "y") return Part::y;
    if (judged.name == "keys") return Part::keys;
    if (judged.name == "values") return Part::values;
    if (judged.name == "weights") return Part::weights;
    return std::nullopt;
}

// The kernels whose answer is the right one times a factor.
std::optional<double> factor_of(Wrong wrong) {
    if (wrong == Wrong::zeros) return 0.0;
    if (wrong == Wrong::negated) return -1.0;
    if (wrong == Wrong::doubled) return 2.0;
    if (wrong == Wrong::weights_sum_to_1_01) return 1.01;
    return std::nullopt;
}

Exact times(const Exact& exact, double factor) {
    const long double product = static_cast<long double>(factor) * static_cast<long double>(exact.head);
    const auto head = static_cast<double>(product);
    return {head, static_cast<double>(product - static_cast<long double>(head)) + factor * exact.tail};
}

// Keep takes a whole answer.
class Keep : public Sink {
  public:
    explicit Keep(std::vector<Exact>& answer) : answer_(answer) {}
    void see(std::size_t index, const Exact& value) override { answer_[index] = value; }

  private:
    std::vector<Exact>& answer_;
};

// Watch compares a wrong kernel's answer with the judged one until an element is refused. An element that the
// right kernel, run the same way, answers with the same bits is not wrong.
class Watch : public Sink {
  public:
    Watch(const Judged& judged, const std::vector<Exact>& right) : judged_(judged), right_(right) {}

    void see(std::size_t index, const Exact& value) override {
        if (value == right_[index]) return;
        applies_ = true;
        refused_ =
            refused_ || distance(value, judged_.exact[index]) > judged_.allowed[index] * (1 + 2 * kShare);
    }
    bool settled() const override { return refused_; }
    bool applies() const { return applies_; }

  private:
    const Judged& judged_;
    const std::vector<Exact>& right_;
    bool applies_ = false;
    bool refused_ = false;
};

}  // namespace

std::string_view name_of(Wrong wrong) noexcept {
    switch (wrong) {
        case Wrong::zeros:
            return "zeros";
        case Wrong::negated:
            return "negated";
        case Wrong::doubled:
            return "doubled";
        case Wrong::uniform_weights:
            return "uniform weights";
        case Wrong::unscaled_scores:
            return "unscaled scores";
        case Wrong::last_key_dropped:
            return "last key dropped";
        case Wrong::one_stale_key:
            return "one stale key";
        case Wrong::frontier_off_by_one:
            return "frontier off by one";
        case Wrong::wrong_head_group:
            return "wrong head group";
        case Wrong::position_off_by_one:
            return "position off by one";
        case Wrong::scale_of_width_less_one:
            return "scale 1/√(d−1)";
        case Wrong::last_value_stale:
            return "last value row stale";
        case Wrong::weights_sum_to_1_01:
            return "weights sum to 1.01";
        case Wrong::exponential_in_half:
            return "exponential in half";
        case Wrong::cache_in_half:
            return "cache in half";
        case Wrong::angle_in_float:
            return "angle in float";
    }
    return "unknown";
}

struct WrongKernels::Scenes {
    explicit Scenes(std::function<std::unique_ptr<Scene>(Digits)> maker, bool of_attention)
        : make(std::move(maker)), attention(of_attention), scene(make(Digits::long_double)) {}

    // right_of runs the right kernel once for each answer, in more digits where it strays.
    const std::vector<Exact>& right_of(const Judged& judged, Part part) {
        const auto found = right.find(judged.name);
        if (found != right.end()) return found->second;
        std::vector<Exact> answer = judged.exact;
        Keep keep(answer);
        if (!scene->play(std::nullopt, part, keep)) return right[judged.name] = std::move(answer);
        bool strays = false;
        for (std::size_t n = 0; n < answer.size(); ++n)
            strays = strays || distance(answer[n], judged.exact[n]) > judged.allowed[n] * kShare;
        if (strays && digits == Digits::long_double) {
            digits = Digits::fifty;
            scene = make(digits);
            right.clear();
            return right_of(judged, part);
        }
        return right[judged.name] = std::move(answer);
    }

    // play shows one wrong kernel's answer to the sink; false where it can't be formed.
    bool play(Wrong wrong, const Judged& judged, Part part, Sink& sink) const {
        if (const auto factor = factor_of(wrong)) {
            // Keys, values and rotations know nothing of weights.
            const bool weighs = attention && (part == Part::y || part == Part::weights);
            if (wrong == Wrong::weights_sum_to_1_01 && !weighs) return false;
            for (std::size_t n = judged.exact.size(); n-- > 0 && !sink.settled();)
                sink.see(n, times(judged.exact[n], *factor));
            return true;
        }
        return scene->play(wrong, part, sink);
    }

    // What a plain kernel is compared with is the exact answer itself.
    const std::vector<Exact>& beside(Wrong wrong, const Judged& judged, Part part) {
        return factor_of(wrong) ? judged.exact : right_of(judged, part);
    }

    std::function<std::unique_ptr<Scene>(Digits)> make;
    bool attention;
    Digits digits = Digits::long_double;
    std::unique_ptr<Scene> scene;
    std::map<std::string, std::vector<Exact>> right;
};

WrongKernels::WrongKernels(const Layer& layer, const LayerOptions& options)
    : scenes_(std::make_unique<Scenes>(
          [layer, options](Digits digits) { return scene_of(layer, options, digits); }, true)) {}
WrongKernels::WrongKernels(const Core& core, double bias_lowest, const CoreOptions& options)
    : scenes_(std::make_unique<Scenes>(
          [core, bias_lowest, options](Digits digits) {
              return scene_of(core, bias_lowest, options, digits);
          },
          true)) {}
WrongKernels::WrongKernels(const Rotary& rotary)
    : scenes_(std::make_unique<Scenes>([rotary](Digits) { return scene_of(rotary); }, false)) {}
WrongKernels::WrongKernels(WrongKernels&&) noexcept = default;
WrongKernels& WrongKernels::operator=(WrongKernels&&) noexcept = default;
WrongKernels::~WrongKernels() = default;

std::optional<std::vector<Exact>> WrongKernels::answer(Wrong wrong, const Judged& judged) const {
    const auto part = part_of(judged);
    if (!part) return std::nullopt;
    const std::vector<Exact>& right = scenes_->beside(wrong, judged, *part);
    std::vector<Exact> answer = judged.exact;
    Keep keep(answer);
    if (!scenes_->play(wrong, judged, *part, keep) || answer == right) return std::nullopt;
    return answer;
}

std::optional<bool> WrongKernels::refused(Wrong wrong, const Judged& judged) const {
    const auto part = part_of(judged);
    if (!part) return std::nullopt;
    Watch watch(judged, scenes_->beside(wrong, judged, *part));
    if (!scenes_->play(wrong, judged, *part, watch) || !watch.applies()) return std::nullopt;
    return watch.settled();
}

namespace {

void try_all(const WrongKernels& kernels, const Judged& judged, std::vector<Trial>& trials) {
    if (judged.exact.empty()) return;
    for (std::size_t n = 0; n < kWrongInVerdicts; ++n)
        if (const auto refused = kernels.refused(kWrong[n], judged)) trials.push_back({kWrong[n], *refused});
}

}  // namespace

Bank try_bank(const Layer& layer, const LayerJudgement& judgement, const LayerOptions& options) {
    const WrongKernels kernels(layer, options);
    Bank bank;
    try_all(kernels, judgement.y, bank.y);
    try_all(kernels, judgement.keys, bank.keys);
    try_all(kernels, judgement.values, bank.values);
    try_all(kernels, judgement.weights, bank.weights);
    return bank;
}

Bank try_bank(const Core& core, const CoreJudgement& judgement, const CoreOptions& options) {
    const WrongKernels kernels(core, judgement.bias_lowest, options);
    Bank bank;
    try_all(kernels, judgement.y, bank.y);
    try_all(kernels, judgement.weights, bank.weights);
    return bank;
}

}  // namespace attest::reference
