// run(view of x) = run(x), by bits, for every layout of the same numbers: transposed, sliced, reversed and
// stride-0 inputs and weights, every layout of the answer, and the answer in place of the input. What lies
// between the elements of an answer is not written.
//
// Kills a stride taken from the shape (B07), and an answer written before all of its input is read.
//
// Stays although others see its bugs as well: it alone offers every layout, and a stride that is wrong in
// one of them is seen nowhere else.

#include "support.hpp"

#include <fmt/format.h>

namespace attest::properties::law {

namespace {

struct Way {
    Layout input = Layout::dense;
    Layout output = Layout::dense;
    std::string text() const { return fmt::format("{} input, {} answer", to_text(input), to_text(output)); }
};

struct Strided {
    Run run;
    bool gaps_intact = true;
};

// Rows one by one, or all at once.
Strided run_way(Scene& scene, Layer& layer, Cache& cache, Way way, bool at_once) {
    Strided result;
    cache.reset();
    const std::uint64_t rows = scene.playable_rows();
    const std::uint64_t chunk = at_once ? rows : 1;
    std::vector<Array> answers;
    for (std::uint64_t t = 0; t < rows; t += chunk) {
        const Array values = scene.x_rows(t, chunk);
        Output y;
        y.values.assign(values.size(), kUntouched);
        y.layout = way.output;
        const Input x = scene.input(values, chunk, way.input);
        const Outcome<void> done = at_once ? layer.prefill(cache, x, y) : layer.append(cache, x, y);
        result.gaps_intact = result.gaps_intact && y.gaps_intact;
        if (!done) {
            result.run.code = done.error().code;
            break;
        }
        answers.push_back(std::move(y.values));
    }
    result.run.y = joined(answers, scene.one.batch, scene.one.width);
    result.run.keys = cache.live_keys();
    result.run.values = cache.live_values();
    return result;
}

// Every way but the dense one, which the others are compared with. An answer can't lie in its input's storage
// where two of the input's elements are one.
std::vector<Way> ways() {
    std::vector<Way> all;
    for (const Layout layout : kInputLayouts) {
        if (layout != Layout::dense) all.push_back({layout, Layout::dense});
        if (layout != Layout::repeated) all.push_back({layout, Layout::aliased});
    }
    for (const Layout layout : kOutputLayouts) {
        if (layout != Layout::aliased && layout != Layout::dense) all.push_back({Layout::dense, layout});
    }
    all.push_back({Layout::transposed, Layout::sliced});
    all.push_back({Layout::reversed, Layout::transposed});
    return all;
}

}  // namespace

Verdict strides_do_not_matter(const cases::Case& one, Subject& subject) {
    Checks checks;
    Scene scene(one, subject, checks, {Capability::strides, Capability::same_bits}, 40);
    if (!scene) return scene.verdict();
    const std::uint64_t rows = scene.playable_rows();
    if (rows == 0 || scene.x.empty()) return vacuous("the case offers no row", checks.counters());
    const std::unique_ptr<Cache> cache = scene.make_cache();
    if (cache == nullptr) return scene.verdict();

    const bool prefills = subject.can(Capability::prefill);
    const Strided single = run_way(scene, *scene.layer, *cache, {}, false);
    const Strided whole = prefills ? run_way(scene, *scene.layer, *cache, {}, true) : single;
    for (const Way& way : ways()) {
        for (const bool at_once : {false, true}) {
            if (checks.failed() || (at_once && !prefills)) break;
            const Strided got = run_way(scene, *scene.layer, *cache, way, at_once);
            const Run& want = at_once ? whole.run : single.run;
            const auto place = [&] { return way.text() + (at_once ? ", at once" : ", row by row"); };
            checks.tested();
            checks.equal([&] { return place() + ": refusal"; }, got.run.code, want.code);
            checks.bits([&] { return place() + ": answers"; }, got.run.y, want.y);
            checks.bits([&] { return place() + ": keys"; }, got.run.keys, want.keys);
            checks.bits([&] { return place() + ": values"; }, got.run.values, want.values);
            checks.that([&] { return place() + ": between the answer's elements"; }, got.gaps_intact,
                        "written to", "untouched");
        }
    }
    for (const Layout layout : kInputLayouts) {
        if (checks.failed()) break;
        LayerSpec spec = spec_of(one);
        spec.weights = scene.weights;
        spec.layout = layout;
        const Outcome<std::unique_ptr<Layer>> layer = subject.make_layer(spec);
        const auto place = [&] { return fmt::format("{} weights", to_text(layout)); };
        if (!checks.equal(place, code_of(layer), "")) break;
        const std::unique_ptr<Cache> own = scene.make_cache(**layer, one.batch, one.capacity);
        if (own == nullptr) return scene.verdict();
        const Strided got = run_way(scene, **layer, *own, {}, false);
        checks.equal([&] { return place() + ": refusal"; }, got.run.code, single.run.code);
        checks.bits([&] { return place() + ": answers"; }, got.run.y, single.run.y);
        if (!subject.can(Capability::full_prefix)) continue;
        const Array x = scene.x_rows(0, rows);
        const Outcome<Array> full = (*layer)->forward(scene.input(x, rows, layout), one.rope.first);
        checks.equal([&] { return place() + ": full prefix refused"; }, full.has_value() ? "no" : "yes",
                     single.run.code.empty() ? "no" : "yes");
        if (full) checks.bits([&] { return place() + ": full prefix"; }, *full, single.run.y);
    }
    return checks.verdict();
}

}  // namespace attest::properties::law
