#include "bound/model.hpp"

#include "bound/weaken.hpp"

#include <algorithm>
#include <bit>

namespace attest::reference {
namespace {

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) noexcept {
    return a / b + (a % b != 0 ? 1 : 0);
}

// ⌈log2 n⌉ for n ≥ 1.
std::uint64_t log2_up(std::uint64_t n) noexcept {
    return static_cast<std::uint64_t>(std::bit_width(n - 1));
}

// The table of counted roundings, PROOF §1.3. `own` is the library's order; where a key tells nothing the
// larger count holds. `narrow` adds the store of a dot or sum in a type narrower than it was summed in.
Counts count(const Arithmetic& told, bool narrow, bool odd_width) noexcept {
    const bool own = told.summation.kind == Summation::Kind::attest;
    Counts counts;
    switch (told.scaled) {
        case Scaled::score:
            counts.s = 3;
            break;
        case Scaled::q:
            counts.q = 1, counts.s = 2;
            break;
        case Scaled::both:
            counts.q = 2, counts.s = 5;
            break;
        case Scaled::any:
            counts.q = 2, counts.s = 5;
            break;
    }
    counts.q = weak(Term::count_q, counts.q);
    counts.s = weak(Term::count_s, counts.s);
    if (narrow || told.scaled == Scaled::any) counts.s += weak(Term::count_s_store, std::uint64_t{1});
    if (odd_width) counts.s += weak(Term::count_s_width, std::uint64_t{1});
    counts.a = weak(Term::count_a, std::uint64_t{told.exponent == Exponent::e ? 1U : 3U});
    counts.z = weak(Term::count_z, std::uint64_t{told.exponent == Exponent::e ? 0U : 2U});
    // A weight's own quotient before the mix: a reciprocal that nobody else need have formed alike, and its
    // product.
    counts.w = weak(Term::count_w, std::uint64_t{own ? 0U : 2U});
    counts.o = weak(Term::count_o, std::uint64_t{own ? 1U : 3U});
    if (narrow) counts.o += weak(Term::count_o_store, std::uint64_t{2});
    const bool split = told.passes.kind == Passes::Kind::split || told.passes.kind == Passes::Kind::any;
    if (split) {
        counts.w += weak(Term::count_w_split, std::uint64_t{2});
        counts.o += weak(Term::count_o_split, std::uint64_t{2});
    }
    return counts;
}

}  // namespace

