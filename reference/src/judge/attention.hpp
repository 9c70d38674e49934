// Attention with its bound, shared by the judges of a layer and of attention alone.
#pragma once

#include "bound/model.hpp"
#include "bound/stages.hpp"
#include "oracle/oracle.hpp"

#include <attest/reference/error.hpp>

#include <utility>
#include <vector>

namespace attest::reference {

// Allowed is an exact tensor's error, element by element.
struct Allowed {
    std::vector<Upper> error;
    std::vector<NoBound> reason;

    Allowed() = default;
    explicit Allowed(std::size_t size) : error(size), reason(size, NoBound::none) {}
    Allowed(std::vector<Upper> errors, std::vector<NoBound> reasons)
        : error(std::move(errors)), reason(std::move(reasons)) {}

    void push(Upper value, NoBound why) {
        error.push_back(value);
        reason.push_back(why);
    }
    void put(std::size_t index, Upper value, NoBound why) {
        error[index] = value;
        reason[index] = why;
    }
};

// BoundedAttention holds the exact mix [batch, heads, rows, value_width] and, on request, the weights
// [batch, heads, rows, columns] with their errors: of all rows of an attention, or of some of them.
template <class N>
struct BoundedAttention {
    Heads<N> mixed;
    Allowed mixed_allowed;
    std::vector<N> weights;
    Allowed weights_allowed;
};

// Operand is the magnitudes and inherited errors of q, k or v, element by element as in the attention's
// vectors, and for every vector why it has no bound. Vectors that are lent have no magnitudes here but
// has_error: the others are formed as they are read.
struct Operand {
    Magnitudes magnitudes;
    std::vector<NoBound> reasons;
};

struct Operands {
    const Operand* q = nullptr;
    const Operand* k = nullptr;
    const Operand* v = nullptr;
};

// empty_result has place for `rows` rows of so many heads.
template <class N>
BoundedAttention<N> empty_result(const Attention<N>& attention, std::size_t batch, std::size_t heads,
                                 std::size_t rows, bool with_weights);

template <class N>
BoundedAttention<N> bound_attention(const Model& model, const Attention<N>& attention,
                                    const Operands& operands, bool with_weights, unsigned threads);

// attend_again evaluates the second formulation, without a bound.
template <class N>
BoundedAttention<N> attend_again(const Attention<N>& attention, bool with_weights, unsigned threads);

}  // namespace attest::reference
