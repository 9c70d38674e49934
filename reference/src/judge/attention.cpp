#include "judge/attention.hpp"

#include "judge/row_judge.hpp"
#include "parallel.hpp"

namespace attest::reference {

template <class N>
BoundedAttention<N> empty_result(const Attention<N>& attention, std::size_t batch, std::size_t heads,
                                 std::size_t rows, bool with_weights) {
    BoundedAttention<N> result;
    result.mixed = Heads<N>(batch, heads, rows, attention.v.width);
    result.mixed_allowed = Allowed(result.mixed.data.size());
    if (with_weights) result.weights.resize(batch * heads * rows * attention.visibility->columns(), N(0));
    result.weights_allowed = Allowed(result.weights.size());
    return result;
}

template <class N>
BoundedAttention<N> bound_attention(const Model& model, const Attention<N>& attention,
                                    const Operands& operands, bool with_weights, unsigned threads) {
    const Vectors<N>& q = attention.q;
    BoundedAttention<N> result = empty_result(attention, q.batch, q.heads, q.rows, with_weights);
    parallel(q.batch * q.heads * q.rows, threads,
             [&result, judge = RowJudge<N>(model, attention, operands, with_weights)](
                 std::size_t begin, std::size_t end) mutable {
                 for (std::size_t row = begin; row < end; ++row)
                     judge.judge(row, row, result);
             });
    return result;
}

template <class N>
BoundedAttention<N> attend_again(const Attention<N>& attention, bool with_weights, unsigned threads) {
    const Vectors<N>& q = attention.q;
    BoundedAttention<N> result = empty_result(attention, q.batch, q.heads, q.rows, with_weights);
    parallel(
        q.batch * q.heads * q.rows, threads,
        [&result, again = RowAgain<N>(attention, with_weights)](std::size_t begin, std::size_t end) mutable {
            for (std::size_t row = begin; row < end; ++row)
                again.attend(row, row, result);
        });
    return result;
}

#define ATTEST_REFERENCE_ATTENTION(N)                                                                        \
    template BoundedAttention<N> empty_result<N>(const Attention<N>&, std::size_t, std::size_t, std::size_t, \
                                                 bool);                                                      \
    template BoundedAttention<N> bound_attention<N>(const Model&, const Attention<N>&, const Operands&,      \
                                                    bool, unsigned);                                         \
    template BoundedAttention<N> attend_again<N>(const Attention<N>&, bool, unsigned);

ATTEST_REFERENCE_ATTENTION(Real)
ATTEST_REFERENCE_ATTENTION(Real100)
ATTEST_REFERENCE_ATTENTION(Real400)
ATTEST_REFERENCE_ATTENTION(Real800)

}  // namespace attest::reference
