#include "remade.hpp"

#include <fmt/format.h>

namespace attest::properties {

namespace {

// [rows, columns] with one zero more behind each row.
Array widened(const Array& matrix, std::uint64_t columns) {
    Array wider;
    for (std::size_t start = 0; start + columns <= matrix.size() && columns != 0; start += columns) {
        wider.insert(wider.end(), matrix.begin() + static_cast<std::ptrdiff_t>(start),
                     matrix.begin() + static_cast<std::ptrdiff_t>(start + columns));
        wider.push_back(0);
    }
    return wider;
}

}  // namespace

Remade remade(const Scene& scene, std::uint64_t rows) {
    return {.geometry = scene.one, .weights = scene.weights, .x = scene.x_rows(0, rows), .rows = rows};
}

void add_constant_feature(Remade& layer) {
    const std::uint64_t width = layer.geometry.width;
    layer.x = widened(layer.x, width);
    for (std::size_t end = width; end < layer.x.size(); end += width + 1) {
        layer.x[end] = 1;
    }
    for (std::size_t i = 0; i < 3; ++i) {
        layer.weights[i] = widened(layer.weights[i], width);
    }
    layer.weights[3].resize(layer.weights[3].size() + layer.geometry.heads * layer.geometry.head_width, 0);
    ++layer.geometry.width;
}

std::uint64_t picked_feature(const Remade& layer, std::uint64_t shift, std::uint64_t output) {
    const std::uint64_t features = layer.geometry.heads * layer.geometry.head_width;
    return (output + shift % features) % features;
}

void pick_features(Remade& layer, std::uint64_t shift) {
    const std::uint64_t features = layer.geometry.heads * layer.geometry.head_width;
    layer.weights[3].assign(layer.geometry.width * features, 0);
    for (std::uint64_t i = 0; i < layer.geometry.width; ++i) {
        layer.weights[3][i * features + picked_feature(layer, shift, i)] = 1;
    }
}

Run run(Scene& scene, const Remade& layer, Text place) {
    const cases::Case& geometry = layer.geometry;
    Run run;
    LayerSpec spec = spec_of(geometry);
    spec.weights = layer.weights;
    const Outcome<std::unique_ptr<Layer>> made = scene.subject.make_layer(spec);
    run.code = code_of(made);
    if (!scene.checks.equal([&] { return fmt::format("{}: making the layer", place()); }, run.code, ""))
        return run;
    const auto cache = (*made)->make_cache(geometry.batch, geometry.capacity, geometry.rope.first);
    run.code = code_of(cache);
    if (!scene.checks.equal([&] { return fmt::format("{}: making the cache", place()); }, run.code, ""))
        return run;
    std::vector<Array> answers;
    for (std::uint64_t t = 0; t < layer.rows && run.code.empty(); ++t) {
        const Array row = rows_of(layer.x, geometry.batch, layer.rows, geometry.width, t, 1);
        Answer answer =
            append(**made, **cache, {.shape = {geometry.batch, 1, geometry.width}, .values = row});
        run.code = answer.code;
        if (run.code.empty()) answers.push_back(std::move(answer.y));
    }
    as_predicted(
        scene.checks, scene.subject, [&] { return fmt::format("{}: its rows", place()); }, run.code,
        predict_rows_one_by_one(geometry, layer.weights, layer.x, geometry.batch, layer.rows));
    run.y = joined(answers, geometry.batch, geometry.width);
    run.keys = (*cache)->live_keys();
    run.values = (*cache)->live_values();
    return run;
}

}  // namespace attest::properties
