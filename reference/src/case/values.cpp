#include <attest/case/number.hpp>
#include <attest/case/rows.hpp>
#include <attest/case/values.hpp>
#include <attest/case/words.hpp>

#include "fillings.hpp"

#include <bit>
#include <optional>
#include <string>
#include <type_traits>

namespace attest::cases {

namespace {

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
    if (b != 0 && a > UINT64_MAX / b) return std::nullopt;
    return a * b;
}

std::unexpected<Error> fail(ErrorCode code, Tensor tensor, Tensor of, std::string reason) {
    std::string key(to_text(tensor));
    if (is_family(tensor)) key.append(".").append(to_text(of));
    return std::unexpected(Error{code, 0, std::move(key), std::move(reason)});
}

// Written out, so that reordering an enumeration changes no case.
std::uint64_t tag_of(Tensor tensor, Tensor of) {
    switch (tensor) {
        case Tensor::x:
            return 1;
        case Tensor::wq:
            return 2;
        case Tensor::wk:
            return 3;
        case Tensor::wv:
            return 4;
        case Tensor::wo:
            return 5;
        case Tensor::gradient:
            return 16 + tag_of(is_weight(of) ? of : Tensor::wq, of);
        case Tensor::update:
            return 32 + tag_of(is_weight(of) ? of : Tensor::wq, of);
    }
    return 0;
}

Source source_of(const Case& one, Tensor tensor, Tensor of, std::uint64_t ordinal, const Shape& shape) {
    Source source;
    source.type = one.type;
    source.filling = one.values.filling;
    std::uint64_t seed = one.values.seed;
    for (const Fill& fill : one.fills) {
        if (fill.tensor != tensor) continue;
        source.filling = fill.filling;
        seed = fill.seed.value_or(seed);
    }
    source.stream = stream_of(seed, tag_of(tensor, of), is_family(tensor) ? ordinal : 0);
    source.is_x = tensor == Tensor::x;
    source.rows = source.is_x ? shape.sizes[1] : shape.sizes[0];
    source.columns = shape.sizes[shape.rank - 1];
    source.fans = (source.is_x ? source.columns : source.rows) + source.columns;
    return source;
}

Place place_of(const Shape& shape, std::uint64_t flat) {
    Place place;
    const std::uint64_t columns = shape.sizes[shape.rank - 1];
    place.column = flat % columns;
    place.row = flat / columns;
    if (shape.rank == 2) {
        place.draw = flat;
        return place;
    }
    place.batch = place.row / shape.sizes[1];
    place.row %= shape.sizes[1];
    place.draw = (place.row * shape.sizes[0] + place.batch) * columns + place.column;
    return place;
}

// visit(place) for every element in row-major order. Walked along: place_of's divisions would cost more than
// most fillings.
template <class Visit>
void for_each_place(const Shape& shape, Visit visit) {
    const std::uint64_t batches = shape.rank == 3 ? shape.sizes[0] : 1;
    const std::uint64_t rows = shape.sizes[shape.rank - 2];
    const std::uint64_t columns = shape.sizes[shape.rank - 1];
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
        for (std::uint64_t row = 0; row < rows; ++row) {
            const std::uint64_t draw = (row * batches + batch) * columns;
            for (std::uint64_t column = 0; column < columns; ++column)
                visit(Place{.batch = batch, .row = row, .column = column, .draw = draw + column});
        }
    }
}

std::optional<std::uint64_t> flat_of(const Shape& shape, const Set& set) {
    std::uint64_t flat = 0;
    for (unsigned axis = 0; axis < shape.rank; ++axis) {
        if (set.index[axis] >= shape.sizes[axis]) return std::nullopt;
        flat = flat * shape.sizes[axis] + set.index[axis];
    }
    return flat;
}

// A pattern becomes an element without passing through a conversion that may quiet a NaN.
template <typename T>
T from_bits(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(narrow(bits));
    else
        return std::bit_cast<double>(bits);
}

}  // namespace

std::expected<Shape, Error> shape_of(const Case& one, Tensor tensor, Tensor of) {
    const Tensor weight = is_family(tensor) ? of : tensor;
    Shape shape;
    std::optional<std::uint64_t> elements;
    if (tensor == Tensor::x) {
        shape.rank = 3;
        shape.sizes = {one.batch, rows_needed(one), one.width};
    } else {
        const bool grouped = weight == Tensor::wk || weight == Tensor::wv;
        const auto features = product(grouped ? one.kv_heads : one.heads, one.head_width);
        if (!features) return fail(ErrorCode::ShapeOverflow, tensor, of, "heads times head width");
        shape.rank = 2;
        shape.sizes = weight == Tensor::wo ? std::array<std::uint64_t, 3>{one.width, *features, 0}
                                           : std::array<std::uint64_t, 3>{*features, one.width, 0};
    }
    // A zero anywhere makes the tensor empty, however large the rest.
    elements = 1;
    for (unsigned axis = 0; axis < shape.rank; ++axis) {
        if (shape.sizes[axis] == 0) return shape;
    }
    for (unsigned axis = 0; axis < shape.rank; ++axis) {
        elements = product(*elements, shape.sizes[axis]);
        if (!elements) return fail(ErrorCode::ShapeOverflow, tensor, of, "more than 2^64 elements");
    }
    shape.elements = *elements;
    return shape;
}

double element(const Case& one, Tensor tensor, Tensor of, std::uint64_t ordinal, std::uint64_t index) {
    const auto shape = shape_of(one, tensor, of);
    if (!shape || index >= shape->elements) return 0.0;
    return value_of(source_of(one, tensor, of, ordinal, *shape), place_of(*shape, index));
}

template <typename T>
std::expected<std::vector<T>, Error> fill(const Case& one, Tensor tensor, Tensor of, std::uint64_t ordinal) {
    if (std::is_same_v<T, float> && one.type == ElementType::float64)
        return fail(ErrorCode::TypeMismatch, tensor, of, "the case is double");
    const auto shape = shape_of(one, tensor, of);
    if (!shape) return std::unexpected(shape.error());
    if (shape->elements > kMaxElements)
        return fail(ErrorCode::TooManyElements, tensor, of, std::to_string(shape->elements) + " elements");
    const Source source = source_of(one, tensor, of, ordinal, *shape);
    std::vector<T> out(static_cast<std::size_t>(shape->elements));
    if (!out.empty()) {
        T* next = out.data();
        for_each_place(*shape,
                       [&](const Place& place) { *next++ = static_cast<T>(value_of(source, place)); });
    }
    for (const Set& set : one.sets) {
        if (set.tensor != tensor || (is_family(tensor) && set.of != of)) continue;
        const auto flat = flat_of(*shape, set);
        if (!flat) return fail(ErrorCode::IndexOutOfRange, tensor, of, "a set names no element");
        out[static_cast<std::size_t>(*flat)] = from_bits<T>(set.bits);
    }
    return out;
}

template std::expected<std::vector<float>, Error> fill(const Case&, Tensor, Tensor, std::uint64_t);
template std::expected<std::vector<double>, Error> fill(const Case&, Tensor, Tensor, std::uint64_t);

}  // namespace attest::cases