Model::Model(const Arithmetic& arithmetic, std::uint64_t head_width) : told_(arithmetic) {
    const Format stored = format_of(told_.arithmetic);
    const Format accumulate = format_of(told_.accumulate);
    const Format softmax = format_of(told_.softmax_precision);
    const Format weights = format_of(told_.weights_type);
    const double doubled = told_.rounding == Rounding::faithful ? 2.0 : 1.0;

    unit_ = Upper(doubled * stored.unit);
    unit_accumulate_ = Upper(doubled * accumulate.unit);
    unit_softmax_ = Upper(doubled * softmax.unit);
    unit_scale_ = larger(unit_, unit_accumulate_);
    // A weight is formed in softmax_precision and summed in accumulate: a store that holds the first rounds
    // nothing.
    if (!contains(told_.weights_type, told_.softmax_precision)) unit_weights_ = Upper(doubled * weights.unit);

    normal_ = std::max({stored.normal, accumulate.normal, softmax.normal, weights.normal});
    // Half of f64's smallest subnormal is no double: λ stands for λ/2 there, which only loosens.
    const auto omega_of = [&](const Format& format) {
        const bool finest = format.smallest == format_of(Number::f64).smallest;
        return flushed() ? Upper(format.normal)
                         : Upper(doubled * (finest ? format.smallest : format.smallest / 2));
    };
    omega_accumulate_ = omega_of(accumulate);
    omega_softmax_ = omega_of(softmax);
    omega_ = larger(larger(omega_accumulate_, omega_softmax_), larger(omega_of(stored), omega_of(weights)));

    // θ (PROOF §2.4): where exp keeps subnormal results, they are off by its units in the last place, λ each.
    // A foreign exp may flush below the normals instead, except in f16, whose normals end too high for that.
    const bool own = told_.summation.kind == Summation::Kind::attest;
    if (flushed()) {
        exp_floor_ = Upper(normal_);
    } else if (own) {
        exp_floor_ = Upper(doubled * softmax.smallest * std::max(1.0, told_.exp_ulps));
    } else if (told_.softmax_precision == Number::f16) {
        exp_floor_ = Upper(softmax.smallest * std::max(4.0, doubled * told_.exp_ulps));
    } else {
        exp_floor_ = Upper(softmax.normal);
    }
    exp_floor_ = weak(Term::exp_floor, larger(exp_floor_, omega_));

    const bool narrow = !contains(told_.arithmetic, told_.accumulate);
    store_rounds_ = narrow;
    counts_ = count(told_, narrow, !holds(told_.arithmetic, static_cast<double>(head_width)));

    const Upper exp_error = Upper(2.0) * unit_softmax_ * Upper(told_.exp_ulps);
    exp_error_ = weak(Term::exp_relative, exp_error);
    // A tanh in softmax_precision, then held in what is stored. Made of exps it is exact only absolutely: a
    // quotient of two sums of exps, each within e, and six roundings (PROOF §2.3).
    tanh_error_ = weak(Term::softcap_relative,
                       exp_error + (contains(told_.arithmetic, told_.softmax_precision) ? Upper() : unit_));
    tanh_floor_ = weak(Term::softcap_absolute, Upper(2.0) * exp_error + Upper(8.0) * unit_softmax_);

    largest_stored_ = stored.largest;
    largest_accumulated_ = accumulate.largest;
    largest_softmax_ = softmax.largest;
    largest_anywhere_ = std::min({stored.largest, accumulate.largest, softmax.largest, weights.largest});
    split_ = told_.passes.kind == Passes::Kind::split || told_.passes.kind == Passes::Kind::any;
}

Upper Model::gamma(std::uint64_t n, Upper unit) noexcept {
    const Upper roundings = Upper(static_cast<double>(n)) * unit;
    return roundings / (Lower(1.0) - roundings);
}

// Terms stand at indices below `last` of `total`; the others are zeros, and adding a zero rounds nothing, so
// that no tree over `seen` terms is higher than seen − 1.
std::uint64_t Model::sum_height(std::uint64_t seen, std::uint64_t last, std::uint64_t total) const noexcept {
    if (seen <= 1) return 0;
    std::uint64_t height = seen - 1;
    switch (told_.summation.kind) {
        case Summation::Kind::any:
            break;
        case Summation::Kind::blocked: {
            const std::uint64_t block = told_.summation.block;
            height = std::min(height, std::min(seen, block) - 1 + divided_up(last, block) - 1);
            break;
        }
        case Summation::Kind::pairwise:
            height = std::min(height, log2_up(total));
            break;
        case Summation::Kind::attest:
            // Blocks of 64 positions in order, block sums folded pairwise.
            height = std::min(height, std::min<std::uint64_t>(seen, 64) - 1 + log2_up(divided_up(last, 64)));
            break;
    }
    return height;
}

std::uint64_t Model::dot_height(std::uint64_t terms) const noexcept {
    if (terms <= 1) return 0;
    if (told_.summation.kind != Summation::Kind::attest)
        return weak(Term::height_dot, sum_height(terms, terms, terms));
    // Term i goes to lane i mod L, lanes are folded in halves.
    const std::uint64_t lanes = told_.accumulate == Number::f64 ? 8 : 16;
    return weak(Term::height_dot, divided_up(terms, lanes) - 1 + log2_up(std::min(terms, lanes)));
}

