#include "row.hpp"

#include "sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference::attack {

void Row::run(std::vector<double> scores, const std::vector<const double*>& values, std::size_t width) {
    scores_ = std::move(scores);
    values_ = values;
    width_ = width;
    mixed.assign(width, 0);
    weights.assign(scores_.size(), 0);
    if (scores_.empty()) return;
    switch (choices_.passes) {
        case Passes::Kind::online:
            online();
            break;
        case Passes::Kind::split:
            split();
            break;
        default:
            mixed = two_pass(0, scores_.size(), true).mixed;
            break;
    }
    for (std::size_t f = 0; f < width; ++f) {
        machine_.at(Stage::divide, f);
        mixed[f] = machine_.stored(mixed[f]);
    }
    for (std::size_t n = 0; n < weights.size(); ++n) {
        machine_.at(Stage::answer, n);
        weights[n] = machine_.stored(weights[n]);
    }
}

// exp's argument. A rescaling's is always a difference of two numbers formed alike, exactly 0 when the
// maximum stays: fused with one of its products it would be no 0 (PROOF §1.3).
double Row::argument(double score, double maximum, bool shrinks) {
    const Number type = softmax();
    if (!choices_.base_two) return machine_.add(type, score, -maximum);
    const double log2_e = machine_.constant(type, 1.4426950408889634);
    if (choices_.argument == 0) return machine_.multiply(type, machine_.add(type, score, -maximum), log2_e);
    const double of_maximum = machine_.multiply(type, maximum, log2_e);
    if (choices_.argument == 2 && !shrinks) return machine_.multiply_add(type, score, log2_e, -of_maximum);
    return machine_.add(type, machine_.multiply(type, score, log2_e), -of_maximum);
}

double Row::weight(std::size_t key, double score, double maximum) {
    machine_.at(Stage::argument, key);
    const double formed = argument(score, maximum, false);
    machine_.at(Stage::exponential, key);
    return machine_.exponential(formed, choices_.base_two);
}

// What a maximum's rise from `from` to `to` shrinks by.
double Row::shrink(double from, double to) {
    if (from == to) return 1;
    machine_.at(Stage::rescale);
    return machine_.exponential(argument(from, to, true), choices_.base_two);
}

// A weight in the type it is stored in.
double Row::narrowed(std::size_t key, double weight) {
    machine_.at(Stage::weight, key);
    return machine_.stored(softmax(), weights_type(), weight);
}

double Row::divided(double value, double denominator) {
    if (!choices_.reciprocal) return machine_.divide(softmax(), value, denominator);
    return machine_.multiply(softmax(), value, machine_.divide(softmax(), 1, denominator));
}

Row::Part Row::two_pass(std::size_t first, std::size_t last, bool answer_weights) {
    Part part;
    part.maximum = *std::max_element(scores_.begin() + static_cast<std::ptrdiff_t>(first),
                                     scores_.begin() + static_cast<std::ptrdiff_t>(last));
    std::vector<double> w;
    std::vector<Term> ones;
    for (std::size_t n = first; n < last; ++n) {
        double one = weight(n, scores_[n], part.maximum);
        if (choices_.weights_before) one = narrowed(n, one);
        ones.push_back({one, 1, false});
        w.push_back(one);
    }
    Summer summer(machine_, accumulate(), choices_.positions, choices_.block, true);
    machine_.at(Stage::denominator);
    part.denominator = summer.sum(ones);
    for (std::size_t n = first; n < last; ++n) {
        machine_.at(Stage::answer, n);
        if (answer_weights) weights[n] = divided(w[n - first], part.denominator);
    }
    for (std::size_t n = first; n < last; ++n) {
        double& one = w[n - first];
        machine_.at(Stage::weight, n);
        if (choices_.divided_before) one = divided(one, part.denominator);
        if (!choices_.weights_before) one = narrowed(n, one);
    }
    for (std::size_t f = 0; f < width_; ++f) {
        std::vector<Term> terms;
        for (std::size_t n = first; n < last; ++n)
            terms.push_back({w[n - first], values_[n][f], true});
        machine_.at(Stage::mix, f);
        const double sum = summer.sum(terms);
        machine_.at(Stage::divide, f);
        part.mixed.push_back(choices_.divided_before ? sum : divided(sum, part.denominator));
    }
    return part;
}

