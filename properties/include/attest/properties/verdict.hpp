// What a law says about one case, and the comparators that laws share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace attest::properties {

enum class VerdictKind : std::uint8_t {
    holds,    // checked and right
    fails,    // checked and wrong: place, got, want, allowed
    vacuous,  // nothing was checked, and why
    blind,    // right, but the tolerance would have let a known-wrong answer pass
};

std::string_view to_text(VerdictKind kind);

// States that a case went through, each a bit that its digest chooses. For engines that look for new ones.
struct States {
    static constexpr std::size_t kCount = 2048;
    std::array<std::uint64_t, kCount / 64> bits = {};

    void visit(std::uint64_t digest) { bits[digest / 64 % bits.size()] |= std::uint64_t{1} << (digest % 64); }
    friend bool operator==(const States&, const States&) = default;
};

// Counters go up with every check, whatever the verdict.
struct Counters {
    std::uint64_t checks = 0;  // comparisons made
    double worst = 0;          // largest error / allowed met so far; laws over bits leave it 0
    std::string worst_place;
    States states;
    friend bool operator==(const Counters&, const Counters&) = default;
};

struct Verdict {
    VerdictKind kind = VerdictKind::vacuous;
    std::string place;    // fails: which element of what
    std::string got;      // fails
    std::string want;     // fails
    std::string allowed;  // fails: how far apart they may be; "the same bits" for laws over bits
    std::string why;      // vacuous: why nothing was tested; blind: what would have passed
    Counters counters;

    bool operator==(const Verdict&) const = default;
    // One line for people.
    std::string text() const;
};

// A verdict of holds that made no check is turned into vacuous: a law can't hold by checking nothing.
Verdict holds(Counters counters);
Verdict fails(std::string place, std::string got, std::string want, std::string allowed,
              Counters counters = {});
Verdict vacuous(std::string why, Counters counters = {});
Verdict blind(std::string would_have_passed, Counters counters);

// same_bits compares patterns: +0 and −0 differ, a NaN equals itself if its payload does.
bool same_bits(double left, double right);
bool same_bits(std::span<const double> left, std::span<const double> right);

// within decides whether `got` may stand for `want`:
//   a NaN or an infinity in got or want is wrong, whatever is allowed;
//   an allowance that is NaN, infinite or below zero allows nothing;
//   +0 and −0 are equal here (their error is 0);
//   otherwise !(error <= allowed) is wrong, so that a NaN error could not pass either.
bool within(double got, double want, double allowed);

// A number as a case file writes it: hex float, "nan:0x…", "inf".
std::string number_text(double value);

template <class Source>
concept Words = std::is_convertible_v<const Source&, std::string_view>;
template <class Make>
concept MakesWords = std::is_invocable_r_v<std::string, const Make&>;

// Text is put together only where somebody asks for it: of the millions of checks of a campaign hardly one
// fails. It refers to what it was made from, a string or something that gives one, and lives no longer than
// the call that it is an argument of.
class Text {
  public:
    template <Words Source>
    Text(const Source& source) : view_(source) {}
    template <MakesWords Make>
    Text(const Make& make)
        : made_from_(&make),
          make_([](const void* from) -> std::string { return (*static_cast<const Make*>(from))(); }) {}

    std::string operator()() const { return make_ == nullptr ? std::string(view_) : make_(made_from_); }

  private:
    std::string_view view_;
    const void* made_from_ = nullptr;
    std::string (*make_)(const void*) = nullptr;
};

// Checks collects comparisons until the first that fails; later ones are still counted, but the first stays.
class Checks {
  public:
    // Each returns whether the comparison was right.
    bool bits(Text place, double got, double want);
    bool bits(Text place, std::span<const double> got, std::span<const double> want);
    bool equal(Text place, std::uint64_t got, std::uint64_t want);
    bool equal(Text place, std::string_view got, std::string_view want);
    bool that(Text place, bool condition, Text got, Text want);
    // error and allowed as the oracle gives them; the ratio goes into the gauge.
    bool inside(Text place, double got, double want, double error, double allowed);

    // Comparisons made elsewhere, and a failure found there.
    void count(std::uint64_t comparisons);
    void fail(std::string place, std::string got, std::string want, std::string allowed);
    void note_blind(std::string_view would_have_passed);

    // visit notes a state that the subject was seen in.
    void visit(std::uint64_t digest) { counters_.states.visit(digest); }

    // tested notes that the law's own claim was put to the test, not only what leads up to it.
    void tested() { ++tests_; }

    bool failed() const { return failed_; }
    const Counters& counters() const { return counters_; }

    // The verdict so far: fails; else vacuous(`if_none`) when the claim was never put to the test; else blind
    // if something was noted; else holds.
    Verdict verdict(std::string_view if_none = "the case asks for nothing that this law tests") const;

  private:
    bool failed_ = false;
    Verdict failure_;
    std::string blind_;
    std::uint64_t tests_ = 0;
    Counters counters_;
};

}  // namespace attest::properties
