#include "attest/case/values.hpp"
#include "attest/case/words.hpp"

#include "edits.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace attest::fuzzing {
namespace {

constexpr std::array<cases::Tensor, 4> kWeights = {cases::Tensor::wq, cases::Tensor::wk, cases::Tensor::wv,
                                                   cases::Tensor::wo};

template <typename T>
T any_of(Random& random, std::span<const T> from) {
    return from[random.position(from.size())];
}

cases::Filling any_filling(Random& random) {
    return any_of(random, cases::all_fillings());
}

// A seed of few digits reads better in a file that somebody has to understand.
std::uint64_t any_seed(Random& random) {
    return random.chance(7, 8) ? random.below(1000) : random.next();
}

// An index inside the tensor; where that has no elements, normalise drops the set.
void place(Random& random, const cases::Case& one, cases::Set& set) {
    set.index = {};
    const auto shape = cases::shape_of(one, set.tensor, set.of);
    if (!shape || shape->elements == 0) {
        return;
    }
    for (std::size_t axis = 0; axis < shape->rank; ++axis) {
        const std::uint64_t size = shape->sizes[axis];
        set.index[axis] = random.chance(1, 3) ? size - 1 : random.below(size);
    }
}

cases::Set any_set(Random& random, const cases::Case& one) {
    cases::Set set;
    set.tensor = random.chance(1, 2) ? cases::Tensor::x : any_of(random, cases::all_tensors());
    if (cases::is_family(set.tensor)) {
        set.of = random.pick(kWeights);
    }
    place(random, one, set);
    set.bits = special_bits(random, one.type);
    return set;
}

}  // namespace

void edit_values(Random& random, cases::Case& one) {
    if (random.chance(1, 2)) {
        one.values.seed = any_seed(random);
    } else {
        one.values.filling = random.chance(1, 2) ? cases::Filling::normal : any_filling(random);
    }
}

void edit_fill(Random& random, cases::Case& one) {
    if (!one.fills.empty() && random.chance(1, 3)) {
        one.fills.erase(one.fills.begin() + static_cast<std::ptrdiff_t>(random.position(one.fills.size())));
        return;
    }
    cases::Fill fill;
    fill.tensor = any_of(random, cases::all_tensors());
    fill.filling = any_filling(random);
    if (random.chance(1, 3)) {
        fill.seed = any_seed(random);
    }
    const auto same = [&](const cases::Fill& old) { return old.tensor == fill.tensor; };
    std::erase_if(one.fills, same);
    one.fills.push_back(fill);
}

void edit_set(Random& random, cases::Case& one) {
    if (one.sets.empty() || (one.sets.size() < 16 && random.chance(1, 2))) {
        one.sets.push_back(any_set(random, one));
        return;
    }
    const std::size_t position = random.position(one.sets.size());
    cases::Set& set = one.sets[position];
    switch (random.below(4)) {
        case 0:
            one.sets.erase(one.sets.begin() + static_cast<std::ptrdiff_t>(position));
            break;
        case 1:
            place(random, one, set);
            break;
        case 2:
            set.bits = special_bits(random, one.type);
            break;
        default:
            set = any_set(random, one);
    }
}

}  // namespace attest::fuzzing
