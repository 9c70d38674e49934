// The bound of a rotated head, shared by the judges of a layer and of the rotation alone.
#pragma once

#include "bound/model.hpp"
#include "bound/stages.hpp"
#include "oracle/oracle.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attest::reference {

// turn_errors gives κ for every position and pair, [positions, pairs].
inline std::vector<Upper> turn_errors(const Model& model, const Rope& rope,
                                      std::span<const std::int64_t> positions) {
    std::vector<Upper> kappas;
    std::vector<Real> frequencies;
    for (std::size_t i = 0; i < rope.width / 2; ++i)
        frequencies.push_back(
            pow(Real(rope.base), Real(-static_cast<double>(2 * i)) / static_cast<double>(rope.width)));
    for (const std::int64_t position : positions)
        for (std::size_t i = 0; i < frequencies.size(); ++i)
            kappas.push_back(
                model.turn_error(Real(position) * frequencies[i], rope.base, i, rope.width, position));
    return kappas;
}

// bound_rotation replaces the errors of one head's features, `first` on, by those after the rotation; their
// exact magnitudes stay those before it until `renew`.
template <class N>
void bound_rotation(const Model& model, const Rope& rope, const N* cosines, const N* sines,
                    const Upper* kappas, std::size_t first, Magnitudes& magnitudes,
                    std::vector<NoBound>& reasons) {
    for (std::size_t i = 0; i < rope.width / 2; ++i) {
        const std::size_t a = first + first_of(rope, i);
        const std::size_t b = first + second_of(rope, i);
        const NoBound before = reasons[a] != NoBound::none ? reasons[a] : reasons[b];
        const Upper c = Upper::of(cosines[i]);
        const Upper s = Upper::of(sines[i]);
        const Upper a_exact(magnitudes.exact[a]), a_error(magnitudes.error[a]);
        const Upper b_exact(magnitudes.exact[b]), b_error(magnitudes.error[b]);
        const Bounded one = rotation_error(model, a_exact, a_error, b_exact, b_error, c, s, kappas[i]);
        const Bounded two = rotation_error(model, a_exact, a_error, b_exact, b_error, s, c, kappas[i]);
        magnitudes.set(a, a_exact, one.error);
        magnitudes.set(b, b_exact, two.error);
        reasons[a] = before != NoBound::none ? before : one.reason;
        reasons[b] = before != NoBound::none ? before : two.reason;
    }
}

// renew takes the exact magnitudes anew from rotated features.
template <class N>
void renew(const std::vector<N>& features, Magnitudes& magnitudes) {
    for (std::size_t n = 0; n < features.size(); ++n)
        magnitudes.set(n, Upper::of(features[n]), Upper(magnitudes.error[n]));
}

}  // namespace attest::reference
