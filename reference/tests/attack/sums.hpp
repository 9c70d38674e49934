// Sums in every order an Arithmetic allows, on a Machine.
#pragma once

#include "kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace attest::reference::attack {

// One term of a sum: a·b, or a alone.
struct Term {
    double a = 0, b = 0;
    bool product = false;
};

class Summer {
  public:
    Summer(Machine& machine, Number type, Choices::Order order, std::uint64_t block, bool over_positions)
        : machine_(machine), type_(type), order_(order), block_(block), over_positions_(over_positions) {}

    double sum(const std::vector<Term>& terms) {
        const std::size_t count = terms.size();
        switch (order_) {
            case Choices::Order::forward:
                return in_order(terms, 0, count, 1);
            case Choices::Order::backward: {
                const std::vector<Term> reversed(terms.rbegin(), terms.rend());
                return in_order(reversed, 0, count, 1);
            }
            case Choices::Order::blocked: {
                double total = 0;
                for (std::size_t first = 0; first < count; first += block_)
                    total = machine_.add(type_, total,
                                         in_order(terms, first, std::min(count, first + block_), 1));
                return total;
            }
            case Choices::Order::pairwise:
                return halves(terms, 0, count, false);
            case Choices::Order::random_tree:
                return halves(terms, 0, count, true);
            case Choices::Order::lanes:
                return over_positions_ ? folded_blocks(terms) : folded_lanes(terms);
        }
        return 0;
    }

  private:
    double leaf(const Term& term) { return term.product ? machine_.multiply(type_, term.a, term.b) : term.a; }
    double in_order(const std::vector<Term>& terms, std::size_t first, std::size_t last, std::size_t step) {
        double total = 0;
        for (std::size_t n = first; n < last; n += step)
            total = terms[n].product ? machine_.multiply_add(type_, terms[n].a, terms[n].b, total)
                                     : machine_.add(type_, total, terms[n].a);
        return total;
    }
    double halves(const std::vector<Term>& terms, std::size_t first, std::size_t last, bool anywhere) {
        if (first == last) return 0;
        if (last - first == 1) return leaf(terms[first]);
        // The lower half holds the larger power of two, so that the tree is ⌈log2 n⌉ high.
        std::size_t half = 1;
        while (half * 2 < last - first)
            half *= 2;
        const std::size_t middle = first + (anywhere ? 1 + machine_.random().below(last - first - 1) : half);
        const double lower = halves(terms, first, middle, anywhere);
        const double upper = halves(terms, middle, last, anywhere);
        return machine_.add(type_, lower, upper);
    }
    // The library's order: DESIGN contract 4's proposal.
    double folded_lanes(const std::vector<Term>& terms) {
        const std::size_t lanes = type_ == Number::f64 ? 8 : 16;
        std::vector<double> sums;
        for (std::size_t lane = 0; lane < lanes; ++lane)
            sums.push_back(in_order(terms, lane, terms.size(), lanes));
        for (std::size_t half = lanes / 2; half != 0; half /= 2)
            for (std::size_t lane = 0; lane < half; ++lane)
                sums[lane] = machine_.add(type_, sums[lane], sums[lane + half]);
        return sums[0];
    }
    double folded_blocks(const std::vector<Term>& terms) {
        std::vector<double> sums;
        for (std::size_t first = 0; first < terms.size(); first += 64)
            sums.push_back(in_order(terms, first, std::min(terms.size(), first + 64), 1));
        while (sums.size() > 1) {
            std::vector<double> next;
            for (std::size_t n = 0; n < sums.size(); n += 2)
                next.push_back(n + 1 < sums.size() ? machine_.add(type_, sums[n], sums[n + 1]) : sums[n]);
            sums = next;
        }
        return sums.empty() ? 0 : sums[0];
    }

    Machine& machine_;
    Number type_;
    Choices::Order order_;
    std::uint64_t block_;
    bool over_positions_;
};

}  // namespace attest::reference::attack
