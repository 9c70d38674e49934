// One row of an attention after another: its answer with its bound, and the same answer a second way.
#pragma once

#include "bound/model.hpp"
#include "bound/row.hpp"
#include "bound/stages.hpp"
#include "judge/attention.hpp"
#include "oracle/oracle.hpp"

#include <cstddef>
#include <vector>

namespace attest::reference {

// RowJudge is one thread's: what a row needs is kept between rows. It borrows what it is made from.
template <class N>
class RowJudge {
  public:
    RowJudge(const Model& model, const Attention<N>& attention, const Operands& operands, bool with_weights);

    // judge puts row `index`, of [batch, heads, rows] in C order, at place `slot` of the result.
    void judge(std::size_t index, std::size_t slot, BoundedAttention<N>& result);

  private:
    // Magnitudes of one vector of an operand, from `first` on.
    struct Reading {
        const Magnitudes* magnitudes;
        std::size_t first;
    };
    Reading read(const Operand& operand, const Vectors<N>& vectors, std::size_t index,
                 Magnitudes& room) const;
    NoBound collect_facts(std::size_t q_index, std::size_t first_key);
    void find_values(std::size_t first_key);
    void collect_values(std::size_t feature);

    const Model& model_;
    const Attention<N>& attention_;
    Operands operands_;
    bool with_weights_;
    Scoring scoring_;
    Windows<N> windows_;
    Attended<N> row_;
    RowFacts facts_;
    Values values_;
    Magnitudes q_, k_;                  // of vectors that are lent
    std::vector<const double*> lent_;   // the values seen, where they are lent …
    std::vector<std::size_t> indices_;  // … and their indices
};

// RowAgain evaluates the second formulation.
template <class N>
class RowAgain {
  public:
    RowAgain(const Attention<N>& attention, bool with_weights);
    void attend(std::size_t index, std::size_t slot, BoundedAttention<N>& result);

  private:
    const Attention<N>& attention_;
    bool with_weights_;
    Windows<N> windows_;
    Attended<N> row_;
};

}  // namespace attest::reference