// A running maximum, a block of keys at a time, blocks up or down.
void Row::online() {
    const std::size_t count = scores_.size();
    const std::size_t block = std::max<std::size_t>(1, choices_.pass_size);
    const Number type = accumulate();
    double maximum = -std::numeric_limits<double>::infinity(), denominator = 0;
    const std::size_t blocks = (count + block - 1) / block;
    for (std::size_t step = 0; step < blocks; ++step) {
        const std::size_t at = choices_.backwards ? blocks - 1 - step : step;
        const std::size_t first = at * block, last = std::min(count, first + block);
        double top = maximum;
        for (std::size_t n = first; n < last; ++n)
            top = std::max(top, scores_[n]);
        if (step != 0) {
            const double factor = shrink(maximum, top);
            machine_.at(Stage::denominator, step);
            if (factor != 1) denominator = machine_.multiply(type, denominator, factor);
            for (std::size_t f = 0; f < width_; ++f) {
                machine_.at(Stage::mix, f);
                if (factor != 1) mixed[f] = machine_.multiply(type, mixed[f], factor);
            }
        }
        maximum = top;
        std::vector<Term> ones;
        std::vector<double> w;
        for (std::size_t n = first; n < last; ++n) {
            double one = weight(n, scores_[n], maximum);
            if (choices_.weights_before) one = narrowed(n, one);
            ones.push_back({one, 1, false});
            w.push_back(choices_.weights_before ? one : narrowed(n, one));
        }
        Summer summer(machine_, type, choices_.positions, choices_.block, true);
        machine_.at(Stage::denominator, step);
        denominator = machine_.add(type, denominator, summer.sum(ones));
        for (std::size_t f = 0; f < width_; ++f) {
            std::vector<Term> terms;
            for (std::size_t n = first; n < last; ++n)
                terms.push_back({w[n - first], values_[n][f], true});
            machine_.at(Stage::mix, f);
            mixed[f] = machine_.add(type, mixed[f], summer.sum(terms));
        }
    }
    for (std::size_t f = 0; f < width_; ++f) {
        machine_.at(Stage::divide, f);
        mixed[f] = divided(mixed[f], denominator);
    }
    for (std::size_t n = 0; n < count; ++n) {
        const double one = weight(n, scores_[n], maximum);
        machine_.at(Stage::answer, n);
        weights[n] = divided(one, denominator);
    }
}

// Partials with their own maximum, merged by their log-sum-exp.
void Row::split() {
    const std::size_t count = scores_.size();
    const std::size_t wanted = std::max<std::uint64_t>(1, choices_.pass_size);
    const std::size_t each = (count + wanted - 1) / wanted;
    const Number type = softmax();
    std::vector<Part> parts;
    std::vector<double> sums;
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t first = 0; first < count; first += each) {
        parts.push_back(two_pass(first, std::min(count, first + each), false));
        machine_.at(Stage::merge, parts.size());
        sums.push_back(
            machine_.add(type, parts.back().maximum, machine_.logarithm(parts.back().denominator)));
        top = std::max(top, sums.back());
    }
    double total = 0;
    std::vector<double> shares;
    for (std::size_t p = 0; p < sums.size(); ++p) {
        machine_.at(Stage::rescale, p);
        shares.push_back(machine_.exponential(machine_.add(type, sums[p], -top), false));
        machine_.at(Stage::denominator, p);
        total = machine_.add(accumulate(), total, shares.back());
    }
    for (std::size_t p = 0; p < shares.size(); ++p) {
        machine_.at(Stage::merge, p);
        shares[p] = divided(shares[p], total);
    }
    for (std::size_t f = 0; f < width_; ++f) {
        machine_.at(Stage::mix, f);
        double sum = 0;
        for (std::size_t p = 0; p < parts.size(); ++p)
            sum = machine_.multiply_add(accumulate(), shares[p], parts[p].mixed[f], sum);
        mixed[f] = sum;
    }
    machine_.at(Stage::merge);
    const double log_sum = machine_.add(type, top, machine_.logarithm(total));
    for (std::size_t n = 0; n < count; ++n) {
        machine_.at(Stage::argument, n);
        const double formed = machine_.add(type, scores_[n], -log_sum);
        machine_.at(Stage::exponential, n);
        weights[n] = machine_.exponential(formed, false);
    }
}

}  // namespace attest::reference::attack
