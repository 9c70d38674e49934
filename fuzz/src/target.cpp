#include "target.hpp"

#include "attest/case/parse.hpp"
#include "attest/properties/laws.hpp"
#include "attest/properties/subject.hpp"

#include "bytes.hpp"
#include "mutate.hpp"
#include "mutate_bytes.hpp"
#include "oracle_input.hpp"

#include <cstring>
#include <utility>

namespace attest::fuzzing {
namespace {

using properties::Verdict;

std::string_view text_of(std::span<const std::uint8_t> input) {
    return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// Inputs are texts of cases: one law's, or a session's under one of several laws.
class CaseTarget final : public Target {
  public:
    CaseTarget(Mutator mutator, MakeSubject make_subject)
        : mutator_(std::move(mutator)), make_subject_(std::move(make_subject)) {}

    std::optional<cases::Case> decode(std::span<const std::uint8_t> input) const override {
        const Read one = read(text_of(input));
        return runnable(one.get()) ? std::optional(*one.get()) : std::nullopt;
    }

    std::optional<Verdict> judge(std::span<const std::uint8_t> input) const override {
        const Read one = read(text_of(input));
        const properties::Law* const law =
            runnable(one.get()) ? properties::find_law(one.get()->law) : nullptr;
        if (law == nullptr) {
            return std::nullopt;
        }
        const auto subject = make_subject_();
        return law->function(*one.get(), *subject);
    }

    std::size_t mutate(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                       MutateBytes) const override {
        return hand_over(mutator_.mutate(read(text_of({data, bytes})).get(), bytes_max, seed), data);
    }

    std::size_t cross(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right,
                      std::uint8_t* out, std::size_t bytes_max, std::uint64_t seed) const override {
        const Read one = read(text_of(left));
        const Read other = read(text_of(right));
        return hand_over(mutator_.cross(one.get(), other.get(), bytes_max, seed), out);
    }

  private:
    // The case of a text: the last mutant, or parsed. An engine runs what it has just mutated, and mutates
    // what it has just run.
    struct Read {
        const cases::Case* last = nullptr;
        std::optional<cases::Case> parsed = {};
        // Null where the text is no case.
        const cases::Case* get() const { return last != nullptr ? last : parsed ? &*parsed : nullptr; }
    };
    Read read(std::string_view text) const {
        if (last_ && last_->text == text) {
            return {.last = &last_->one};
        }
        auto parsed = cases::parse(text);
        return parsed ? Read{.parsed = std::move(*parsed)} : Read{};
    }

    // A foreign law's case would leave a finding that replay runs through that law, so it is not run.
    bool runnable(const cases::Case* one) const {
        return one != nullptr && mutator_.knows(one->law) && affordable(*one, mutator_.budget());
    }

    std::size_t hand_over(std::optional<Mutant> mutant, std::uint8_t* out) const {
        if (!mutant) {
            return 0;
        }
        std::memcpy(out, mutant->text.data(), mutant->text.size());
        last_ = std::move(mutant);
        return last_->text.size();
    }

    Mutator mutator_;
    MakeSubject make_subject_;
    mutable std::optional<Mutant> last_;
};

// Inputs are the numbers themselves; the law is inside_the_bound.
class OracleTarget final : public Target {
  public:
    explicit OracleTarget(MakeSubject make_subject) : make_subject_(std::move(make_subject)) {}

    std::optional<cases::Case> decode(std::span<const std::uint8_t> input) const override {
        return oracle_case(input);
    }

    std::optional<Verdict> judge(std::span<const std::uint8_t> input) const override {
        const auto one = decode(input);
        if (!one) {
            return std::nullopt;
        }
        const auto subject = make_subject_();
        return properties::law::inside_the_bound(*one, *subject);
    }

    std::size_t mutate(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                       MutateBytes engine) const override {
        Random random(seed);
        if (bytes >= kOracleHeaderBytes && engine != nullptr && !random.chance(1, 64)) {
            return engine(data, bytes, bytes_max);
        }
        const auto drawn = draw_oracle_input(random, bytes_max);
        std::memcpy(data, drawn.data(), drawn.size());
        return drawn.size();
    }

  private:
    MakeSubject make_subject_;
};

class ReaderTarget final : public Target {
  public:
    ReaderTarget(BytesProperty property, EditBytes edit) : property_(property), edit_(edit) {}

    std::optional<cases::Case> decode(std::span<const std::uint8_t>) const override { return std::nullopt; }

    std::optional<Verdict> judge(std::span<const std::uint8_t> input) const override {
        return property_(std::as_bytes(input));
    }

    bool keeps_vacuous() const override { return true; }

    std::size_t mutate(std::uint8_t* data, std::size_t bytes, std::size_t bytes_max, std::uint64_t seed,
                       MutateBytes engine) const override {
        if (engine == nullptr) {
            return bytes;
        }
        return edit_ == nullptr ? engine(data, bytes, bytes_max)
                                : edit_(data, bytes, bytes_max, seed, engine);
    }

  private:
    BytesProperty property_;
    EditBytes edit_;
};

}  // namespace

std::unique_ptr<Target> make_reader_target(BytesProperty property) {
    return std::make_unique<ReaderTarget>(property, nullptr);
}

std::unique_ptr<Target> make_target(std::string_view name, MakeSubject make_subject) {
    if (properties::find_law(name) != nullptr) {
        return std::make_unique<CaseTarget>(mutator_of(name), std::move(make_subject));
    }
    if (name == "any_session") {
        return std::make_unique<CaseTarget>(session_mutator(), std::move(make_subject));
    }
    if (name == "against_the_oracle") {
        return std::make_unique<OracleTarget>(std::move(make_subject));
    }
    if (const BytesProperty property = find_bytes_property(name)) {
        return std::make_unique<ReaderTarget>(property, find_edit_of_bytes(name));
    }
    return nullptr;
}

}  // namespace attest::fuzzing