std::uint64_t Model::position_height(const Span& span) const noexcept {
    if (span.seen == 0) return 0;
    const std::uint64_t unknown = span.seen - 1;
    const std::uint64_t size = told_.passes.size;
    switch (told_.passes.kind) {
        case Passes::Kind::any:
            // Perhaps partials, of which nothing is known: any tree, and one addition for the merge.
            return unknown + weak(Term::height_split, std::uint64_t{1});
        case Passes::Kind::two_pass:
            return sum_height(span.seen, span.last, span.total);
        case Passes::Kind::online: {
            if (size == 0) return unknown;
            const std::uint64_t blocks = divided_up(span.last, size);
            const std::uint64_t inside =
                sum_height(std::min(span.seen, size), std::min(span.last, size), size);
            return std::min(unknown, inside + blocks - 1);
        }
        case Passes::Kind::split: {
            const std::uint64_t merge = weak(Term::height_split, std::uint64_t{1});
            if (size == 0 || told_.summation.kind == Summation::Kind::any) return unknown + merge;
            const std::uint64_t inside = sum_height(span.seen, span.last, span.total);
            return std::min(unknown, inside + size - 1) + merge;
        }
    }
    return unknown + 1;
}

std::uint64_t Model::rescalings(const Span& span) const noexcept {
    if (span.seen == 0) return 0;
    switch (told_.passes.kind) {
        // A running maximum over every key, and a merge of partials after it.
        case Passes::Kind::any:
            return span.seen;
        case Passes::Kind::two_pass:
            return 0;
        case Passes::Kind::online: {
            const std::uint64_t size = std::max<std::uint64_t>(told_.passes.size, 1);
            return std::min(span.seen, divided_up(span.last, size)) - 1;
        }
        case Passes::Kind::split:
            return 1;
    }
    return span.seen;
}

Upper Model::input(double value) const noexcept {
    Upper error;
    if (!holds(told_.arithmetic, value))
        error = weak(Term::input_unit, unit_ * Upper(value)) + weak(Term::input_omega, omega_);
    if (flushed() && value != 0 && std::fabs(value) < normal_)
        error += weak(Term::input_flushed, Upper(normal_));
    return error;
}

Upper Model::stored(Upper magnitude, Upper error) const noexcept {
    if (!store_rounds_) return error;
    return error + weak(Term::store_unit, unit_ * (magnitude + error)) + weak(Term::store_omega, omega_);
}

// PROOF §2.2. The angle is p·exp(−L), L = ln(base)·2i/w. Three roundings make L (2i/w, ln base, their
// product) and act through the exponential; pow or exp rounds by four, the reciprocal and the product with p
// by one each, and so does each of base and p that the type can't hold. The cosine itself, then its store,
// are two more.
Upper Model::turn_error(const Real& angle, double base, std::uint64_t pair, std::uint64_t rope_width,
                        std::int64_t position) const {
    if (told_.rope_angles == RopeAngles::exact) return weak(Term::angle_table, unit_);
    const Number type = told_.rope_angles == RopeAngles::f64 ? Number::f64 : Number::f32;
    const Upper unit_angle(format_of(type).unit * (told_.rounding == Rounding::faithful ? 2.0 : 1.0));
    const Real exponent = log(Real(base)) * static_cast<double>(2 * pair) / static_cast<double>(rope_width);
    const Upper in_exponent =
        expm1_up(Upper::of(exponent) * gamma(weak(Term::angle_exponent, std::uint64_t{3}), unit_angle));
    std::uint64_t roundings = weak(Term::angle_roundings, std::uint64_t{6});
    if (!holds(type, base)) roundings += weak(Term::angle_base, std::uint64_t{1});
    if (!holds(type, static_cast<double>(position)))
        roundings += weak(Term::angle_position, std::uint64_t{1});
    const Upper relative = compose(in_exponent, gamma(roundings, unit_angle));
    const Upper error =
        weak(Term::angle_table, Upper(2.0) * larger(unit_, unit_angle)) + Upper::of(angle) * relative;
    return smaller(error, Upper(2.0));
}

}  // namespace attest::reference
